# SPDX-License-Identifier: BSD-3-Clause
"""Nodes, links and folders that fail during output: runs end or continue, files are whole."""

import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster, ImpossibleError, Options, wait
from runs import CASE, LONG, check_whole, fields_of, log_of, submit, wait_for_fields


@pytest.fixture
def small() -> Iterator[Cluster]:
    """A cluster for each test, which breaks it. One node has a small /dev/shm."""
    try:
        made = Cluster.start(Options(nodes=2, shm={"n2": "16m"}, shared="256m"))
    except ImpossibleError as error:
        pytest.skip(f"no cluster of namespaces here: {error}")
    yield made
    made.close()


@pytest.fixture
def remote(small: Cluster) -> Iterator[Cluster]:
    """The cluster with a file system `net` on its nodes, whose server a test can stop.

    The server of each node shows the shared folder `disk`. Tests read files there.
    """
    if importlib.util.find_spec("mfusepy") is None or not Path("/dev/fuse").exists():
        pytest.skip("no FUSE (Debian: fuse3; the extra [cluster])")
    for name in ("disk", "net"):
        small.outside(small.shared / name).mkdir()
    start = f"{sys.executable} {Path(__file__).with_name('remote_folder.py')} disk net"
    for node in ("n1", "n2"):
        # Nobody waits for it: nsenter would stop with a process that is stopped.
        small.on(node, "sh", "-c", f"setsid {start} </dev/null >{node}.log 2>&1 &", check=True)
        wait(
            lambda on=node: "RemoteFolder" in small.on(on, "cat", "/proc/mounts").stdout,
            60,
            lambda on=node: small.outside(small.shared / f"{on}.log").read_text(),
        )
    yield small
    signal_servers(small, "KILL", "n1", "n2")


def signal_servers(slurm: Cluster, signal: str, *nodes: str) -> None:
    """Send a signal to the servers of the file system `net`."""
    for node in nodes:
        slurm.on(node, "pkill", f"-{signal}", "-f", "remote_folder.py")


@pytest.mark.parametrize("servers", ["hidden", "thread"])
def test_a_node_is_switched_off_during_output(small: Cluster, servers: str) -> None:
    """The job ends, no file that was reported is lost, and the next job continues."""
    job = submit(small, f"{LONG} -o off --servers {servers}")
    wait_for_fields(small, job, "off", 8)
    small.power_off("n2")
    found = small.wait_for_job(job, timeout=120)
    assert found["JobState"] in ("NODE_FAIL", "FAILED", "CANCELLED"), found
    assert check_whole(small, "off") >= 8
    wait(lambda: not small.left_over("n1"), 60, lambda: str(small.left_over("n1")))
    small.power_on("n2")
    count = len(fields_of(small, "off"))
    job = submit(small, f"{LONG} -o off --servers {servers}")
    wait_for_fields(small, job, "off", count + 2)
    small.on("head", "scancel", job, check=True)
    small.wait_for_job(job)
    assert check_whole(small, "off") >= count + 2


@pytest.mark.parametrize("node", ["n1", "n2"])
@pytest.mark.parametrize("servers", ["none", "thread"])
def test_a_rank_is_killed(small: Cluster, servers: str, node: str) -> None:
    """Its job ends, though Slurm would leave the other ranks alone."""
    job = submit(small, f"{LONG} -o killed --servers {servers}")
    wait_for_fields(small, job, "killed", 4)
    small.on(node, "pkill", "-KILL", "-f", "^/[^ ]*tailrace-turbulence", check=True)
    assert small.wait_for_job(job, timeout=120)["JobState"] == "FAILED", log_of(small, job)
    assert check_whole(small, "killed") >= 4
    for name in ("n1", "n2"):
        wait(lambda n=name: not small.left_over(n), 60, lambda n=name: str(small.left_over(n)))


def test_a_link_that_is_down_for_a_while(small: Cluster) -> None:
    job = submit(small, f"{LONG} -o pause")
    wait_for_fields(small, job, "pause", 4)
    small.set_link("n2", up=False)
    time.sleep(5)  # the fault itself
    small.set_link("n2", up=True)
    wait_for_fields(small, job, "pause", len(fields_of(small, "pause")) + 4)
    small.on("head", "scancel", "--signal=TERM", job, check=True)
    assert small.wait_for_job(job)["JobState"] == "COMPLETED", log_of(small, job)
    assert check_whole(small, "pause") >= 8


def test_a_link_that_stays_down(small: Cluster) -> None:
    """Slurm gives the node up, and with it the job."""
    job = submit(small, f"{LONG} -o cut")
    wait_for_fields(small, job, "cut", 4)
    small.set_link("n2", up=False)
    found = small.wait_for_job(job, timeout=120)
    assert found["JobState"] in ("NODE_FAIL", "FAILED", "CANCELLED"), found
    assert check_whole(small, "cut") >= 4
    wait(lambda: not small.left_over("n1"), 60, lambda: str(small.left_over("n1")))


@pytest.mark.parametrize("servers", ["none", "hidden", "thread", "1 per node"])
def test_one_node_has_a_small_shared_memory(small: Cluster, servers: str) -> None:
    """The run ends in order: with all files, or with a line that says what lacks."""
    run = f"{CASE} --set time.end=0.1 -o shm --servers '{servers}'"
    job = submit(small, run, "--ntasks-per-node=2")
    found = small.wait_for_job(job, timeout=200)
    if found["JobState"] == "COMPLETED":
        assert check_whole(small, "shm") >= 6
    else:
        said = log_of(small, job)
        assert "/dev/shm" in said or "memory" in said, said
        assert "signal 7" not in said and "Bus error" not in said, said
    for node in ("n1", "n2"):
        wait(lambda n=node: not small.left_over(n), 60, lambda n=node: str(small.left_over(n)))


@pytest.mark.parametrize("servers", ["none", "hidden", "thread"])
def test_the_shared_folder_is_full(small: Cluster, servers: str) -> None:
    """The run stops with the system's words; what was written before stays whole."""
    job = submit(small, f"{LONG} -o full --servers {servers}")
    wait_for_fields(small, job, "full", 4)
    used = sum(path.stat().st_blocks * 512 for path in small.outside(small.shared).rglob("*"))
    small.resize(str(used + (1 << 20)))
    found = small.wait_for_job(job, timeout=200)
    assert found["JobState"] == "FAILED", found
    assert check_whole(small, "full") >= 4
    small.resize("256m")
    job = submit(small, f"{LONG} -o full --servers {servers}")
    wait_for_fields(small, job, "full", len(fields_of(small, "full")) + 2)


@pytest.mark.parametrize("servers", ["none", "hidden", "thread"])
def test_the_shared_folder_becomes_read_only(remote: Cluster, servers: str) -> None:
    """The run stops with the system's words; what was written before stays whole."""
    job = submit(remote, f"{LONG} -o net/ro --servers {servers}")
    wait_for_fields(remote, job, "disk/ro", 6)
    marker = remote.outside(remote.shared / "disk.read_only")
    marker.touch()
    found = remote.wait_for_job(job, timeout=200)
    assert found["JobState"] == "FAILED", found
    assert "Read-only file system" in log_of(remote, job)
    assert check_whole(remote, "disk/ro") >= 6
    for node in ("n1", "n2"):
        wait_for_no_ranks(remote, node)
    marker.unlink()
    count = len(fields_of(remote, "disk/ro"))
    job = submit(remote, f"{LONG} -o net/ro --servers {servers}")
    wait_for_fields(remote, job, "disk/ro", count + 2)


def wait_for_no_ranks(slurm: Cluster, node: str) -> None:
    def left() -> list[str]:
        return [line for line in slurm.left_over(node) if "remote_folder.py" not in line]

    wait(lambda: not left(), 60, lambda: str(left()))


@pytest.mark.parametrize("servers", ["none", "hidden", "thread"])
def test_the_shared_folder_hangs_for_a_while(remote: Cluster, servers: str) -> None:
    """The run waits for it, and continues."""
    job = submit(remote, f"{LONG} -o net/hang --servers {servers}")
    wait_for_fields(remote, job, "disk/hang", 4)
    signal_servers(remote, "STOP", "n1", "n2")
    time.sleep(5)  # the fault itself
    count = len(fields_of(remote, "disk/hang"))
    assert remote.job(job)["JobState"] == "RUNNING", log_of(remote, job)
    signal_servers(remote, "CONT", "n1", "n2")
    wait_for_fields(remote, job, "disk/hang", count + 4)
    remote.on("head", "scancel", "--signal=TERM", job, check=True)
    assert remote.wait_for_job(job)["JobState"] == "COMPLETED", log_of(remote, job)
    assert check_whole(remote, "disk/hang") >= count + 4


def test_the_shared_folder_of_a_node_hangs_for_ever(remote: Cluster) -> None:
    """The job can be cancelled; its last processes end when the file system fails at last."""
    job = submit(remote, f"{LONG} -o net/stuck")
    wait_for_fields(remote, job, "disk/stuck", 4)
    signal_servers(remote, "STOP", "n2")
    time.sleep(2)  # the ranks of n2 wait for it
    remote.on("head", "scancel", job, check=True)
    assert remote.wait_for_job(job, timeout=120)["JobState"] == "CANCELLED"
    wait_for_no_ranks(remote, "n1")
    signal_servers(remote, "KILL", "n2")
    wait_for_no_ranks(remote, "n2")
    assert check_whole(remote, "disk/stuck") >= 4
