# SPDX-License-Identifier: BSD-3-Clause
"""Commands whose ranks run on several "nodes" of this machine, see bench/fake_cluster.sh."""

import subprocess
from pathlib import Path

from tailrace.benchmarks.clone import require_clone
from tailrace.benchmarks.drivers import Command, parallel
from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT

SCRIPT = SOURCE_ROOT / "bench" / "fake_cluster.sh"


def hosts(ranks: int, nodes: int) -> str:
    """Return ``node1:3,node2:2`` for 5 ranks on 2 nodes: as even as can be."""
    if nodes > ranks:
        raise TailraceError(f"--nodes {nodes}: there are only {ranks} ranks", status=2)
    shares = [ranks // nodes + (node < ranks % nodes) for node in range(nodes)]
    return ",".join(f"node{node + 1}:{share}" for node, share in enumerate(shares))


def check() -> None:
    """Raise `TailraceError` if nodes cannot be made up on this machine."""
    require_clone("--nodes")
    done = subprocess.run([SCRIPT, "--check"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TailraceError(f"--nodes: {done.stderr.strip() or 'fake_cluster.sh does not run'}")


def on_nodes(ranks: int, nodes: int, program: Path, words: list[str]) -> Command:
    """Return the command that starts `program` on `ranks` ranks of `nodes` nodes."""
    if nodes == 1:
        return parallel(ranks, program, words)
    environment = {"OMP_NUM_THREADS": "1"}
    return Command([str(SCRIPT), "--nodes", hosts(ranks, nodes), str(program), *words], environment)
