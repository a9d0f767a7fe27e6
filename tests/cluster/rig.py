#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm cluster of namespaces on this machine, for tests. Needs root and Debian's Slurm packages.

    rig.py up STATE           start a cluster, which ends with the caller of this command (ctest, a
                              shell), and write its description into the file STATE
    rig.py run STATE n1:3,n2:1 PROGRAM...   run ranks by srun on the nodes of a running cluster
    rig.py on STATE NODE COMMAND...         run a command on a node
    rig.py down STATE         end the cluster

The exit status is 77, with the reason, where a cluster cannot be made. `cluster.py` has the same
for tests in Python. The other commands (keep, inside, node, boot, relay) are the cluster's own.

Everything lives in one outer PID, network and mount namespace, and each node in namespaces below
it. When the outer namespace's first process ends, the kernel ends all processes and removes all
mounts, devices and bridges, however the end came about. The keeper outside ends it when its
standard input closes or the process that it is tied to has ended, and removes the empty folder.
"""

import contextlib
import ctypes
import fcntl
import heapq
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SELF = Path(__file__).resolve()
NAMESPACES = ["--mount", "--uts", "--ipc", "--net", "--pid"]
# Nodes have been up for different times, which their monotonic clocks show.
OF_NODE = [*NAMESPACES, "--time"] if Path("/proc/self/ns/time").exists() else NAMESPACES
UPTIME_S = 1_000_000
HEAD_ADDRESS = 254
FIRST_USER = 20001
SLURM = """\
ClusterName=tailrace
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobs
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_min_interval=0
ReturnToService=2
SlurmdTimeout=10
KillWait=10
MpiDefault={mpi}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
NodeName=n[1-{nodes}] CPUs={cpus} CoresPerSocket={cpus} RealMemory=1000 State=UNKNOWN
"""


def call(*words: str, check: bool = True) -> str:
    """Run a command and return what it prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def wait_until(condition: Any, seconds: float, what: str) -> None:
    """Poll a condition; raise an error that names it after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {seconds:g} s: {what}")
        time.sleep(0.02)


# What may not be permitted, or not be in the kernel: mounts, a bridge, links between namespaces.
PROBE = (
    "mount -t tmpfs none /mnt && PATH=$PATH:/usr/sbin:/sbin && "
    "ip link add name bridge0 type bridge && ip link add name link0 type veth peer name link1"
)


def missing() -> str:
    """Return why a cluster cannot be made here; "" if it can."""
    if os.geteuid() != 0:
        return "needs root"
    tools = ("munged", "slurmctld", "slurmd", "srun", "ip", "tc", "nsenter", "unshare", "setpriv")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [name for name in tools if shutil.which(name, path=path) is None]
    if absent:
        return f"{' '.join(absent)} not found (tools/setup --cluster installs Slurm on Debian)"
    done = subprocess.run(
        ["unshare", *NAMESPACES, "--fork", "sh", "-c", PROBE],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else f"no namespaces: {done.stderr.strip()}"


# ---- outside: the keeper ----


def keep(folder: Path, text: str, tied_to: int) -> None:
    """Hold the cluster until standard input closes, or process `tied_to` has ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    waits = os.pidfd_open(tied_to) if tied_to else 0
    # --pdeathsig and --kill-child: the cluster ends with this process even if that is killed.
    outer = ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, "--fork"]
    outer += ["--kill-child=KILL", "--propagation", "private"]
    process = first = None
    try:
        process = subprocess.Popen(
            [*outer, sys.executable, str(SELF), "inside", str(folder), text],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        readable = select.select([process.stdout, waits], [], [])[0]
        if process.stdout in readable:
            line = process.stdout.readline()
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            if line.startswith("ready"):
                first = os.pidfd_open(int(children.split()[0]))
                state = {
                    "pid": int(children.split()[0]),
                    "folder": str(folder),
                    "keeper": os.getpid(),
                }
                print(json.dumps(state), flush=True)
                os.close(1)
                select.select([process.stdout, waits], [], [])
            else:
                print(line or "failed: the cluster's first process has ended", flush=True)
    finally:
        if process is not None:
            process.kill()
            process.wait()
        if first is not None:
            select.select([first], [], [])  # until the cluster's last process has ended
        shutil.rmtree(folder, ignore_errors=True)


# ---- inside the outer namespace ----


def inside(folder: Path, options: dict[str, Any]) -> None:
    """First process of the cluster: folders, the bridge, the nodes; then reaps."""
    try:
        start_all(folder, options)
    except Exception as error:
        logs = "".join(
            f"\\n{path.name}: {path.read_text(errors='replace')[-600:]}"
            for path in sorted((folder / "log").glob("*"))
        )
        print(f"failed: {error} {logs!r}", flush=True)
        os._exit(1)
    print("ready", flush=True)
    reap_for_ever()


def reap_for_ever() -> None:
    """Collect ended processes, as the first process of a namespace must."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            signal.sigtimedwait([signal.SIGCHLD], 0.2)


def start_all(folder: Path, options: dict[str, Any]) -> None:
    call("mount", "-t", "proc", "proc", "/proc")
    call("mount", "-t", "tmpfs", "-o", "mode=755", "cluster", str(folder))
    for name in ("etc", "log", "state", "nodes", "shared"):
        (folder / name).mkdir()
    shared = f"mode=1777,size={options['shared']}"
    call("mount", "-t", "tmpfs", "-o", shared, "shared", str(folder / "shared"))
    names = ["head", *(f"n{number + 1}" for number in range(options["nodes"]))]
    (folder / "options").write_text(json.dumps(options))
    hosts = [f"{address_of(name)} {name}" for name in names]
    (folder / "etc/hosts").write_text("\n".join(["127.0.0.1 localhost", *hosts]) + "\n")
    # The cluster has its own users in addition to those of this machine.
    known = Path("/etc/passwd").read_text()
    for number, user in enumerate(options["users"]):
        home = folder / "shared/home" / user
        home.mkdir(parents=True)
        os.chown(home, FIRST_USER + number, FIRST_USER + number)
        known += f"{user}:x:{FIRST_USER + number}:{FIRST_USER + number}::{home}:/bin/bash\n"
    (folder / "etc/passwd").write_text(known)
    key = folder / "etc/munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    conf = SLURM.format(folder=folder, **options)
    more = list(options["conf"])
    if options["topology"]:
        (folder / "etc/topology.conf").write_text("\n".join(options["topology"]) + "\n")
        more.append("TopologyPlugin=topology/tree")
    (folder / "etc/slurm.conf").write_text(conf + "\n".join(more) + "\n")
    # Slurm 22.05: the barrier by a tree ends on each node alone (tailrace/launch/launcher.py).
    (folder / "etc/mpi.conf").write_text("PMIxCollFence=ring\n")
    call("ip", "link", "set", "lo", "up")
    call("ip", "link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0")
    call("ip", "link", "set", "br0", "up")
    for name in names:
        boot(folder, name)
    for name in names:
        wait_until((folder / f"nodes/{name}.booted").exists, 60, f"{name} boots")


def number_of(name: str) -> int:
    return HEAD_ADDRESS if name == "head" else int(name.removeprefix("n"))


def address_of(name: str) -> str:
    return f"10.77.0.{number_of(name)}"


def boot(folder: Path, name: str) -> None:
    """Start a node and connect it to the bridge."""
    (folder / f"nodes/{name}.booted").unlink(missing_ok=True)
    log = (folder / f"log/boot.{name}").open("w")
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/root",
    }
    up = str(UPTIME_S * number_of(name))
    times = ["--monotonic", up, "--boottime", up] if "--time" in OF_NODE else []
    process = subprocess.Popen(
        [
            *("unshare", *OF_NODE, *times, "--fork", "--kill-child=KILL"),
            *("--propagation", "private", sys.executable, str(SELF), "node", str(folder), name),
        ],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=environment,
        start_new_session=True,
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: children.read_text().split(), 30, f"{name} has a first process")
    pid = children.read_text().split()[0]
    (folder / f"nodes/{name}.pid").write_text(pid)
    options = json.loads((folder / "options").read_text())
    connect(folder, name, pid, options)


def connect(folder: Path, name: str, pid: str, options: dict[str, Any]) -> None:
    """Make a node's link: a pair of virtual devices, or a relay that delays each frame."""
    call("ip", "link", "delete", name, check=False)  # the node's end goes with it
    relay = folder / f"nodes/{name}.relay"
    if relay.exists():
        os.kill(int(relay.read_text()), signal.SIGKILL)
        relay.unlink()
    enter = ["nsenter", "-t", pid, "--net"]
    gone = [*enter, "sh", "-c", "! grep -q eth0: /proc/net/dev && echo gone"]
    wait_until(lambda: call(*gone, check=False), 30, f"{name}'s link is removed")
    number = number_of(name)
    if options["delay_us"]:
        delayed = [sys.executable, str(SELF), "relay", str(folder), name, str(options["delay_us"])]
        none = subprocess.DEVNULL
        subprocess.Popen(delayed, stdin=none, stdout=none, stderr=none, start_new_session=True)
        wait_until(relay.exists, 30, f"{name}'s relay starts")
        call("ip", "link", "set", f"{name}x", "netns", pid, "name", "eth0")
    else:
        pair = ["type", "veth", "peer", "name", "eth0", "netns", pid]
        call("ip", "link", "add", "dev", name, *pair)
    for command in (
        f"link set lo up|link set eth0 address 02:00:00:00:00:{number:02x}",
        f"address add {address_of(name)}/24 dev eth0|link set eth0 up",
    ):
        for words in command.split("|"):
            call(*enter, "ip", *words.split())
    call("ip", "link", "set", name, "master", "br0", "up")
    if options["rate"]:
        limit = ["root", "tbf", "rate", options["rate"], "burst", "128k", "latency", "50ms"]
        call("tc", "qdisc", "add", "dev", name, *limit)  # what the node receives
        call(*enter, "tc", "qdisc", "add", "dev", "eth0", *limit)  # what it sends


def relay(folder: Path, name: str, delay_us: int) -> None:
    """Carry frames between a node and the bridge, each `delay_us` later.

    It stands for the queueing discipline netem, which not every kernel has.
    """
    ends = []
    for device in (name, f"{name}x"):
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        tap_without_header = 0x1002
        fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", device.encode(), tap_without_header))
        ends.append(end)
    (folder / f"nodes/{name}.relay").write_text(str(os.getpid()))
    os.nice(-30)
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: 1 ns
    held: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        timeout = max(0.0, held[0][0] - time.monotonic()) if held else None
        for end in select.select(ends, [], [], timeout)[0]:
            try:
                while frame := os.read(end, 65536):
                    count += 1
                    other = ends[1 - ends.index(end)]
                    heapq.heappush(held, (time.monotonic() + delay_us * 1e-6, count, other, frame))
            except OSError:  # none left
                pass
        while held and held[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(held)
            with contextlib.suppress(OSError):  # a link that is down loses the frame
                os.write(end, frame)


def node(folder: Path, name: str) -> None:
    """First process of a node: its own folders and daemons; then reaps."""
    options = json.loads((folder / "options").read_text())
    call("hostname", name)
    call("mount", "-t", "proc", "proc", "/proc")
    # slurmd does not start without control groups.
    groups = folder / f"nodes/{name}.groups"
    groups.mkdir(exist_ok=True)
    call("mount", "--rbind", "/sys/fs/cgroup", str(groups))
    call("mount", "-t", "sysfs", "sysfs", "/sys")
    call("mount", "--move", str(groups), "/sys/fs/cgroup")
    shm = options["shm"].get(name, "1g")
    for path, mode, size in (
        ("/run", "755", "64m"),
        ("/tmp", "1777", "1g"),
        ("/dev/shm", "1777", shm),
    ):
        call("mount", "-t", "tmpfs", "-o", f"mode={mode},size={size}", "node", path)
    if name in options["clock_s"]:
        set_clock(folder, name, options["clock_s"][name])
    for file in ("hosts", "passwd"):
        call("mount", "--bind", str(folder / "etc" / file), f"/etc/{file}")
    call("mount", "--bind", str(folder / "etc"), "/etc/slurm")
    if Path("/etc/hostname").exists():
        own = folder / f"nodes/{name}.hostname"
        own.write_text(name + "\n")
        call("mount", "--bind", str(own), "/etc/hostname")
    for path in ("/run/lock", "/run/munge", "/run/slurmd"):
        Path(path).mkdir(parents=True)
    wait_until(lambda: address_of(name) in call("ip", "address", "show", "up"), 60, "the link")
    call(
        "munged",
        "--force",
        "--socket=/run/munge/munge.socket.2",
        "--num-threads=1",
        "--pid-file=/run/munge/munged.pid",
        "--seed-file=/run/munge/seed",
        f"--key-file={folder}/etc/munge.key",
        f"--log-file={folder}/log/munged.{name}",
    )
    call("slurmctld" if name == "head" else "slurmd")
    (folder / f"nodes/{name}.booted").touch()
    reap_for_ever()


def set_clock(folder: Path, name: str, ahead_s: int) -> None:
    """Give a node another time of day, by a library that all its programs load."""
    library, own = folder / f"nodes/{name}.clock.so", folder / f"nodes/{name}.etc"
    source = str(SELF.with_name("clock.c"))
    call("cc", "-O2", "-shared", "-fPIC", f"-DAHEAD_S={ahead_s}", source, "-o", str(library))
    shutil.rmtree(own, ignore_errors=True)
    call("cp", "-a", "/etc", str(own))
    (own / "ld.so.preload").write_text(f"{library}\n")
    call("mount", "--bind", str(own), "/etc")


def main() -> None:
    """Run one of the commands."""
    command, *words = sys.argv[1:] or ["--help"]
    if command == "keep":
        keep(Path(words[0]), words[1], int(words[2]))
    elif command == "inside":
        inside(Path(words[0]), json.loads(words[1]))
    elif command == "node":
        node(Path(words[0]), words[1])
    elif command == "boot":
        boot(Path(words[0]), words[1])
    elif command == "connect":
        folder, name = Path(words[0]), words[1]
        pid = (folder / f"nodes/{name}.pid").read_text()
        connect(folder, name, pid, json.loads((folder / "options").read_text()))
    elif command == "relay":
        relay(Path(words[0]), words[1], int(words[2]))
    else:
        from cluster import command_line  # noqa: PLC0415 (the nodes start without it)

        sys.exit(command_line(command, words))


if __name__ == "__main__":
    main()
