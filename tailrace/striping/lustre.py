# SPDX-License-Identifier: BSD-3-Clause
"""Lustre's layouts, through its own tool `lfs`.

The texts that `lfs` prints differ between versions; those of `tests/python/data/lfs` are recorded
from real ones.
"""

import re
import shutil
import subprocess
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.striping.layout import ALL_TARGETS, Component, Layout, parse_size

# "lmm_stripe_count:  4", "stripe_count:  1 stripe_size:   1048576 pattern:       0 ...", where the
# folder's line may begin with "(Default)" and have no value after "pattern:".
_FIELD = re.compile(r"(?:^|\s)(?:lmm_)?(stripe_count|stripe_size|pool|e_start|e_end):\s*([^\s:]+)")
_OBJECT = re.compile(r"l_ost_idx:\s*(\d+)")
_OBJECT_ROW = re.compile(r"^\s*(\d+)\s+\d+\s+0x[0-9a-f]+\s+\S+\s*$", re.IGNORECASE)
_OST = re.compile(r"^\s*\d+:\s+\S+\s+(\S+)\s*$")


def _run(*arguments: str) -> str:
    if shutil.which("lfs") is None:
        raise TailraceError("the path is on Lustre, but its tool lfs is not on PATH")
    command = ["lfs", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        raise TailraceError(f"{' '.join(command)}: no answer within 60 s") from None
    if done.returncode != 0:
        raise TailraceError(f"{' '.join(command)} failed: {' '.join(done.stderr.split())}")
    return done.stdout


def _blocks(text: str) -> list[str]:
    """Split an output at what begins a component; without components it is one block."""
    parts = re.split(r"(?m)^\s*lcme_id:", text)
    return parts[1:] if len(parts) > 1 else parts


def _component(block: str) -> Component | None:
    fields: dict[str, str] = {}
    targets = []
    for line in block.splitlines():
        line_fields = _FIELD.findall(line.replace("lcme_extent.", " "))
        if "stripe_count" in fields and any(name == "stripe_count" for name, _ in line_fields):
            break  # of a folder and its files, only what was asked for
        fields.update(line_fields)
        targets += [int(index) for index in _OBJECT.findall(line)]
        if row := _OBJECT_ROW.match(line):
            targets.append(int(row[1]))
    if "stripe_count" not in fields or "stripe_size" not in fields:
        return None
    count, size = int(fields["stripe_count"]), fields["stripe_size"]
    end = fields.get("e_end", "EOF")
    return Component(
        start=int(fields.get("e_start", "0")),
        end=None if end == "EOF" else int(end),
        stripe_count=ALL_TARGETS if count in (ALL_TARGETS, 0xFFFFFFFF, 0xFFFF) else count,
        stripe_bytes=parse_size(size, "lfs"),  # a few versions print "1M"
        targets=tuple(targets),
        pool=fields.get("pool", ""),
    )


def parse_getstripe(text: str) -> tuple[Component, ...]:
    """Return the components in what ``lfs getstripe`` printed for one path."""
    components = tuple(c for c in map(_component, _blocks(text)) if c is not None)
    if not components:
        raise TailraceError(f"lfs getstripe printed no layout: {text.strip()[:200]!r}")
    return components


def parse_osts(text: str) -> int:
    """Return the number of active targets in what ``lfs osts`` printed."""
    states = [found[1] for line in text.splitlines() if (found := _OST.match(line))]
    if not states:
        raise TailraceError(f"lfs osts printed no targets: {text.strip()[:200]!r}")
    return states.count("ACTIVE")


def count_targets(path: Path) -> int:
    """Return the number of active storage targets of the file system of `path`."""
    return parse_osts(_run("osts", str(path)))


def read_layout(path: Path) -> Layout:
    """Return the layout of a file, or the one that new files of a folder get."""
    is_folder = path.is_dir()
    components = parse_getstripe(_run("getstripe", *(["-d"] if is_folder else []), str(path)))
    return Layout(str(path), "lustre", is_folder, components)


def set_command(path: Path, count: int, size: int) -> list[str]:
    """Return the command that lays out `path`; 0 leaves count or size to the file system."""
    command = ["lfs", "setstripe"]
    command += ["--stripe-count", str(count)] if count else []
    command += ["--stripe-size", str(size)] if size else []
    return [*command, str(path)]


def set_layout(path: Path, count: int, size: int) -> None:
    """Lay out a folder, or a file that does not exist."""
    _run(*set_command(path, count, size)[1:])
