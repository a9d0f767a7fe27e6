# SPDX-License-Identifier: BSD-3-Clause
"""Starts ``tailrace-tune``, which measures and remembers."""

import ctypes.util
import json
import os
from collections.abc import Callable
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.launch.captured import one_line, run_captured
from tailrace.profile.job import choose_launcher
from tailrace.programs import find_program
from tailrace.tuning.memory import Winner, parse_winner


def measure(
    file: Path,
    problems: list[str],
    ranks: int,
    budget_s: float,
    tell: Callable[[str], None] = lambda _problem: None,
) -> list[Winner]:
    """Measure `problems` on `ranks` ranks, `budget_s` seconds each; return what was remembered.

    `tell` is called with each problem that begins.
    """
    program = find_program("tailrace-tune")
    _, launch = choose_launcher(ranks, program)
    environment = {
        **launch.environment,
        "TAILRACE_TUNE_BUDGET_S": str(budget_s),
        # Open MPI: only so does it let one choose algorithms; without a file it changes nothing.
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    }
    command = [*launch.prefix, str(program), str(file.resolve()), *problems]

    def follow(line: str) -> None:
        if line.startswith("measuring "):
            tell(line.removeprefix("measuring ").strip())

    done = run_captured(command, environment, follow)
    if done.status != 0:
        lines = [line for line in done.errors.splitlines() if line.startswith("tailrace-tune: ")]
        why = lines[0].removeprefix("tailrace-tune: ") if lines else one_line(done.errors)
        raise TailraceError(f"measuring failed: {why}")
    return [parse_winner(json.loads(line)) for line in done.lines if line.startswith("{")]


def mpich_library() -> Path:
    """Return the shared object of MPICH: of the linker's list, else beside ``mpicc``."""
    name = ctypes.util.find_library("mpich")
    folders = [Path("/lib"), Path("/usr/lib"), Path("/usr/local/lib"), *_multiarch()]
    for folder in [*map(Path, os.environ.get("LD_LIBRARY_PATH", "").split(":")), *folders]:
        if name and (folder / name).is_file():
            return folder / name
    raise TailraceError(
        "no MPICH library (libmpich.so) was found: give a selection file to start from by --base"
    )


def _multiarch() -> list[Path]:
    return sorted(Path("/usr/lib").glob("*-linux-gnu*"))
