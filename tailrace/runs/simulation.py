# SPDX-License-Identifier: BSD-3-Clause
"""One run of an application: its arguments, its run folder, its exit status."""

import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.files import write_whole
from tailrace.launch.launcher import Launch
from tailrace.launch.process import run_program
from tailrace.profile.job import choose_launcher, recorder_settings
from tailrace.profile.record import read_records
from tailrace.profile.summary import summarize
from tailrace.programs import find_case, find_case_program
from tailrace.progress import Display, make_display
from tailrace.runs.folder import PROFILE

CHECKPOINTS = "checkpoint_*.h5*"
# What a run leaves: the program asks, too; here it is seen before ranks are started.
RESULTS = ("statistics.csv", "summary.json", "trace.json", "fields/*.h5", CHECKPOINTS)


@dataclass(frozen=True)
class Job:
    """What `tailrace run` was asked for; `run_dir` None makes a new folder below ``runs/``."""

    case: str
    ranks: int = 1
    threads: int = 1
    settings: list[str] = field(default_factory=list)
    run_dir: Path | None = None
    title: str = ""
    overwrite: bool = False
    profile: bool = False  # record its MPI calls: RUN/profile (ranks' records), RUN/profile.json
    display: Callable[[str], Display] | None = None  # of a title; None: a bar or lines


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


def effective_case(program: Path, case: Path, ranks: int, settings: list[str]) -> dict[str, Any]:
    """Return every key of the case, as the program checks it for so many ranks; it starts none."""
    command = [str(program), str(case), "--check", str(ranks), *_as_options(settings)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise TailraceError(f"{program}: {error.strerror}") from error
    if done.returncode != 0:
        words = done.stderr.strip() or f"{program} --check ended with status {done.returncode}"
        raise TailraceError(words.removeprefix(f"{program.name}: error: "), status=2)
    return tomllib.loads(done.stdout)


def _check_threads(job: Job, values: dict[str, Any]) -> None:
    """Refuse threads for an application that computes with one in each rank."""
    if "threads" in values.get("fft", {}):
        return
    name = values.get("case", {}).get("application", "the application")
    raise TailraceError(
        f"--threads {job.threads}: {name} computes with one thread per rank; to use as many cores, "
        f"give -n {job.ranks * job.threads} without --threads",
        status=2,
    )


def check_run_dir(run_dir: Path, restart: str, overwrite: bool) -> None:
    """Refuse a folder whose results a fresh start would mix with its own, and a lost restart."""
    if run_dir.exists() and not run_dir.is_dir():
        raise TailraceError(f"--run-dir {run_dir}: is a file; name a folder", status=2)
    none_there = not any(run_dir.glob(CHECKPOINTS))
    if restart == "latest" and none_there:
        raise TailraceError(
            f"restart.file=latest: {run_dir} has no checkpoint_NNNNNN.h5; give the --run-dir of "
            "the run to continue, or the path of a checkpoint; latest_or_fresh starts a new run",
            status=2,
        )
    if restart not in ("", "latest", "latest_or_fresh") and not Path(restart).exists():
        raise TailraceError(f"restart.file={restart}: no such file", status=2)
    fresh = not restart or (restart == "latest_or_fresh" and none_there)
    if overwrite or not fresh:
        return
    found = next((path for name in RESULTS for path in sorted(run_dir.glob(name))), None)
    if found is not None:
        raise TailraceError(
            f"--run-dir {run_dir} holds the results of a run ({found.relative_to(run_dir)}): name "
            "another folder, use --overwrite, or continue with --set restart.file=latest",
            status=2,
        )


def _as_options(settings: list[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def run_job(job: Job) -> tuple[int, Path]:
    """Run a case to its end; return the program's exit status and the run folder."""
    case = find_case(job.case)
    check_settings(job.settings)
    program = find_case_program(case)
    family, launch = choose_launcher(job.ranks, program, job.threads)
    run_dir = job.run_dir or default_run_dir(case)
    settings = list(job.settings)
    values = effective_case(program, case, job.ranks, settings)
    if job.threads != 1:
        _check_threads(job, values)
        settings.append(f"fft.threads={job.threads}")
        values = effective_case(program, case, job.ranks, settings)
    check_run_dir(run_dir, values.get("restart", {}).get("file", ""), job.overwrite)
    launch.environment.setdefault("OMP_NUM_THREADS", str(job.threads))
    arguments = [str(case), "--run-dir", str(run_dir), "--progress", *_as_options(settings)]
    if job.overwrite:
        arguments.append("--overwrite")
    if job.profile:
        launch = _recorded(launch, recorder_settings(family, run_dir / "profile"))
    title = job.title or case.stem
    status = run_program(launch, program, arguments, lambda: (job.display or make_display)(title))
    if job.profile:
        _write_profile(run_dir)
    return status, run_dir


def _recorded(launch: Launch, settings: list[str]) -> Launch:
    """Return the launch whose ranks, but not the launcher, have the recorder's settings."""
    if launch.prefix:
        return replace(launch, prefix=[*launch.prefix, "env", *settings])
    pairs = dict(setting.split("=", 1) for setting in settings)
    return replace(launch, environment={**launch.environment, **pairs})


def _write_profile(run_dir: Path) -> None:
    """Sum up the records of a run; what fails is said, the run's own end stays."""
    try:
        records = read_records(run_dir / "profile")
        if not records:
            raise TailraceError(f"{run_dir / 'profile'}: the ranks left no records")
        write_whole(run_dir / PROFILE, json.dumps(summarize(records), indent=1) + "\n")
    except Exception as error:
        kind = "" if isinstance(error, TailraceError) else f"{type(error).__name__}: "
        print(f"tailrace: --profile: {kind}{error}", file=sys.stderr)
