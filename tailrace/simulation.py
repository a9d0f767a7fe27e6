# SPDX-License-Identifier: BSD-3-Clause
"""One run of the turbulence program: its arguments, its run folder, its exit status."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.launcher import find_launcher
from tailrace.process import run_program
from tailrace.programs import find_case, find_program
from tailrace.progress import make_display

PROGRAM = "tailrace-turbulence"


@dataclass(frozen=True)
class Job:
    """What `tailrace run` was asked for; `run_dir` None makes a new folder below ``runs/``."""

    case: str
    ranks: int = 1
    threads: int = 1
    settings: list[str] = field(default_factory=list)
    run_dir: Path | None = None
    title: str = ""


def default_run_dir(case: Path) -> Path:
    """Return ``runs/NAME-DATE-TIME``, with a number added if it is taken."""
    base = Path("runs") / f"{case.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path


def check_settings(settings: list[str]) -> None:
    """Refuse a setting that is not ``section.key=value``; the program checks the key itself."""
    for setting in settings:
        key, equals, _ = setting.partition("=")
        if not equals or "." not in key:
            raise TailraceError(f"--set {setting}: expected section.key=value", status=2)


def run_job(job: Job) -> tuple[int, Path]:
    """Run a case to its end; return the program's exit status and the run folder."""
    case = find_case(job.case)
    check_settings(job.settings)
    program = find_program(PROGRAM)
    launch = find_launcher(job.ranks, job.threads)
    run_dir = job.run_dir or default_run_dir(case)
    settings = list(job.settings)
    if job.threads != 1:
        settings.append(f"fft.threads={job.threads}")
    launch.environment.setdefault("OMP_NUM_THREADS", str(job.threads))
    arguments = [str(case), "--run-dir", str(run_dir), "--progress"]
    for setting in settings:
        arguments += ["--set", setting]
    display = make_display(job.title or case.stem)
    return run_program(launch, program, arguments, display), run_dir
