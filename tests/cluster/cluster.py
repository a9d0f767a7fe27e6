# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of namespaces as tests use it: start it, run commands on its nodes, break its parts."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rig

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TAILRACE_BIN_DIR") or ROOT / "build/release")
IMPOSSIBLE = 77
SETTINGS = {
    # Ranks are more than processors: those that wait leave theirs to others.
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMP_NUM_THREADS": "1",
    "TAILRACE_TUNE": "off",
}


class ImpossibleError(Exception):
    """A cluster cannot be made on this machine; the text says why."""


@dataclass(frozen=True)
class Options:
    """What a cluster is made of. `shm` and `clock_s` are for single nodes."""

    nodes: int = 4
    cpus: int = 4
    rate: str = ""  # of each link, each way, as tc writes it: 1gbit
    delay_us: int = 0  # of each frame, between a node and the switch
    shared: str = "2g"
    shm: dict[str, str] = field(default_factory=dict)  # sizes of /dev/shm
    clock_s: dict[str, int] = field(default_factory=dict)  # how much nodes' times of day are ahead
    mpi: str = "pmix"
    users: list[str] = field(default_factory=list)  # besides root; home folders are shared
    conf: list[str] = field(default_factory=list)  # more lines of slurm.conf
    topology: list[str] = field(default_factory=list)  # lines of topology.conf: switches of a tree

    def as_json(self) -> str:
        return json.dumps(vars(self))


class Cluster:
    """A running cluster. It ends with `close`, or when the process that started it ends."""

    def __init__(self, state: Mapping[str, Any], keeper: "subprocess.Popen[str] | None" = None):
        self.folder = Path(state["folder"])
        self.shared = self.folder / "shared"  # as the nodes see it
        self._pid = int(state["pid"])
        self._keeper = keeper

    @staticmethod
    def start(options: Options | None = None, tied_to: int = 0) -> "Cluster":
        """Start a cluster; it ends with this process, or with the process `tied_to`."""
        options = options or Options()
        reason = rig.missing()
        if reason:
            raise ImpossibleError(reason)
        # Not in /tmp, of which each node has its own.
        folder = tempfile.mkdtemp(prefix="tailrace-cluster-", dir="/var/tmp")
        words = [sys.executable, str(rig.SELF), "keep", folder, options.as_json(), str(tied_to)]
        keeper = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL if tied_to else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if tied_to else None,
            text=True,
            start_new_session=True,
        )
        assert keeper.stdout is not None
        line = keeper.stdout.readline()
        if not line.startswith("{"):
            keeper.wait()
            raise RuntimeError(f"the cluster does not start: {line.strip()}")
        cluster = Cluster(json.loads(line), keeper)
        try:
            cluster.wait_until_ready([f"n{number + 1}" for number in range(options.nodes)])
        except BaseException:
            cluster.close()
            raise
        return cluster

    @property
    def state(self) -> dict[str, Any]:
        keeper = self._keeper.pid if self._keeper else 0
        return {"pid": self._pid, "folder": str(self.folder), "keeper": keeper}

    def close(self) -> None:
        """End the cluster and wait until nothing of it is left."""
        if self._keeper is not None:
            self._keeper.terminate()
            self._keeper.wait(timeout=30)

    def outside(self, path: Path | str) -> Path:
        """Return the path by which this process reads a file that the head sees as `path`."""
        return Path(f"/proc/{self._pid}/root") / str(path).lstrip("/")

    # ---- commands ----

    def _enter(self, *words: str) -> list[str]:
        return ["nsenter", "-t", str(self._pid), *rig.NAMESPACES, "--", *words]

    def words_on(self, node: str, *words: str, cwd: Path | None = None) -> list[str]:
        """Return the command that runs `words` on a node, in the shared folder."""
        pid = self.outside(self.folder / f"nodes/{node}.pid").read_text()
        there = ["sh", "-c", 'cd "$0" && exec "$@"', str(cwd or self.shared), *words]
        return self._enter("nsenter", "-t", pid, *rig.OF_NODE, "--", *there)

    def on(
        self,
        node: str,
        *words: str | Path,
        cwd: Path | None = None,
        timeout: float | None = 300,
        check: bool = False,
        **environment: str,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on a node to its end."""
        done = subprocess.run(
            self.words_on(node, *map(str, words), cwd=cwd),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment_of(node, **environment),
            check=False,
        )
        if check:
            assert done.returncode == 0, f"{words}:\n{done.stdout}{done.stderr}"
        return done

    def srun(
        self,
        hosts: Mapping[str, int],
        *words: str | Path,
        timeout: float | None = 300,
        **environment: str,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program with ranks on each node as `hosts` says, numbered in its order."""
        names = [node for node, ranks in hosts.items() for _ in range(ranks)]
        with tempfile.NamedTemporaryFile("w", dir=self.outside(self.shared)) as file:
            file.write("\n".join(names) + "\n")
            file.flush()
            return self.on(
                "head",
                "srun",
                f"--nodes={len(hosts)}",
                f"--ntasks={len(names)}",
                "--distribution=arbitrary",
                "--kill-on-bad-exit=1",
                *words,
                timeout=timeout,
                SLURM_HOSTFILE=str(self.shared / Path(file.name).name),
                **environment,
            )

    def as_user(
        self, user: str, node: str, *words: str, timeout: float = 300
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command as one of the cluster's users, in the home folder, as after a login."""
        home = self.shared / "home" / user
        owner = self.outside(home).stat().st_uid
        kept = {name: text for name, text in SETTINGS.items() if name.startswith("OMPI_MCA")}
        kept |= {"HOME": str(home), "USER": user, "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        kept |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOSTNAME": node}
        login = ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups", "env", "-i"]
        login += [f"{name}={text}" for name, text in kept.items()]
        return self.on(node, *login, *words, cwd=home, timeout=timeout)

    def script(self, name: str, text: str) -> Path:
        """Write a script into the shared folder; return its path there."""
        path = self.shared / name
        self.outside(path).write_text(text)
        self.outside(path).chmod(0o755)
        return path

    # ---- jobs ----

    def sbatch(self, *words: str | Path, **environment: str) -> str:
        """Submit a job and return its number."""
        done = self.on("head", "sbatch", "--parsable", *words, check=True, **environment)
        return done.stdout.strip()

    def job(self, number: str) -> dict[str, str]:
        """Return what Slurm knows about a job."""
        text = self.on("head", "scontrol", "show", "job", number, check=True).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait_for_job(self, number: str, *states: str, timeout: float = 300) -> dict[str, str]:
        """Wait until a job is in one of the states (default: has ended)."""
        ends = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")
        found: dict[str, str] = {}

        def there() -> bool:
            found.clear()
            found.update(self.job(number))
            return found.get("JobState") in (states or ends)

        wait(there, timeout, lambda: f"job {number} becomes {states or ends}: {found}")
        return found

    # ---- parts that break, and heal ----

    def power_off(self, node: str) -> None:
        """Cut a node's link, then kill all its processes."""
        self._call("ip", "link", "delete", node)
        pid = self.outside(self.folder / f"nodes/{node}.pid")
        self._call("kill", "-KILL", pid.read_text())
        pid.unlink()

    def power_on(self, node: str) -> None:
        """Boot a node that was switched off."""
        self._call(sys.executable, str(rig.SELF), "boot", str(self.folder), node)
        booted = self.outside(self.folder / f"nodes/{node}.booted")
        wait(booted.exists, 60, lambda: f"{node} boots")
        self.wait_until_ready([node])

    def set_link(self, node: str, *, up: bool) -> None:
        """Take a node's link down, or up again."""
        self._call("ip", "link", "set", node, "up" if up else "down")

    def set_links(self, rate: str = "", delay_us: int = 0) -> None:
        """Change the rate and the delay of all links."""
        path = self.outside(self.folder / "options")
        options = {**json.loads(path.read_text()), "rate": rate, "delay_us": delay_us}
        path.write_text(json.dumps(options))
        for node in sorted(p.stem for p in path.parent.glob("nodes/*.pid")):
            self._call(sys.executable, str(rig.SELF), "connect", str(self.folder), node)

    def resize(self, size: str) -> None:
        """Change the size of the shared folder, for example to make it full."""
        self._call("mount", "-o", f"remount,size={size}", str(self.shared))

    def _call(self, *words: str) -> None:
        done = subprocess.run(
            self._enter(*words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"

    def wait_until_ready(self, nodes: list[str]) -> None:
        """Wait until Slurm can start jobs on the nodes."""

        def ready() -> bool:
            said = self.on("head", "sinfo", "-h", "-N", "-n", ",".join(nodes), "-o", "%t").stdout
            return said.split() == ["idle"] * len(nodes)

        wait(ready, 60, lambda: self.on("head", "sinfo", "-N").stdout)

    def processes(self, node: str) -> list[str]:
        """Return the command lines on a node, without those of the node itself."""
        said = self.on(node, "ps", "-e", "-o", "pid=,args=", check=True).stdout
        own = ("munged", "slurmd", "slurmctld", "ps -e", str(rig.SELF), "sh -c", "sleep")
        return [line for line in said.splitlines() if not any(word in line for word in own)]

    def left_over(self, node: str) -> list[str]:
        """Return shared memory on a node, and processes that are not the node's own."""
        said = self.on(node, "ls", "-A", "/dev/shm", check=True).stdout
        return [*said.split(), *self.processes(node)]


def wait(condition: Callable[[], bool], seconds: float, what: Callable[[], str]) -> None:
    """Poll a condition; fail with a text after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what()}"
        time.sleep(0.1)


def environment_of(node: str, **more: str) -> dict[str, str]:
    """Return the environment of a command on a node."""
    drop = ("SLURM", "PMI", "OMPI", "PYTEST", "TAILRACE")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(drop)}
    kept["PATH"] = f"{ROOT}/.venv/bin:{kept.get('PATH', '')}:/usr/sbin:/sbin"
    kept["TAILRACE_BIN_DIR"] = str(BUILD)
    return {**kept, **SETTINGS, "HOSTNAME": node, **more}


def _of_programs(made: Cluster) -> dict[str, str]:
    """Return the environment of test programs, whose ranks share temporary files."""
    shared = made.shared / "tmp"
    made.outside(shared).mkdir(exist_ok=True)
    more = {k: v for k, v in os.environ.items() if k.startswith(("TAILRACE_", "OMPI_"))}
    return {**more, "TMPDIR": str(shared), "OMPI_MCA_orte_tmpdir_base": "/tmp"}


def hosts_of(text: str) -> dict[str, int]:
    """Return ranks of nodes from n1:3,n2:1."""
    pairs = (part.split(":") for part in text.split(","))
    return {node: int(ranks) for node, ranks in pairs}


def command_line(command: str, words: list[str]) -> int:
    """Run a command of rig.py that is meant for people and for ctest."""
    if command not in ("up", "down", "on", "run") or not words:
        print(rig.__doc__)
        return 0 if command in ("-h", "--help") else 2
    state = Path(words[0])
    try:
        if command == "up":
            state.unlink(missing_ok=True)
            made = Cluster.start(tied_to=os.getppid())
            state.write_text(json.dumps(made.state))
            return 0
        return _with_running(command, state, words[1:])
    except ImpossibleError as error:
        print(f"no cluster of namespaces here: {error}", file=sys.stderr)
        return IMPOSSIBLE


def _with_running(command: str, state: Path, words: list[str]) -> int:
    """Run a command that needs a running cluster."""
    if not state.exists():
        reason = rig.missing()
        if reason:
            raise ImpossibleError(reason)
        if command == "down":  # again, as `ctest --repeat` does
            return 0
        print(f"no cluster is up: {state}", file=sys.stderr)
        return 2
    described = json.loads(state.read_text())
    if command == "down":
        state.unlink()
        os.kill(described["keeper"], 15)
        wait(lambda: not Path(described["folder"]).exists(), 30, lambda: "the cluster ends")
        return 0
    made = Cluster(described)
    more = _of_programs(made)
    if command == "on":
        done = made.on(words[0], *words[1:], timeout=None, **more)
    else:
        done = made.srun(hosts_of(words[0]), *words[1:], timeout=None, **more)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode
