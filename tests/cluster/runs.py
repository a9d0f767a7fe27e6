# SPDX-License-Identifier: BSD-3-Clause
"""A small flow as a job on two nodes, and the files that it has written."""

from pathlib import Path

import h5py
from cluster import Cluster, wait

CASE = (
    "tailrace run taylor_green --set grid.n=16 --set time.step=0.01 --set statistics.every=1 "
    "--set output.every=2 --set checkpoint.every=10 --set restart.file=latest_or_fresh"
)
LONG = f"{CASE} --set time.end=10000"


def submit(slurm: Cluster, command: str, *options: str) -> str:
    path = slurm.script("job.sh", f"#!/bin/bash\nexec {command}\n")
    return slurm.sbatch("--nodes=2", "--ntasks-per-node=1", "--no-requeue", *options, path)


def log_of(slurm: Cluster, job: str) -> str:
    path = slurm.outside(slurm.shared / f"slurm-{job}.out")
    return path.read_text() if path.exists() else ""


def fields_of(slurm: Cluster, run: str) -> list[Path]:
    """Return the field files of a run that have their final names."""
    return sorted(slurm.outside(slurm.shared / run).glob("fields/*_[0-9]*.h5"))


def wait_for_fields(slurm: Cluster, job: str, run: str, count: int) -> None:
    def done() -> bool:
        assert slurm.job(job)["JobState"] in ("PENDING", "RUNNING"), log_of(slurm, job)
        return len(fields_of(slurm, run)) >= count

    wait(done, 200, lambda: f"{run}: {count} files; {log_of(slurm, job)}")


def check_whole(slurm: Cluster, run: str) -> int:
    """Read every file with its final name; return how many there are."""
    fields = fields_of(slurm, run)
    for path in fields:
        with h5py.File(path) as file:
            for name in ("u", "v"):
                assert file[name].shape == (16, 16, 16), (path, name)
                assert file[name][:8].any(), (path, name)  # of either rank
                assert file[name][8:].any(), (path, name)
    checkpoints = list(slurm.outside(slurm.shared / run).glob("checkpoint_*.h5"))
    for path in checkpoints:
        with h5py.File(path) as file:
            sizes = [file[name][()].size for name in file if isinstance(file[name], h5py.Dataset)]
            assert sizes, path
    return len(fields) + len(checkpoints)
