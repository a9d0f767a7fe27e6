# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace map` names the nodes of a job, and Slurm starts the ranks where it says."""

import json
from collections.abc import Iterator

import pytest
from cluster import Cluster, ImpossibleError, Options

ALLOCATED = ("salloc", "--nodes=2", "--ntasks-per-node=3", "bash", "-c")


TREE = ["SwitchName=s0 Nodes=n[1,3]", "SwitchName=s1 Nodes=n[2,4]", "SwitchName=t Switches=s[0-1]"]


@pytest.fixture
def with_switches() -> Iterator[Cluster]:
    """A cluster whose Slurm knows of two switches with two nodes each."""
    try:
        made = Cluster.start(Options(nodes=4, topology=TREE))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    yield made
    made.close()


@pytest.mark.parametrize("source", ["slurm", "topology.conf"])
def test_nodes_of_a_switch_stay_together(with_switches: Cluster, source: str) -> None:
    """The nodes come in the order of Slurm's switches, and Slurm starts the ranks there."""
    file = source if source == "slurm" else with_switches.folder / "etc/topology.conf"
    write = f"tailrace map --grid 8 --ranks-per-node 2 --order consecutive --topology {file}"
    write += " --json=said.json -o switches"
    check = "tailrace map check switches/map.json -- srun --distribution=arbitrary -n 8"
    command = f"{write} && SLURM_HOSTFILE=switches/slurm.hosts {check}"
    allocated = ("salloc", "--nodes=4", "--ntasks-per-node=2", "bash", "-c")
    done = with_switches.on("head", *allocated, command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 ranks on 4 nodes are where the map puts them" in done.stdout
    shared = with_switches.outside(with_switches.shared)
    hosts = (shared / "switches/slurm.hosts").read_text().split()
    assert hosts == ["n1", "n1", "n3", "n3", "n2", "n2", "n4", "n4"]
    said = json.loads((shared / "said.json").read_text())
    assert said["switch_of_node"] == [0, 0, 1, 1]
    assert said["bytes_between_switches"] == 2  # one byte each way between the halves


@pytest.mark.parametrize("order", ["round_robin", "tiles"])
def test_slurm_starts_ranks_as_the_map_says(slurm: Cluster, order: str) -> None:
    folder = f"map_{order}"
    write = f"tailrace map --grid 2x3 --ranks-per-node 3 --order {order} -o {folder}"
    check = f"tailrace map check {folder}/map.json -- srun"
    planned = f"SLURM_HOSTFILE={folder}/slurm.hosts {check} --distribution=arbitrary -n 6"
    done = slurm.on("head", *ALLOCATED, f"{write} && {planned}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 ranks on 2 nodes are where the map puts them" in done.stdout
    hosts = slurm.outside(slurm.shared / folder / "slurm.hosts").read_text().split()
    assert sorted(hosts) == ["n1"] * 3 + ["n2"] * 3
    other = "block" if order == "round_robin" else "cyclic"
    wrong = f"tailrace map check {folder}/map.json --json -- srun"
    done = slurm.on("head", *ALLOCATED, f"{wrong} --distribution={other} -n 6")
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads(done.stdout)["wrong"], done.stdout
