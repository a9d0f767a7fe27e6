# SPDX-License-Identifier: BSD-3-Clause
"""A job that writes files through a session, seen from outside: its processes, words and files."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable

END_LIMIT_S = 30.0  # for a job that was hurt; the program's watchdog_s is 20


def words_of(pid: int) -> list[str]:
    try:
        raw = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [word.decode(errors="replace") for word in raw.split(b"\0")]


def status_of(pid: int) -> tuple[int, str]:
    """Return parent and state of a process; (0, "Z") if there is none."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0, "Z"
    return int(fields[1]), fields[0]


def processes() -> list[int]:
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until(true: Callable[[], bool], limit_s: float) -> bool:
    end = time.monotonic() + limit_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Job:
    """A job that writes files, and what it has said."""

    def __init__(
        self,
        command: list[str],
        folder: pathlib.Path,
        steps: int,
        settings: tuple[str, ...] = (),
        variables: dict[str, str] | None = None,
    ) -> None:
        # What a killed MPI job leaves behind goes to the folder, too.
        scratch = folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        self.output = folder / "output"
        self.output.mkdir(exist_ok=True)
        self.environment = {
            **os.environ,
            "TMPDIR": str(scratch),
            "OMPI_MCA_btl_vader_backing_directory": str(scratch),
            "OMPI_MCA_osc_sm_backing_directory": str(scratch),
            # Starts of jobs are not to wait for networks that are not there.
            "OMPI_MCA_pml": "ob1",
        }
        self.folder = folder
        self.hold = folder / "go_on"
        self.hold.unlink(missing_ok=True)
        self.steps = steps
        self.command = command
        self.log = (folder / "errors.txt").open("w+")
        self.process = subprocess.Popen(
            [*command, "run", str(self.output), f"steps={steps}", f"hold={self.hold}", *settings],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            start_new_session=True, env={**self.environment, **(variables or {})},
        )  # fmt: skip
        self.done = 0
        self.rank_pids: list[int] = []
        self.server_pids: set[int] = set()
        self.ended = False
        self.begun = threading.Event()
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()
        if not self.begun.wait(timeout=60):
            kill([self.process.pid, *self.ranks()])
            raise AssertionError(f"no file after 60 s: {self.errors()}")

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            words = line.split()
            if len(words) == 2 and line.endswith("\n") and words[0] in ("done", "end"):
                self.done = int(words[1])
                self.ended = words[0] == "end"
                self.begun.set()

    def go_on(self) -> None:
        """Let the job write the second half of its steps."""
        self.hold.touch()

    def errors(self) -> str:
        return pathlib.Path(self.log.name).read_text()

    def ranks(self) -> list[int]:
        return [
            p for p in processes() if self.is_ours(p, "served_program") and p != self.process.pid
        ]

    def is_ours(self, pid: int, program: str) -> bool:
        words = words_of(pid)
        if not words or not words[0].endswith(program):
            return False
        return str(self.output) in words if program == "served_program" else True

    def servers(self) -> tuple[list[int], list[int]]:
        """Return supervisors and workers of this job: they are named after its ranks' memory."""
        names = [f":{rank}:" for rank in self.rank_pids]
        ours = [
            pid
            for pid in processes()
            if self.is_ours(pid, "tailrace-server")
            and any(name in word for word in words_of(pid) for name in names)
            and status_of(pid)[1] != "Z"
        ]
        self.server_pids |= set(ours)
        supervisors = [p for p in ours if self.name(p) == "tailrace-superv"]
        return supervisors, [p for p in ours if p not in supervisors]

    @staticmethod
    def name(pid: int) -> str:
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return ""

    def remember_ranks(self) -> None:
        self.rank_pids = sorted({*self.rank_pids, *self.ranks()})

    def running(self) -> bool:
        return self.process.poll() is None

    def check_end(self, well: bool, clean: bool, check: bool = True) -> None:
        """Wait for the end, and look at what is left.

        Shared memory has no name in any file system: it ends with the last process that maps it.
        """
        limit = END_LIMIT_S + (60 if well else 0)
        self.remember_ranks()
        over = wait_until(lambda: not self.running(), limit)
        # PMIx 4.2 now and then waits for itself for ever as mpirun ends, when all ranks have ended.
        over = over or (not well and not self.ranks())
        gone = wait_until(lambda: self.servers() == ([], []), END_LIMIT_S)
        left = [p for p in processes() if self.is_ours(p, "served_program")]
        servers = self.servers()
        kill([self.process.pid, *left, *servers[0], *servers[1]])
        self.process.wait()
        self.reader.join()
        assert over, f"the job still ran after {limit} s: {self.errors()}"
        assert gone, f"servers were left: {servers}: {self.errors()}"
        if well:
            assert self.process.returncode == 0, f"{self.process.returncode}: {self.errors()}"
            assert self.ended, "there is no last word"
            assert self.done == self.steps or not check, self.done
        else:
            assert not self.ended, "the job ended well"
            assert self.process.returncode != 0
        if check:
            self.check_files(clean)

    def check_files(self, clean: bool) -> None:
        files = sorted(self.output.glob("*.h5"))
        numbers = self.read(files)
        missing = set(range(1, self.done + 1)) - numbers
        assert not missing, f"{sorted(missing)} of {self.done} files reported as complete are lost"
        if not clean:
            return
        partial = sorted(p.name for p in self.output.iterdir() if ".partial" in p.name)
        assert not partial, f"unfinished files were left: {partial}"

    def read(self, files: list[pathlib.Path]) -> set[int]:
        if not files:
            return set()
        done = subprocess.run(
            [self.command[-1], "check", *map(str, files)],
            capture_output=True, text=True, check=False, timeout=120, env=self.environment,
        )  # fmt: skip
        numbers = [int(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0, f"{files[len(numbers) :]}: {done.stderr}"
        assert len(numbers) == len(files), done.stdout
        return set(numbers)
