# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a launch: what `plugins/mpi/profile/launch.cpp` and the recorder wrote for each rank."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.launch.launcher import Launch as Launcher
from tailrace.profile.placement import BUSY, processors
from tailrace.profile.record import read_records
from tailrace.profile.records import require_all, why_none

VERSION = 1
NO_LIMIT = 2**60  # bytes; control groups of version 1 say a number instead of "max"


@dataclass(frozen=True)
class Rank:
    """One rank: `facts` as MPI_Init found them, the rest at its end."""

    facts: dict[str, Any]
    threads: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    wall_s: float = 0.0
    calls: dict[str, int] = field(default_factory=dict)  # of MPI's functions, that it made

    @property
    def rank(self) -> int:
        """Return its number."""
        return int(self.facts["rank"])

    @property
    def host(self) -> str:
        """Return the name of its node."""
        return str(self.facts["host"])

    def file(self, path: str) -> str:
        """Return what a file of the kernel held, "" if there is none."""
        return str(self.facts["files"].get(path, "")).strip()

    def status(self, key: str) -> str:
        """Return a line of /proc/self/status without its key."""
        found = re.search(rf"^{key}:\s*(.*)$", self.file("/proc/self/status"), re.MULTILINE)
        return found[1].strip() if found else ""

    @cached_property
    def allowed(self) -> list[int]:
        """Return the processors that its main thread may use."""
        return processors(self.status("Cpus_allowed_list"))

    @property
    def busy_threads(self) -> list[dict[str, Any]]:
        """Return the threads that worked for a fifth of the run and more."""
        return [one for one in self.threads if one["cpu_s"] > BUSY * self.wall_s > 0]

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of MPI, OpenMP, BLAS and malloc that were set for it."""
        return dict(self.facts["environment"])

    def setting(self, *names: str) -> int | None:
        """Return the first control variable of MPI that is known, as MPI_T gave it."""
        for name in names:
            if name in self.facts["settings"]:
                return int(self.facts["settings"][name])
        return None

    def library(self, pattern: str) -> str:
        """Return the path of the first loaded library whose file name matches."""
        for path in self.modules:
            if re.match(pattern, Path(path).name):
                return path
        return ""


@dataclass(frozen=True)
class Node:
    """One node with its ranks, by number; the first of them has the node's facts."""

    host: str
    ranks: list[Rank]

    def file(self, path: str) -> str:
        """Return what a file of the node held."""
        return next((text for one in self.ranks if (text := one.file(path))), "")

    @cached_property
    def allowed(self) -> list[int]:
        """Return the processors that any of the ranks may use."""
        return sorted({number for one in self.ranks for number in one.allowed})

    @cached_property
    def online(self) -> list[int]:
        """Return the processors of the node."""
        return processors(self.file("/sys/devices/system/cpu/online")) or self.allowed

    @cached_property
    def domains(self) -> list[list[int]]:
        """Return the processors of each NUMA domain."""
        pattern = re.compile(r"/sys/devices/system/node/node\d+/cpulist")
        paths = [path for path in self.ranks[0].facts["files"] if pattern.fullmatch(path)]
        return [found for path in paths if (found := processors(self.file(path)))]

    def core_of(self, processor: int) -> int:
        """Return the lowest processor of the core that a hardware thread belongs to."""
        text = self.file(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        return min(processors(text), default=processor)

    @cached_property
    def quota(self) -> float | None:
        """Return how many processors the control groups allow, if they limit them."""
        found = []
        files = self.ranks[0].facts["files"]
        for path, text in files.items():
            words = str(text).split()
            if path.endswith("/cpu.max") and len(words) == 2 and words[0] != "max":
                found.append(float(words[0]) / float(words[1]))
            if path.endswith("/cpu.cfs_quota_us") and words and int(words[0]) > 0:
                period = str(files.get(path.replace("quota", "period"), "100000"))
                found.append(float(words[0]) / float(period))
        return min(found, default=None)

    @cached_property
    def memory_limit(self) -> int | None:
        """Return the bytes that the control groups allow, if they limit them."""
        found = []
        for path, text in self.ranks[0].facts["files"].items():
            if path.endswith(("/memory.max", "/memory.limit_in_bytes")) and str(text).strip():
                word = str(text).strip()
                found.append(NO_LIMIT if word == "max" else int(word))
        least = min(found, default=NO_LIMIT)
        return least if least < NO_LIMIT else None

    @property
    def room(self) -> float:
        """Return how many processors the ranks have, at most."""
        return min(float(len(self.allowed)), self.quota or float("inf"))

    @property
    def busy(self) -> int:
        """Return how many threads want a processor: busy ones, and each rank at least one."""
        return sum(max(1, len(one.busy_threads)) for one in self.ranks)


@dataclass(frozen=True)
class Launch:
    """All ranks of a run."""

    ranks: list[Rank]
    wanted: int  # ranks that were asked for
    launcher: str = ""  # that started them, as `launcher_name` calls it

    @cached_property
    def nodes(self) -> list[Node]:
        """Return the nodes, in the order of their first ranks."""
        hosts = dict.fromkeys(one.host for one in self.ranks)
        return [Node(host, [one for one in self.ranks if one.host == host]) for host in hosts]

    @property
    def mpi(self) -> str:
        """Return what the MPI library says it is, its first words."""
        text = str(self.ranks[0].facts["mpi"])
        found = re.match(r"MPICH Version:\s*([\d.]+\w*?)(?=MPICH|$)", text)
        return f"MPICH {found[1]}" if found else text.split(",", maxsplit=1)[0]

    @property
    def family(self) -> str:
        """Return "Open MPI", "MPICH" or "" for another library."""
        return next((name for name in ("Open MPI", "MPICH") if name in self.mpi), "")


def launcher_name(launch: Launcher) -> str:
    """Return "srun", or what else `tailrace.launch.launcher` calls the launcher."""
    return "srun" if launch.prefix and Path(launch.prefix[0]).name == "srun" else launch.kind


def launch_of_run(folder: Path, wanted: int, program: str, launcher: str) -> Launch:
    """Return what all ranks of a run left in `folder`; complains if some or all left nothing."""
    found = read_launch(folder, wanted, launcher)
    if found is None:
        raise TailraceError(why_none(program, folder))
    of_job = int(found.ranks[0].facts["ranks"])
    require_all(len(found.ranks), of_job, of_job, program, folder)
    return found


def read_launch(folder: Path, wanted: int, launcher: str = "") -> Launch | None:
    """Return what the ranks of a run left in `folder`; None if they left nothing."""
    at_end = {record.rank: record for record in read_records(folder)}
    ranks = []
    for path in sorted(folder.glob("rank-*.launch")):
        try:
            facts = json.loads(path.read_text(errors="replace"))
            if facts["version"] != VERSION:
                raise ValueError(f"of version {facts['version']}")
        except (OSError, ValueError, KeyError) as error:
            raise TailraceError(f"{path}: cannot be read as facts of a rank: {error}") from error
        record = at_end.get(int(facts["rank"]))
        if record is None:  # it ended without a record
            ranks.append(Rank(facts))
            continue
        calls: Counter[str] = Counter()
        for row in record.rows:
            calls[row.name] += row.count
        ranks.append(
            Rank(
                facts,
                record.facts.get("placement", []),
                record.facts.get("usage", {}),
                [str(module["path"]) for module in record.facts["modules"]],
                record.wall_s,
                dict(calls),
            )
        )
    return Launch(ranks, wanted, launcher) if ranks else None
