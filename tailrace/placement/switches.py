# SPDX-License-Identifier: BSD-3-Clause
"""Which switch each node is connected to, as Slurm knows it.

Three texts say the same: topology.conf, what `scontrol show topology` prints, and topology.yaml of
Slurm 25 and newer. Only trees are read; of a leaf switch its nodes are known, of another one its
switches.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tailrace.errors import TailraceError
from tailrace.placement.cost import Nodes, node_of_ranks
from tailrace.placement.traffic import Ints, Traffic

FROM_SLURM = "slurm"


@dataclass
class _Switch:
    nodes: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)


def expand(text: str) -> list[str]:
    """Return the names of a list as Slurm writes it.

    Examples
    --------
    >>> expand("n[1-3,07],gpu2")
    ['n1', 'n2', 'n3', 'n07', 'gpu2']
    """
    found: list[str] = []
    for word in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = re.fullmatch(r"([^\[]*)\[([\d,-]+)\](.*)", word)
        if not match:
            found.append(word)
            continue
        for part in match[2].split(","):
            first, _, last = part.partition("-")
            numbers = range(int(first), int(last or first) + 1)
            names = [f"{match[1]}{number:0{len(first)}}{match[3]}" for number in numbers]
            found += [name for one in names for name in expand(one)]
    return found


def _of_lines(text: str) -> dict[str, _Switch]:
    found: dict[str, _Switch] = {}
    for line in text.replace("\\\n", " ").splitlines():
        words = dict(re.findall(r"(\w+)=(\S*)", line.partition("#")[0]))
        said = {key.lower(): value for key, value in words.items()}
        if "switchname" not in said:
            continue
        below = expand(said.get("switches", ""))
        nodes = [] if below else expand(said.get("nodes", ""))  # scontrol names those below, too
        found[said["switchname"]] = _Switch(nodes, below)
    return found


def _of_yaml(text: str) -> dict[str, _Switch]:
    """Return the switches of the first topology that is a tree."""
    found: dict[str, _Switch] = {}
    switch: _Switch | None = None
    in_tree = False
    for line in text.splitlines():
        match = re.match(r"\s*(?:-\s+)?(\w+):\s*\"?([^\"#]*)", line)
        if not match:
            continue
        key, value = match[1], match[2].strip()
        if key == "topology" and found:
            break
        in_tree = key == "tree" or (in_tree and key not in ("topology", "block", "flat"))
        if in_tree and key == "switch":
            switch = found.setdefault(value, _Switch())
        elif in_tree and switch is not None and key in ("nodes", "children"):
            (switch.nodes if key == "nodes" else switch.switches).extend(expand(value))
    return found


def leaves(text: str) -> dict[str, list[str]]:
    """Return the nodes of each leaf switch; leaves of one parent follow one another."""
    switches = _of_lines(text) or _of_yaml(text)
    children = {name for switch in switches.values() for name in switch.switches}
    found: dict[str, list[str]] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        switch = switches.get(name)
        if switch is None or name in above or name in found:
            return
        if switch.nodes:
            found[name] = switch.nodes
        for child in switch.switches:
            visit(child, (*above, name))

    for name in switches:
        if name not in children:
            visit(name, ())
    return found


def read_topology(source: str) -> dict[str, list[str]]:
    """Return the leaf switches of a file, or of the running Slurm for "slurm"."""
    if source == FROM_SLURM:
        if shutil.which("scontrol") is None:
            raise TailraceError("--topology slurm: scontrol was not found", status=2)
        done = subprocess.run(
            ["scontrol", "show", "topology"], capture_output=True, text=True, check=False
        )
        text, name = done.stdout, "scontrol show topology"
    else:
        try:
            text, name = Path(source).read_text(), source
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "is not text"
            raise TailraceError(f"--topology {source}: {why}", status=2) from error
    found = leaves(text)
    if not found:
        raise TailraceError(
            f"--topology {source}: {name} contains no tree of switches (SwitchName=... Nodes=..., "
            "or topology.yaml with tree:)",
            status=2,
        )
    return found


def switch_of_nodes(switches: dict[str, list[str]], names: Sequence[str]) -> list[int]:
    """Return the number of the leaf switch of each node."""
    of_node = {node: i for i, nodes in enumerate(switches.values()) for node in nodes}
    missing = [name for name in names if name not in of_node]
    if missing:
        raise TailraceError(f"--topology: node {missing[0]} is at no switch", status=2)
    return [of_node[name] for name in names]


def between_switches(traffic: Traffic, order: Ints, rooms: Nodes, switch: Sequence[int]) -> float:
    """Return the bytes of one exchange that leave the switch of their sender's node."""
    of_rank = np.asarray(switch)[node_of_ranks(order, rooms)]
    off = of_rank[traffic.sender] != of_rank[traffic.receiver]
    return float(traffic.bytes[off].sum())
