# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of the job: their names and how many ranks each takes."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.placement.cost import Nodes


def parse_hosts(text: str, option: str) -> list[tuple[str, int | None]]:
    """Return names with the number of ranks, as in nodea:4,nodeb:4; without a number None.

    Examples
    --------
    >>> parse_hosts("nodea:4,nodeb", "--hosts")
    [('nodea', 4), ('nodeb', None)]
    """
    found: list[tuple[str, int | None]] = []
    for word in filter(None, re.split(r"[,\s]+", text)):
        match = re.fullmatch(r"([\w.-]+)(?::([1-9]\d*))?", word)
        if not match:
            raise TailraceError(
                f"{option} {word}: expected names of nodes, e.g. nodea,nodeb or nodea:4,nodeb:4",
                status=2,
            )
        found.append((match[1], int(match[2]) if match[2] else None))
    names = [name for name, _ in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice or not found:
        wrong = f"node {twice[0]} is named twice" if twice else "names no node"
        raise TailraceError(f"{option}: {wrong}", status=2)
    return found


def scheduled_hosts(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the nodes that Slurm or PBS gave this job, in its order; [] outside a job."""
    env = os.environ if environ is None else environ
    if env.get("SLURM_JOB_NODELIST") and shutil.which("scontrol", path=env.get("PATH")):
        done = subprocess.run(
            ["scontrol", "show", "hostnames", env["SLURM_JOB_NODELIST"]],
            capture_output=True,
            text=True,
            check=False,
            env=dict(env),
        )
        return done.stdout.split()
    if env.get("PBS_NODEFILE"):
        path = Path(env["PBS_NODEFILE"])
        try:
            return list(dict.fromkeys(path.read_text().split()))
        except OSError as error:
            raise TailraceError(f"PBS_NODEFILE {path}: {error.strerror}") from error
    return []


def make_nodes(
    num_ranks: int, per_node: int | None, hosts: Sequence[tuple[str, int | None]]
) -> tuple[Nodes, list[str]]:
    """Return the nodes that take `num_ranks` ranks, and their names ([] where there are none).

    Nodes are filled in their order; the last takes what is left. More nodes than are needed are
    left out.
    """
    if per_node is None and not (hosts and all(count for _, count in hosts)):
        raise TailraceError(
            "give the number of ranks per node: --ranks-per-node N, or --hosts nodea:N,nodeb:N",
            status=2,
        )
    rooms = [count or per_node or 0 for _, count in hosts]
    if not hosts:
        assert per_node
        rooms = [per_node] * -(-num_ranks // per_node)
    if sum(rooms) < num_ranks:
        raise TailraceError(
            f"{len(rooms)} nodes take {sum(rooms)} ranks, but there are {num_ranks}: "
            "name more nodes (--hosts) or more ranks for each (--ranks-per-node)",
            status=2,
        )
    capacities: list[int] = []
    left = num_ranks
    for room in rooms:
        if left:
            capacities.append(min(room, left))
            left -= capacities[-1]
    return Nodes(tuple(capacities)), [name for name, _ in hosts[: len(capacities)]]
