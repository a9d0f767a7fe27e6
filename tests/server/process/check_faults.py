# SPDX-License-Identifier: BSD-3-Clause
"""Lets the disk fail under jobs that write through servers of each kind.

room      the disk is full, and later there is room again (retry_s): every file is written
full      the disk is full, policy stop: the job ends with an error that names errno, file and step
proceed   the disk is full for a while, policy proceed: the run goes on, and so does output later
fallback  the disk is full, fallback_path: the files are written elsewhere
error     writes fail (EIO), policy stop: as full
slow      every write is slow: every file is written

The small disk is a tmpfs in a name space of this script's own. Exit status 77 where there is none.

Usage: check_faults.py FOLDER SCENARIOS FAILING_CALLS_LIBRARY COMMAND... (runs served_program)
"""

import errno
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time

from served_job import Job, wait_until

STEPS = 24
DISK = "4m"  # for about six files
KINDS = ("thread", "process", "1")
SKIPPED = 77
NO_ROOM = "No space left on device"


class FailingCalls:
    """What calls of a job that has loaded the library shall do: the struct of failing_calls.h."""

    FIELDS = ("armed", "calls", "at", "all", "error", "fired", "pause_us")
    MORE_BYTES = 512 + 32 + 1024

    def __init__(self, path: pathlib.Path, folder: pathlib.Path) -> None:
        self.path = path
        text = str(folder).encode().ljust(self.MORE_BYTES, b"\0")
        path.write_bytes(struct.pack(f"{len(self.FIELDS)}l", *[0] * len(self.FIELDS)) + text)

    def arm(self, **values: int) -> None:
        with self.path.open("r+b", buffering=0) as file:
            for name, value in {**values, "armed": 1}.items():
                file.seek(self.FIELDS.index(name) * struct.calcsize("l"))
                file.write(struct.pack("l", value))

    def variables(self, library: str) -> dict[str, str]:
        return {"LD_PRELOAD": library, "TAILRACE_FAILING_CALLS": str(self.path)}


class Disk:
    """A small file system where a job's output goes."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def mount(self) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.folder)], check=True
        )

    def unmount(self) -> None:
        subprocess.run(["umount", str(self.folder)], check=True)

    def is_full(self) -> bool:
        state = os.statvfs(self.folder)
        return state.f_bavail * state.f_frsize < 700_000

    def make_room(self, job: Job) -> set[int]:
        """Read all complete files and remove them; return their numbers."""
        files = sorted(self.folder.glob("*.h5"))
        numbers = job.read(files)
        for file in files:
            file.unlink()
        return numbers


def room(job: Job, disk: Disk, _: FailingCalls) -> None:
    seen: set[int] = set()
    job.go_on()
    while job.running():
        if disk.is_full():
            time.sleep(0.3)
            seen |= disk.make_room(job)
        time.sleep(0.02)
    job.check_end(well=True, clean=True, check=False)
    seen |= disk.make_room(job)
    assert seen == set(range(1, STEPS + 1)), sorted(seen)


def full(job: Job, disk: Disk, _: FailingCalls) -> None:
    job.go_on()
    job.check_end(well=False, clean=True)
    errors = job.errors()
    assert NO_ROOM in errors, errors
    assert f"{disk.folder}/file_" in errors, errors
    assert "step" in errors, errors


def proceed(job: Job, disk: Disk, _: FailingCalls) -> None:
    assert wait_until(lambda: disk.is_full() and NO_ROOM in job.errors(), 60), job.errors()
    before = disk.make_room(job)
    job.go_on()
    job.check_end(well=True, clean=True, check=False)
    after = disk.make_room(job)
    assert before
    assert after
    assert min(after) > max(before) + 1, (before, after)
    assert len(before | after) == job.done < STEPS, (before, after, job.done)


def fallback(job: Job, disk: Disk, _: FailingCalls) -> None:
    job.go_on()
    job.check_end(well=True, clean=True, check=False)
    seen = disk.make_room(job)
    elsewhere = job.read(sorted((job.folder / "elsewhere").glob("*.h5")))
    assert seen
    assert elsewhere
    assert not seen & elsewhere, (seen, elsewhere)
    assert seen | elsewhere == set(range(1, STEPS + 1)), (seen, elsewhere)


def error(job: Job, disk: Disk, calls: FailingCalls) -> None:
    calls.arm(at=1, all=1, error=errno.EIO)
    job.go_on()
    job.check_end(well=False, clean=True)
    errors = job.errors()
    assert "Input/output error" in errors, errors
    assert f"{disk.folder}/file_" in errors, errors


def slow(job: Job, disk: Disk, _: FailingCalls) -> None:
    job.go_on()
    job.check_end(well=True, clean=True)


# The test, settings of the job, and whether its disk is small.
SCENARIOS = {
    "room": (room, ("retry_s=60", "pause_s=0.01"), True),
    "full": (full, ("pause_s=0.01",), True),
    "proceed": (proceed, ("on_failure=proceed", "pause_s=0.1"), True),
    "fallback": (fallback, ("pause_s=0.01",), True),
    "error": (error, ("pause_s=0.05",), False),
    "slow": (slow, ("pause_s=0.01",), False),
}


def run(scenario: str, kind: str, folder: pathlib.Path, library: str, command: list[str]) -> None:
    test, settings, small = SCENARIOS[scenario]
    variables = {}
    if scenario == "fallback":
        settings = (*settings, f"fallback_path={folder / 'elsewhere'}")
    disk = Disk(folder / "output")
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("output", "elsewhere"):
        (folder / name).mkdir(parents=True)
    calls = FailingCalls(folder / "calls", disk.folder)
    if scenario in ("error", "slow"):
        variables = calls.variables(library)
    if scenario == "slow":
        calls.arm(at=-1, pause_us=20000)
    if small:
        disk.mount()
    start = time.monotonic()
    try:
        job = Job(command, folder, STEPS, (f"servers={kind}", *settings), variables)
        test(job, disk, calls)
    except AssertionError as wrong:
        raise AssertionError(f"{scenario}, servers = {kind}: {wrong}") from wrong
    finally:
        if small:
            disk.unmount()
    print(f"{scenario}, servers = {kind}: well after {time.monotonic() - start:.1f} s", flush=True)


def main() -> int:
    if os.environ.get("CHECK_FAULTS_INSIDE") is None:
        inside = ["unshare", "--map-root-user", "--mount"]
        tried = [*inside, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        if subprocess.run(tried, capture_output=True, check=False).returncode != 0:
            print("no name spaces for mounting here")
            return SKIPPED
        os.environ["CHECK_FAULTS_INSIDE"] = "1"
        os.execvp(inside[0], [*inside, sys.executable, *sys.argv])
    folder, library, command = pathlib.Path(sys.argv[1]).resolve(), sys.argv[3], sys.argv[4:]
    for scenario in sys.argv[2].split(","):
        for kind in KINDS:
            run(scenario, kind, folder, library, command)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
