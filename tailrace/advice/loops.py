# SPDX-License-Identifier: BSD-3-Clause
"""Which loops of a program take its time, and did the compiler vectorise them?

The program is built once more with the compiler's remarks and with samples of where it is (-pg: a
hundred a second of processor time), and runs once. gprof gives the samples of each source line; a
line counts to the loop that begins last before it in its file. Libraries are not seen.
"""

import os
import re
import shutil
import subprocess
import tempfile
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from tailrace.advice.builds import Builds, made_by
from tailrace.advice.experiment import RunFailedError
from tailrace.advice.runner import Runner
from tailrace.advice.setting import Setting
from tailrace.advice.tips.flags import VARIABLES

REMARKS = {  # family -> flags that make it tell of loops
    "gcc": "-fopt-info-vec-optimized -fopt-info-vec-missed",
    "clang": "-Rpass=loop-vectorize -Rpass-missed=loop-vectorize -Rpass-analysis=loop-vectorize",
}
SAMPLES = "-g -pg -no-pie"
PLACE = r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: "
DONE = re.compile(PLACE + r"(?:optimized: loop vectorized|remark: vectorized loop)(?P<how>.*)")
NOT_DONE = re.compile(PLACE + r"(?:missed: couldn't vectorize loop|remark: loop not vectorized)")
WHY = re.compile(PLACE + r"(?:missed: not vectorized:|remark: loop not vectorized:) (?P<why>.*)")
UNCLEAR = "no vectype for stmt"  # gcc's word when the last kind of vectors did not fit
SAMPLE = re.compile(r"^\s*([\d.]+)\s+[\d.]+\s+[\d.]+\s.*\(([^\s()]+):(\d+) @ [0-9a-f]+\)$")
LEAST_PERCENT = 2.0
MOST_LOOPS = 5


@dataclass(frozen=True)
class Loop:
    """A loop by the name of its file and its first line; `why` it is not vectorised, if known."""

    file: str
    line: int
    vectorised: bool
    why: str = ""


def read_remarks(text: str) -> list[Loop]:
    """Return the loops that gcc's or clang's output tells of.

    A loop is vectorised if any copy of it is (it may be inlined or split).
    """
    done: set[tuple[str, int]] = set()
    reasons: dict[tuple[str, int], str] = {}
    last: tuple[str, int] | None = None
    for line in text.splitlines():
        if found := DONE.match(line):
            done.add(_place(found))
        if found := NOT_DONE.match(line):
            last = _place(found)
            reasons.setdefault(last, "")
        if (found := WHY.match(line)) and last:
            why = re.sub(r" \[-R[-\w=]+\]$", "", found["why"]).strip().rstrip(".")
            reasons[last] = reasons[last] or ("" if why.startswith(UNCLEAR) else why)
    places = sorted(done | set(reasons))
    return [Loop(*place, place in done, reasons.get(place, "")) for place in places]


def _place(found: re.Match[str]) -> tuple[str, int]:
    return Path(found["file"]).name, int(found["line"])


def read_samples(text: str) -> dict[tuple[str, int], float]:
    """Return the percentage of samples of each line, from the output of gprof -l -b -p."""
    shares: dict[tuple[str, int], float] = {}
    for line in text.splitlines():
        if found := SAMPLE.match(line):
            place = Path(found[2]).name, int(found[3])
            shares[place] = shares.get(place, 0.0) + float(found[1])
    return shares


def shares_of_loops(
    loops: list[Loop], samples: dict[tuple[str, int], float]
) -> list[tuple[Loop, float]]:
    """Return the loops with their percentages of samples, the largest first."""
    shares: dict[Loop, float] = {}
    for (file, line), share in samples.items():
        own = [loop for loop in loops if loop.file == file]  # ascending
        at = bisect_right([loop.line for loop in own], line)
        if at:
            shares[own[at - 1]] = shares.get(own[at - 1], 0.0) + share
    return sorted(shares.items(), key=lambda pair: -pair[1])


def _sampled(runner: Runner, builds: Builds, variables: dict[str, str]) -> tuple[str, str]:
    """Build and run with remarks and samples; return the build's output and gprof's."""
    gprof = shutil.which("gprof")
    if gprof is None:
        raise RunFailedError("gprof is not installed (binutils)")
    family = made_by(builds.program(variables))[0]
    if family not in REMARKS:
        raise RunFailedError("the program was compiled by neither gcc nor clang")
    flags = f"{REMARKS[family]} {SAMPLES}"
    own = {name: f"{variables.get(name) or os.environ.get(name, '')} {flags}" for name in VARIABLES}
    # With -flto the remarks would come without the lines of the source.
    build = {**variables, **{name: value.replace("-flto", "") for name, value in own.items()}}
    with tempfile.TemporaryDirectory(prefix=".tailrace-", dir=builds.original.parent) as folder:
        setting = Setting("samples", {"GMON_OUT_PREFIX": f"{folder}/gmon"}, build=build)
        runner.run_once(setting)
        files = sorted(map(str, Path(folder).glob("gmon.*")))
        if not files:
            raise RunFailedError("it left no samples; the command must link with CFLAGS, too (-pg)")
        words = [gprof, "-l", "-b", "-p", str(builds.program(build)), *files]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunFailedError(f"gprof: {done.stderr.strip()[:120]}")
    return builds.output(build), done.stdout


def report(runner: Runner, variables: dict[str, str]) -> list[str]:
    """Return in lines what the loops are that take most samples, and whether they are vectorised.

    `variables` are those of the build that is looked at.
    """
    if runner.builds is None:
        return []
    try:
        output, samples = _sampled(runner, runner.builds, variables)
    except RunFailedError as error:
        return [f"Its loops were not analysed: {error}."]
    return lines_of(read_remarks(output), read_samples(samples))


def lines_of(loops: list[Loop], samples: dict[tuple[str, int], float]) -> list[str]:
    """Return the report of loops and of the samples of source lines."""
    if not loops or not samples:
        what = "remarks of the compiler" if not loops else "samples in the code of the program"
        return [f"Its loops were not analysed: no {what}."]
    shown = [pair for pair in shares_of_loops(loops, samples) if pair[1] >= LEAST_PERCENT]
    if not shown:
        return ["No loop of the program itself takes much time: libraries or other code do."]
    lines = ["Loops of the program, by samples:"]
    for loop, share in shown[:MOST_LOOPS]:
        why = f": {loop.why[:80]}" if loop.why and not loop.vectorised else ""
        what = "vectorised" if loop.vectorised else f"not vectorised{why}"
        lines.append(f"  {loop.file}:{loop.line}  {share:.0f} %  {what}")
    return lines
