# SPDX-License-Identifier: BSD-3-Clause
"""Which members of archived Zarr stores (versions 2 and 3) a variable or a box of it needs.

A store is a folder, and each chunk or shard a file: what is restored is a store without the others,
which readers take for the fill value.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tailrace.archive.box import parse_box
from tailrace.archive.copies import wait_staged
from tailrace.archive.index import Found
from tailrace.archive.opened import Archive
from tailrace.archive.packed import content_of
from tailrace.archive.plan import newest_of, sources_of
from tailrace.archive.variable import Variable
from tailrace.errors import TailraceError

#: Files with the description of an array or a group.
DESCRIPTIONS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")


def members_of(archive: Archive, path: str, variables: list[str], box: str) -> list[Found]:
    """Return the members, descriptions of all groups above included."""
    found: dict[str, Found] = {}
    for each in newest_of(archive.index.find(path), lambda _found: True):
        folder, _, name = each.entry.path.rpartition("/")
        if name not in ("zarr.json", ".zarray"):
            continue
        if not any(folder == f"/{v}" or folder.endswith(f"/{v}") for v in variables):
            continue
        description = json.loads(_content(archive, each))
        if name == "zarr.json" and description.get("node_type") != "array":
            continue
        for member in _array(archive, folder, description, box):
            found[member.entry.path] = member
        for member in _above(archive, folder, os.path.dirname(path)):  # noqa: PTH120
            found[member.entry.path] = member
    return list(found.values())


def _content(archive: Archive, found: Found) -> bytes:
    bundle, entry = archive.index.bundle(found.bundle), found.entry
    for name in sources_of(bundle, [place.name for place in archive.config.places]):
        target = archive.target(name)
        wait_staged(target, [bundle.key])
        return content_of(target, bundle.key, entry).read(0, entry.size)
    raise TailraceError(f"{entry.path}: no copy can be read")


def _above(archive: Archive, folder: str, top: str) -> Iterator[Found]:
    while folder not in (top, "/", ""):
        for name in DESCRIPTIONS:
            found = archive.index.newest(f"{folder}/{name}")
            if found is not None:
                yield found
        folder = os.path.dirname(folder)  # noqa: PTH120


def _array(archive: Archive, folder: str, row: dict[str, Any], box: str) -> Iterator[Found]:
    """Yield the chunks that a box needs."""
    if "zarr_format" in row and row["zarr_format"] == 2:
        chunk, start, names = row["chunks"], "", []
        separator = row.get("dimension_separator", ".")
    else:
        chunk = row["chunk_grid"]["configuration"]["chunk_shape"]
        encoding = row.get("chunk_key_encoding", {"name": "default"})
        default = "/" if encoding["name"] == "default" else "."
        separator = encoding.get("configuration", {}).get("separator", default)
        start = f"c{separator}" if encoding["name"] == "default" else ""
        names = [str(name or "") for name in row.get("dimension_names") or []]
    shape = tuple(row["shape"])
    letters = [*"zyx"[-len(shape) :]] if 0 < len(shape) <= 3 else [""] * len(shape)
    variable = Variable(folder, "|u1", shape, np.empty((0, 4), np.int64), axes=names or letters)
    ranges = [
        (first // size, (last - 1) // size)
        for (first, last), size in zip(parse_box(box, variable), chunk, strict=True)
    ]
    for found in newest_of(archive.index.find(folder), lambda _found: True):
        name = found.entry.path[len(folder) + 1 :]
        if not name.startswith(start):
            continue
        places = name[len(start) :].split(separator)
        if len(places) != len(ranges) or not all(place.isdigit() for place in places):
            continue
        if all(a <= int(place) <= b for place, (a, b) in zip(places, ranges, strict=True)):
            yield found
