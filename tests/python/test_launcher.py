# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher is chosen, from stand-ins on a made-up PATH."""

import os
from pathlib import Path

import pytest
from stand_ins import write_script

from tailrace.errors import TailraceError
from tailrace.launcher import find_launcher


def machine(tmp_path: Path, **versions: str) -> dict[str, str]:
    """An environment whose PATH holds launchers with these --version texts."""
    for name, version in versions.items():
        write_script(tmp_path / name, f"#!/bin/sh\necho '{version}'\n")
    return {"PATH": str(tmp_path)}


def test_srun_inside_a_slurm_job(tmp_path: Path) -> None:
    env = machine(tmp_path, srun="slurm 23", mpirun="mpirun (Open MPI) 4.1.4")
    assert find_launcher(4, 2, env | {"SLURM_JOB_ID": "7"}).prefix == [
        str(tmp_path / "srun"),
        "--ntasks=4",
        "--cpus-per-task=2",
    ]
    assert find_launcher(4, 2, env).kind == "Open MPI"  # not in a job


def test_open_mpi_as_root_and_with_more_ranks_than_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = machine(tmp_path, mpirun="mpirun (Open MPI) 4.1.4", ssh="ssh")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    few, many = find_launcher(1, 1, env), find_launcher(3, 1, env)
    assert "--allow-run-as-root" in few.prefix
    assert "--oversubscribe" not in few.prefix
    assert few.environment == {}
    assert "--oversubscribe" in many.prefix
    assert many.environment["OMPI_MCA_mpi_yield_when_idle"] == "1"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--allow-run-as-root" not in find_launcher(1, 1, env).prefix


def test_open_mpi_without_ssh(tmp_path: Path) -> None:
    env = machine(tmp_path, mpirun="mpirun (Open MPI) 4.1.4")
    assert "OMPI_MCA_plm_rsh_agent" in find_launcher(2, 1, env).environment


def test_mpich_by_either_name(tmp_path: Path) -> None:
    env = machine(tmp_path, mpiexec="HYDRA build details: Version: 4.0.2")
    launch = find_launcher(3, 1, env)
    assert launch.kind == "MPICH"
    assert launch.prefix == [str(tmp_path / "mpiexec"), "-n", "3"]


def test_own_launcher_comes_first(tmp_path: Path) -> None:
    env = machine(tmp_path, mpirun="mpirun (Open MPI) 4.1.4")
    env["TAILRACE_LAUNCHER"] = "aprun -n {ranks} -d 2"
    assert find_launcher(4, 1, env).prefix == ["aprun", "-n", "4", "-d", "2"]


def test_without_launcher_one_rank_runs_alone_and_more_do_not(tmp_path: Path) -> None:
    env = machine(tmp_path)
    assert find_launcher(1, 1, env).prefix == []
    with pytest.raises(TailraceError, match="no launcher found"):
        find_launcher(2, 1, env)
