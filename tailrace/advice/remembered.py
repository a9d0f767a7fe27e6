# SPDX-License-Identifier: BSD-3-Clause
"""Settings that won, remembered for a program, a number of ranks and a kind of machine."""

import hashlib
import os
import re
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.files import write_whole
from tailrace.tuning.memory import default_file


def _processor() -> str:
    """Return the processor's name and how many there are, as a kind of machine."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.is_file() else ""
    found = re.search(r"^model name\s*:(.*)$", text, re.MULTILINE)
    return f"{found[1].strip() if found else ''} {os.cpu_count()}"


def file_of(program: Path, arguments: list[str], ranks: int, build: Path | None = None) -> Path:
    """Return the file of a program; an interpreter is told apart by the script that it runs.

    `build` is another build of it, whose bytes are taken.
    """
    digest = hashlib.sha256(_processor().encode())
    script = next((Path(word) for word in arguments if Path(word).is_file()), None)
    for path in filter(
        None, (build or program, script if program.name.startswith("python") else None)
    ):
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise TailraceError(f"{path}: {error.strerror}") from error
    name = f"{program.name}-{ranks}-{digest.hexdigest()[:16]}.toml"
    return default_file().parent / "settings" / name


def remember(
    program: Path, arguments: list[str], ranks: int, text: str, build: Path | None = None
) -> None:
    """Keep the file of settings; a folder that cannot be made is no reason to fail."""
    path = file_of(program, arguments, ranks, build)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    write_whole(path, text)


def find(program: Path, arguments: list[str], ranks: int) -> Path:
    """Return the file that is remembered; complains if there is none."""
    path = file_of(program, arguments, ranks)
    if not path.is_file():
        raise TailraceError(
            f"there are no stored settings for this build of {program.name} on {ranks} ranks of "
            f"this kind of machine; tailrace advise -n {ranks} -- {program.name} ... "
            "finds settings"
        )
    return path
