# SPDX-License-Identifier: BSD-3-Clause
"""What the user can ask of a bench; each bench takes the part that it knows."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """Empty lists and zeros mean the bench's own choice."""

    sizes: list[int] = field(default_factory=list)  # points along an edge
    ranks: list[int] = field(default_factory=list)
    rounds: int = 5
    repeats: int = 5  # timed runs within one process
    precision: str = "double"
    kernels: list[str] = field(default_factory=list)
    method: str = "auto"
    threads: int = 1
    peers: bool = True
    folder: Path = Path("bench-output")  # where files are written
    cache: Path = Path("build/bench-cache")  # planning records of peers
    throttle: str = ""  # bytes per second of a slowed disk; "" = the disk as it is
    steps: int = 4
    compute_s: float = 0.7
    compute: str = "work"  # or "sleep"
    fluidsim_python: str = ""
