# SPDX-License-Identifier: BSD-3-Clause
"""XDMF files that show the snapshots of an HDF5File to ParaView and VisIt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np

from tailrace.errors import InvalidInput

_NUMBERS = {"f": "Float", "i": "Int", "u": "UInt"}


def generate_xdmf(h5filename: Any, periodic: Any = True, order: str = "paraview") -> None:
    """Write FILE.xdmf for whole 2D and 3D arrays of `h5filename`, and one for each set of slices.

    `order`: "paraview" (components x, y, z as they are) or "visit" (axes reversed). `periodic` is
    accepted: the point that closes a period is not added. Call it on one rank.
    """
    import h5py  # noqa: PLC0415

    if order.lower() not in ("paraview", "visit"):
        raise InvalidInput(f"generate_xdmf: order '{order}' must be 'paraview' or 'visit'")
    path = Path(h5filename)
    sets: dict[str, list[Any]] = {}
    with h5py.File(path, "r") as file:
        for name, group in file.items():
            for kind in ("2D", "3D"):
                for words, holder in _holders(group.get(kind)):
                    if not np.issubdtype(next(iter(holder.values())).dtype, np.complexfloating):
                        sets.setdefault(f"{kind}{words}", []).append((name, words, holder, group))
        for key, members in sets.items():
            words = key[2:]
            whole = len(members[0][3].attrs["shape"]) == int(key[0])
            target = path.with_suffix(".xdmf")
            if words or not whole:
                target = path.with_name(f"{path.stem}_{words.strip('/')}.xdmf")
            _write(target, path, members, order.lower())


def _holders(kind: Any) -> list[tuple[str, Any]]:
    """Return the groups of snapshots, with the words of their slices."""
    if kind is None:
        return []
    numbered = [key for key in kind if re.fullmatch(r"\d+", key)]
    found = [("", kind)] if numbered else []
    return found + [(f"/{key}", kind[key]) for key in kind if key not in numbered]


def _steps(holder: Any) -> list[int]:
    return sorted(int(key) for key in holder if re.fullmatch(r"\d+", key))


def _axes(group: Any, words: str) -> list[tuple[float, float]]:
    """Return origin and spacing of each axis that the arrays have."""
    shape = group.attrs["shape"]
    kept = [w == "slice" for w in words.strip("/").split("_")] if words else [True] * len(shape)
    places = []
    for axis, n in enumerate(shape):
        if not kept[axis]:
            continue
        if "mesh" in group:
            points = group[f"mesh/x{axis}"][...]
            spacing = float(points[1] - points[0]) if len(points) > 1 else 1.0
            places.append((float(points[0]), spacing))
        else:
            origin, length = group[f"domain/x{axis}"][...]
            places.append((float(origin), float(length) / int(n)))
    return places


def _write(target: Path, path: Path, members: list[Any], order: str) -> None:
    root = Xml.Element("Xdmf", Version="3.0")
    series = Xml.SubElement(
        Xml.SubElement(root, "Domain"), "Grid", GridType="Collection", CollectionType="Temporal"
    )
    steps = sorted({step for _, _, holder, _ in members for step in _steps(holder)})
    for step in steps:
        there = [member for member in members if str(step) in member[2]]
        _, words, _, group = there[0]
        axes = _axes(group, words)
        rank = int(group.attrs["rank"])
        shape = there[0][2][str(step)].shape[rank:]
        grid = Xml.SubElement(series, "Grid", GridType="Uniform")
        Xml.SubElement(grid, "Time", Value=str(step))
        dims = " ".join(map(str, shape))
        Xml.SubElement(grid, "Topology", TopologyType=f"{len(shape)}DCoRectMesh", Dimensions=dims)
        kind = "ORIGIN_DXDYDZ" if len(shape) == 3 else "ORIGIN_DXDY"
        geometry = Xml.SubElement(grid, "Geometry", GeometryType=kind)
        for values in zip(*axes, strict=True):
            item = Xml.SubElement(geometry, "DataItem", Format="XML", Dimensions=str(len(shape)))
            item.text = " ".join(repr(v) for v in (values if order == "paraview" else values[::-1]))
        for name, own_words, holder, _ in there:
            _attributes(grid, path, name, own_words, holder[str(step)], shape)
    Xml.indent(root)
    text = '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode")
    target.write_text(text + "\n")


def _attributes(grid: Any, path: Path, name: str, words: str, data: Any, shape: Any) -> None:
    """Add a scalar for each component of a dataset."""
    number = _NUMBERS[data.dtype.kind]
    lead = data.shape[: data.ndim - len(shape)]
    for index in np.ndindex(lead):
        label = name + words.replace("/", "_") + "".join(map(str, index))
        attribute = Xml.SubElement(grid, "Attribute", Name=label, Center="Node")
        where = f"{path.name}:{data.name}"
        dims = " ".join(map(str, shape))
        kind: dict[str, Any] = {"NumberType": number, "Precision": str(data.dtype.itemsize)}
        if not lead:
            item = Xml.SubElement(attribute, "DataItem", Format="HDF", Dimensions=dims, **kind)
            item.text = where
            continue
        slab = Xml.SubElement(attribute, "DataItem", ItemType="HyperSlab", Dimensions=dims)
        table = Xml.SubElement(slab, "DataItem", Format="XML", Dimensions=f"3 {data.ndim}")
        rows = ([*index, *[0] * len(shape)], [1] * data.ndim, [1] * len(lead) + list(shape))
        table.text = " ".join(str(n) for row in rows for n in row)
        whole = " ".join(map(str, data.shape))
        item = Xml.SubElement(slab, "DataItem", Format="HDF", Dimensions=whole, **kind)
        item.text = where
