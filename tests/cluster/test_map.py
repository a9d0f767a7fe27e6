# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace map` names the nodes of a job, and Slurm starts the ranks where it says."""

import json

import pytest
from cluster import Cluster

ALLOCATED = ("salloc", "--nodes=2", "--ntasks-per-node=3", "bash", "-c")


@pytest.mark.parametrize("order", ["round_robin", "tiles"])
def test_slurm_starts_ranks_as_the_map_says(slurm: Cluster, order: str) -> None:
    folder = f"map_{order}"
    write = f"tailrace map --grid 2x3 --ranks-per-node 3 --order {order} -o {folder}"
    check = f"tailrace map check {folder}/map.json -- srun"
    planned = f"SLURM_HOSTFILE={folder}/slurm.hosts {check} --distribution=arbitrary -n 6"
    done = slurm.on("head", *ALLOCATED, f"{write} && {planned}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 ranks on 2 nodes came out as planned" in done.stdout
    hosts = slurm.outside(slurm.shared / folder / "slurm.hosts").read_text().split()
    assert sorted(hosts) == ["n1"] * 3 + ["n2"] * 3
    other = "block" if order == "round_robin" else "cyclic"
    wrong = f"tailrace map check {folder}/map.json --json -- srun"
    done = slurm.on("head", *ALLOCATED, f"{wrong} --distribution={other} -n 6")
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads(done.stdout)["wrong"], done.stdout
