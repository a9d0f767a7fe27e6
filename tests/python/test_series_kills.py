# SPDX-License-Identifier: BSD-3-Clause
"""Kills runs that write compressed files, series and files of several steps, at random moments.

TAILRACE_SEED repeats the choices of a run (the moments of the kills depend on the machine, too).
The test of 200 kills is slow: `pytest -m slow tests/python/test_series_kills.py`.
"""

import itertools
import os
import random
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from test_face import HERE, MPI_ENV, MPIRUN
from test_series import killer

h5py = pytest.importorskip("h5py")
pytest.importorskip("mpi4py")

PROGRAM = HERE / "series_program.py"
KINDS = ("hidden", "none", "thread", "process")
COMPRESS = ("deflate:1", "", "deflate:1 fletcher32=yes chunk=4x3x2")
SETTINGS = list(itertools.product(KINDS, (3, 1), COMPRESS))


@dataclass
class Run:
    """What is known of the steps on disk: the attempt that wrote each."""

    folder: Path
    chance: random.Random
    attempt_of: list[int] = field(default_factory=list)  # of each step from 0 on
    lost: int = 0  # kills before the attempt had begun

    def kill_one(self, number: int, kind: str, steps_per_file: int, compress: str) -> None:
        """Start an attempt as from a checkpoint, kill it at a random moment, and compare."""
        attempt = number % 10
        known = len(self.attempt_of)
        first = self.chance.randrange(max(0, known - 40), known + 1)
        said = self._run_and_kill(attempt, first, kind, steps_per_file, compress)
        with h5py.File(self.folder / "fields.h5") as file:
            steps = file["step"][...].tolist()
            u = file["u"][...]
        found = [int(item) % 10 for item in u[:, 0, 0, 0]]
        where = f"kill {number}: {kind}, {steps_per_file} steps per file, {compress!r}"
        assert steps == list(range(len(steps))), where
        expected = 10.0 * np.array(steps) + found
        assert (u == expected[:, None, None, None]).all(), f"{where}: half a step"
        assert found[:first] == self.attempt_of[:first], f"{where}: earlier steps have changed"
        assert all(step < len(steps) for step in said), f"{where}: a step that was told is lost"
        if set(found[first:]) != {attempt}:  # it was killed before its first step
            assert not said, where
            assert found[first:] == self.attempt_of[first : len(found)], where
            self.lost += 1
        self.attempt_of = found

    def _run_and_kill(
        self, attempt: int, first: int, kind: str, steps_per_file: int, compress: str
    ) -> list[int]:
        """Return the steps that the run has said to be complete."""
        kills = killer()
        words = [kind, "auto", str(attempt), f"{first}:1000000", str(steps_per_file), compress]
        said: list[int] = []
        begun = threading.Event()

        def listen(job: "subprocess.Popen[str]") -> None:
            assert job.stdout is not None
            for line in job.stdout:
                if line.endswith("\n"):  # else it was cut
                    said.append(int(line))
                    begun.set()

        with subprocess.Popen(
            [MPIRUN, "-n", "2", sys.executable, str(PROGRAM), str(self.folder), *words],
            env={**os.environ, **MPI_ENV}, stdout=subprocess.PIPE, text=True,
        ) as job:  # fmt: skip
            reader = threading.Thread(target=listen, args=(job,))
            reader.start()
            try:
                # Now and then while the attempt begins.
                is_early = bool(self.attempt_of) and self.chance.random() < 0.15
                if is_early:
                    begun.wait(self.chance.uniform(0.2, 2))
                else:
                    assert begun.wait(120), "no step in two minutes"
                    threading.Event().wait(self.chance.uniform(0, 0.5))
                assert job.poll() is None
            finally:
                pids = [*kills.descendants(job.pid), job.pid]
                kills.kill(pids)
            kills.wait_until_gone(pids)
            reader.join()
        return said


@pytest.mark.parametrize("kills", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_nothing_that_was_told_is_lost(tmp_path: Path, kills: int) -> None:
    """Each attempt continues, with other settings, what the killed one has left."""
    seed = int(os.environ.get("TAILRACE_SEED") or random.SystemRandom().randrange(1 << 30))
    name = f"tests/python/test_series_kills.py::test_nothing_that_was_told_is_lost[{kills}]"
    print(f"again with: TAILRACE_SEED={seed} python -m pytest -s '{name}'")
    (tmp_path / "fields").mkdir()
    run = Run(tmp_path, random.Random(seed))
    order = run.chance.sample(SETTINGS, len(SETTINGS))
    for number in range(kills):
        run.kill_one(number, *order[number % len(order)])
    print(f"{kills} kills, {run.lost} of them before a first step; {len(run.attempt_of)} steps")
    assert run.lost < kills / 2
