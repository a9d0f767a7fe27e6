# SPDX-License-Identifier: BSD-3-Clause
"""What the user can ask of a benchmark; each takes the part that it knows."""

from dataclasses import dataclass, field
from pathlib import Path

FULL_SIZES = [8, 64, 512, 4096, 32768, 262144, 2097152, 16777216, 67108864]  # bytes, "full"


@dataclass(frozen=True)
class IoOptions:
    """What only the bench of files knows."""

    folders: list[Path] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)  # "segmented", "blocks3d:slabs", ...
    blocks: list[int] = field(default_factory=list)  # bytes
    transfer: int = 0  # bytes of a call where each piece is a call; 0 = a block
    total_bytes: int = 0
    entries: list[str] = field(default_factory=list)  # parts of their names
    hints: str = ""  # of ours, "name=value:name=value"
    wrapper: str = ""  # put before the driver
    read: bool = False
    count: bool = False  # count system calls in place of measuring


@dataclass(frozen=True)
class MovingOptions:
    """What only the benches of exchanges and reductions know."""

    sizes: list[int] = field(default_factory=list)  # bytes: of a pair of ranks, or of a vector
    patterns: list[str] = field(default_factory=list)  # of exchanges; operations of reductions
    methods: list[str] = field(default_factory=list)  # beside those of the table
    entries: list[str] = field(default_factory=list)  # parts of their names
    nodes: int = 1  # made up on this machine


@dataclass(frozen=True)
class Options:
    """Empty lists and zeros mean the bench's own choice."""

    sizes: list[int] = field(default_factory=list)  # points along an edge
    ranks: list[int] = field(default_factory=list)
    rounds: int = 5
    repeats: int = 5  # timed runs within one process
    precision: str = "double"
    kind: str = "r2c"  # of transforms, or "c2c"
    shapes: list[str] = field(default_factory=list)  # of transforms: "cube", "2d", "cosine", ...
    fields: int = 1  # transformed in one call
    grid: str = ""  # of ranks: "slabs", "pencils"
    kernels: list[str] = field(default_factory=list)
    method: str = "auto"
    threads: int = 1
    other_libraries: bool = True
    bus: float = 0  # bytes per second that another process moves meanwhile
    folder: Path = Path("bench-output")  # where files are written
    cache: Path = Path("build/bench-cache")  # planning records of other libraries
    throttle: str = ""  # bytes per second of a slowed disk; "" = the disk as it is
    compress: str = ""  # how files of `output` are compressed, "deflate:1;deflate:1 digits=3"
    field_file: str = ""  # where the field of `output` comes from, "FILE:ARRAY"; "": made up
    steps: int = 4
    compute_s: float = 0.7
    compute: str = "work"  # or "sleep"
    io: IoOptions = field(default_factory=IoOptions)
    moving: MovingOptions = field(default_factory=MovingOptions)
