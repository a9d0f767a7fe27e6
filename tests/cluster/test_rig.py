# SPDX-License-Identifier: BSD-3-Clause
"""The cluster itself: what nodes own and share, links, nodes that break, and that nothing stays."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import rig
from cluster import IMPOSSIBLE, Cluster, Options, wait

HERE = Path(__file__).resolve().parent
SEND = """
import socket, sys, time
server = socket.create_server(("", 4000))
peer, _ = server.accept()
while True:
    data = peer.recv(1 << 20)
    if not data:
        break
    if data == b"?":
        peer.sendall(b"!")
peer.sendall(b"end")
"""
RECEIVE = """
import socket, sys, time
for _ in range(200):
    try:
        peer = socket.create_connection((sys.argv[1], 4000), 1)
        break
    except OSError:
        time.sleep(0.05)
peer.settimeout(60)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
trips = []
for _ in range(5):
    start = time.monotonic()
    peer.sendall(b"?")
    peer.recv(1)
    trips.append(time.monotonic() - start)
start = time.monotonic()
peer.sendall(bytes(1 << 20))
peer.shutdown(socket.SHUT_WR)
peer.recv(3)
print(min(trips), time.monotonic() - start)
"""


def measure(slurm: Cluster) -> tuple[float, float]:
    """Return the time of a round trip between two nodes and of a stream of 1 MiB."""
    words = slurm.words_on("n1", sys.executable, "-c", SEND)
    with subprocess.Popen(words) as server:
        said = slurm.on("n2", sys.executable, "-c", RECEIVE, "n1", check=True).stdout
        assert server.wait(timeout=20) == 0
    trip, stream = map(float, said.split())
    return trip, stream


def test_nodes_own_and_share_what_real_ones_do(slurm: Cluster) -> None:
    for node in ("n1", "n2"):
        slurm.on(
            node, "sh", "-c", f"echo {node} | tee /tmp/own /dev/shm/own shared_{node}", check=True
        )
        assert slurm.on(node, "hostname").stdout == f"{node}\n"
        assert slurm.on(node, "cat", "/tmp/own", "/dev/shm/own").stdout == f"{node}\n" * 2
    assert slurm.on("n3", "cat", "shared_n1", "shared_n2").stdout == "n1\nn2\n"
    assert not slurm.on("n3", "ls", "/tmp", "/dev/shm").stdout.split()[2:]
    own, other = (slurm.on(node, "readlink", "/proc/self/ns/net").stdout for node in ("n1", "n2"))
    assert own != other
    done = slurm.srun({"n2": 2, "n1": 1}, "sh", "-c", "echo $SLURM_PROCID $(hostname)")
    assert sorted(done.stdout.splitlines()) == ["0 n2", "1 n2", "2 n1"], done.stderr
    for node in ("n1", "n2"):
        slurm.on(node, "rm", "/tmp/own", "/dev/shm/own", check=True)
        assert slurm.left_over(node) == []


def test_rate_and_delay_of_links(slurm: Cluster) -> None:
    """Times have lower bounds only: a busy machine adds to them."""
    bits = 8 * 2**20
    slurm.set_links(rate="8mbit")
    _, stream = measure(slurm)
    assert stream > 0.7 * bits / 8e6  # tbf lets 128 kB through at once
    slurm.set_links(delay_us=20000)
    trip, _ = measure(slurm)
    assert trip > 4 * 0.02  # two links, there and back
    slurm.set_links()
    assert slurm.srun({"n1": 1, "n2": 1}, "hostname").returncode == 0


def test_a_link_goes_down_and_comes_up(slurm: Cluster) -> None:
    probe = "import socket; socket.create_connection(('n1', 6818), 2)"
    assert slurm.on("n2", sys.executable, "-c", probe).returncode == 0
    slurm.set_link("n1", up=False)
    assert slurm.on("n2", sys.executable, "-c", probe).returncode != 0
    slurm.set_link("n1", up=True)
    wait(lambda: slurm.on("n2", sys.executable, "-c", probe).returncode == 0, 30, lambda: "link")


def test_a_node_is_switched_off_and_on(slurm: Cluster) -> None:
    slurm.on("n4", "touch", "/tmp/before", check=True)
    slurm.power_off("n4")
    slurm.power_on("n4")
    assert slurm.on("n4", "ls", "/tmp", check=True).stdout == ""
    assert slurm.on("head", "srun", "-w", "n4", "hostname", check=True).stdout == "n4\n"


def test_sizes_of_folders() -> None:
    if reason := rig.missing():
        pytest.skip(f"no cluster of namespaces here: {reason}")
    slurm = Cluster.start(Options(nodes=2, shm={"n2": "1m"}, shared="8m"))
    try:
        fill = ["dd", "if=/dev/zero", "bs=1M", "count=4"]
        assert slurm.on("n1", *fill, "of=/dev/shm/x").returncode == 0
        assert "No space left" in slurm.on("n2", *fill, "of=/dev/shm/x").stderr
        assert slurm.on("n2", *fill, "of=x").returncode == 0
        slurm.resize("4m")
        assert "No space left" in slurm.on("n1", *fill, "of=y").stderr
    finally:
        slurm.close()


STARTED = """
import sys, time
sys.path.insert(0, sys.argv[1])
from cluster import Cluster, Options
made = Cluster.start(Options(nodes=2))
made.srun({"n1": 1}, "hostname")
print(made.state["pid"], made.folder, flush=True)
sleeper = made.on("head", "srun", "-N2", "sleep", "1000", timeout=None)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_cluster_whose_tests_are_killed(number: int) -> None:
    if reason := rig.missing():
        pytest.skip(f"no cluster of namespaces here: {reason}")
    mounts, links = Path("/proc/mounts").read_text(), sorted(Path("/sys/class/net").iterdir())
    with subprocess.Popen(
        [sys.executable, "-c", STARTED, str(HERE)], stdout=subprocess.PIPE, text=True
    ) as tests:
        assert tests.stdout is not None
        pid, folder = tests.stdout.readline().split()
        space = Path(f"/proc/{pid}/ns/net").readlink()
        tests.send_signal(number)
        tests.wait(timeout=30)
    wait(lambda: not Path(folder).exists(), 30, lambda: f"{folder} is removed")
    wait(lambda: not Path(f"/proc/{pid}").exists(), 30, lambda: "the first process ends")
    assert Path("/proc/mounts").read_text() == mounts
    assert sorted(Path("/sys/class/net").iterdir()) == links
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            assert path.readlink() != space, path.parent.joinpath("cmdline").read_bytes()
        except FileNotFoundError:
            continue


def test_a_machine_without_slurm_skips(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    done = subprocess.run(
        [sys.executable, str(HERE / "rig.py"), "up", str(tmp_path / "state")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, IMPOSSIBLE)  # 0: the daemons are in /usr/sbin
    if done.returncode == IMPOSSIBLE:
        assert done.stderr.startswith("no cluster of namespaces here: "), done.stderr
