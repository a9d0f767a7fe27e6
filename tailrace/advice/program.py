# SPDX-License-Identifier: BSD-3-Clause
"""What a program was compiled for, read from its file: instructions and the compiler's options."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 64 << 20  # of a program that is disassembled
TIMEOUT_S = 20
LEVELS = ("SSE2", "AVX", "AVX2", "AVX-512")  # ascending
FLAGS = {"AVX": "avx", "AVX2": "avx2", "AVX-512": "avx512f"}  # as /proc/cpuinfo calls them
# Instructions of AVX2 and FMA on half-width registers.
WIDER = re.compile(rb"\t(?:vf[n]?m(?:add|sub)|vpbroadcast|vperm(?:q|pd|d|ps)|vpermps|vgather)")


@dataclass(frozen=True)
class Build:
    """What a file says of how it was built; "" where it does not say."""

    level: str = ""  # of `LEVELS`, the highest that it has instructions of
    options: str = ""  # of the compiler, where it was built with -g


def is_elf(path: Path) -> bool:
    """Tell whether a file is an ELF program or library."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def read_build(path: Path) -> Build:
    """Read a program; what cannot be found out is left empty."""
    if not is_elf(path):
        return Build()
    return Build(_level(path), _options(path))


def level_of_text(disassembly: bytes) -> str:
    """Return the highest level whose instructions are in the output of objdump.

    >>> level_of_text(b"  10:\\tvaddpd %ymm1,%ymm2,%ymm3")
    'AVX'
    """
    if b"%zmm" in disassembly:
        return "AVX-512"
    if WIDER.search(disassembly):
        return "AVX2"
    if b"%ymm" in disassembly or b"\tvadd" in disassembly or b"\tvmul" in disassembly:
        return "AVX"
    return "SSE2" if b"%xmm" in disassembly else ""


def _level(path: Path) -> str:
    if path.stat().st_size > MOST_BYTES or shutil.which("objdump") is None:
        return ""
    words = ["objdump", "-d", "--no-show-raw-insn", "-j", ".text", str(path)]
    try:
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode != 0 or b"x86-64" not in done.stdout[:200]:
        return ""
    return level_of_text(done.stdout)


def _options(path: Path) -> str:
    """Return the options that GCC leaves in the debug information of a program."""
    if path.stat().st_size > MOST_BYTES:
        return ""
    found = re.findall(rb"GNU (?:C|F)[^\0]{0,16} [^\0]{1,400}", path.read_bytes())
    texts = [text.decode(errors="replace") for text in found if b" -" in text]
    own = [text for text in texts if "-mtune" in text or "-march" in text]
    return own[-1] if own else ""


def processor_level(cpuinfo: str) -> str:
    """Return the highest level of the processor that /proc/cpuinfo describes; "" if not x86.

    >>> processor_level("flags : fpu sse2 avx avx2 fma")
    'AVX2'
    """
    found = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    if not found:
        return ""
    flags = set(found[1].split())
    return next((level for level in reversed(LEVELS) if FLAGS.get(level) in flags), "SSE2")


def march_option(level: str) -> str:
    """Return the option of GCC and clang that compiles for a level."""
    return {"AVX-512": "-march=x86-64-v4", "AVX2": "-march=x86-64-v3"}.get(level, "-mavx")
