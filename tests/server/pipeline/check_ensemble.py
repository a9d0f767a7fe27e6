# SPDX-License-Identifier: BSD-3-Clause
"""check_ensemble.py PROGRAM: jobs at once add to common files; one is killed again and again.

A killed job is started anew from its first step, as after a restart; in the end each job has been
counted once at each step, and the files hold the mean and the variance that NumPy finds.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

JOBS = 4
STEPS = 6
KILLS = 6


def start(program: str, folder: str, job: int) -> subprocess.Popen[bytes]:
    """One job."""
    command = [program, folder, str(job), str(STEPS)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def values(job: int, step: int) -> np.ndarray:
    """What a job adds at a step."""
    return ((7 * np.arange(20000) + 13 * job + 5 * step) % 23).astype(float).reshape(100, 200)


def check(path: Path, members: np.ndarray, extremes: bool) -> None:
    """Compares a common file with the statistics of all members."""
    with h5py.File(path) as file:
        assert file.attrs["members"] == len(members), (path, file.attrs["members"])
        assert len(set(file["counted"][:])) == len(members), path
        np.testing.assert_allclose(file["u_mean"], members.mean(axis=0), rtol=0, atol=1e-12)
        np.testing.assert_allclose(file["u_variance"], members.var(axis=0), rtol=0, atol=1e-11)
        if extremes:
            np.testing.assert_array_equal(file["u_min"], members.min(axis=0))
            np.testing.assert_array_equal(file["u_max"], members.max(axis=0))


def main() -> None:
    """Runs the jobs and checks what they left."""
    chance = random.Random(4)
    with tempfile.TemporaryDirectory(prefix="tailrace_ensemble_") as folder:
        jobs = {job: start(sys.argv[1], folder, job) for job in range(JOBS)}
        killed = 0
        for _ in range(KILLS):
            time.sleep(chance.uniform(0, 0.15))
            if jobs[0].poll() is None:
                jobs[0].kill()
                jobs[0].wait()
                killed += 1
            for path in Path(folder, "common").glob("*.h5"):
                with h5py.File(path, locking=False) as file:  # whole at any moment
                    assert np.isfinite(file["u_mean"][:]).all()
            jobs[0] = start(sys.argv[1], folder, 0)
        ends = {job: process.wait(timeout=100) for job, process in jobs.items()}
        assert not any(ends.values()), ends
        again = start(sys.argv[1], folder, 2)  # adds nothing
        assert again.wait(timeout=100) == 0
        for step in range(STEPS):
            members = np.array([values(job, step) for job in range(JOBS)])
            check(Path(folder, "common", f"each_{step:06}.h5"), members, extremes=True)
        every = np.array([values(job, step) for job in range(JOBS) for step in range(STEPS)])
        check(Path(folder, "common", "all.h5"), every, extremes=False)
        left = sorted(path.name for path in Path(folder, "common").iterdir())
        assert all(name.endswith((".h5", ".h5.lock")) for name in left), left
    print(f"{JOBS} jobs, {STEPS} steps, {killed} kills: every member counted once")


if __name__ == "__main__":
    main()
