# SPDX-License-Identifier: BSD-3-Clause
"""References to the bytes of a series, for readers of Zarr: Kerchunk's files of references.

A reader with such a file needs no HDF5 and opens no file but those whose bytes it asks for, also
from an object store. docs/files.md shows how.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tailrace.errors import TailraceError
from tailrace.files import replaced

Refs = dict[str, Any]

# Attributes that HDF5 and netCDF keep for what they note about dimensions.
_OF_HDF5 = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_FillValue"}
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


@dataclass(frozen=True)
class _Step:
    """A step: its file, relative to the folder of the index, and its place in a file of several."""

    file: str
    row: int | None


@dataclass(frozen=True)
class _Place:
    """Where the bytes of a step of an array lie that is not compressed."""

    file: str
    offset: int


# Readers of Zarr need about as long for each chunk as for reading a megabyte.
CHUNK_BYTES = 1 << 20
# Steps that do not follow each other in a file are copied, so that they are in one chunk.
_COPIED_BYTES = 16 << 20


def references(
    series: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    folder: str | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> Refs:
    """Return the references of the index `series` of `Output`, and write them to `path`.

    They have the format of Kerchunk, version 1, and show the steps that the index contains now.
    `folder` is the location of the folder of the index for readers, such as "s3://bucket/RUN"; the
    default is its absolute path. Uncompressed steps are combined into chunks of at most
    `chunk_bytes`: steps that follow each other in a file of several steps form a chunk in place,
    others are copied, up to 16 MiB for each array. With `chunk_bytes=0`, each step is a chunk.
    Raises `TailraceError` if the file is not a series, or contains arrays that references cannot
    describe: pieces of "file_per_rank", and uncompressed chunks among compressed ones.
    """
    index = Path(series).resolve()
    found = {}
    for last in (False, False, True):
        try:
            found = _Series(index, folder or str(index.parent), chunk_bytes).refs
            break
        except FileNotFoundError:  # a step has just been merged: the index is a new one
            if last:
                raise
    whole: Refs = {"version": 1, "refs": found}
    if path is not None:
        with replaced(Path(path)) as partial:
            partial.write_text(json.dumps(whole), encoding="utf-8")
    return whole


class _Series:
    """The references of one index."""

    def __init__(self, index: Path, folder: str, chunk_bytes: int) -> None:
        self.index, self.folder, self.chunk_bytes = index, folder, chunk_bytes
        self.refs: Refs = {}
        with h5py.File(index) as file:
            if "series_version" not in file.get("tailrace", file).attrs:
                raise TailraceError(f"{index} is not the index of a series")
            self.steps = list(_steps(file, index))
            self._add_group("", file)
            self._visit("", file)

    def _visit(self, prefix: str, group: h5py.Group) -> None:
        for name, item in group.items():
            if prefix + name == "tailrace":
                continue
            if isinstance(item, h5py.Group):
                self._add_group(prefix + name + "/", item)
                self._visit(prefix + name + "/", item)
            elif not item.attrs.get("NAME", b"").startswith(_NO_VARIABLE):
                self._add_array(prefix + name, item)

    def _add_group(self, prefix: str, group: h5py.Group) -> None:
        self.refs[f"{prefix}.zgroup"] = json.dumps({"zarr_format": 2})
        self.refs[f"{prefix}.zattrs"] = json.dumps(_attributes(group))

    def _add_array(self, name: str, array: h5py.Dataset) -> None:
        values = {"_ARRAY_DIMENSIONS": _dimensions(name, array), **_attributes(array)}
        self.refs[f"{name}/.zattrs"] = json.dumps(values)
        # Names, single numbers and coordinates are few bytes, and the index does not stay.
        if not array.is_virtual or array.ndim < 2:
            self._add_meta(name, array, array.shape, [])
            key = ".".join("0" for _ in array.shape) or "0"
            if array.size:
                self.refs[f"{name}/{key}"] = _inline(_bytes_of(array))
            return
        stored: tuple[Any, Any] | None = None
        places: list[_Place] = []
        for path, steps in groupby(enumerate(self.steps), key=lambda step: step[1].file):
            with h5py.File(self.index.parent / path) as file:
                form = _form_of(name, file[name], array.shape[1:])
                if stored not in (None, form):
                    raise TailraceError(f"{path}: {name} is not stored as in earlier steps")
                stored = form
                numbers = {step.row: number for number, step in steps}
                if file[name].chunks is None:
                    places += _places(file[name], path, numbers)
                else:
                    self._add_steps(name, file[name], path, numbers)
        chunk, filters = stored or (array.shape[1:], [])
        together = self._add_places(name, array, places) if places else 1
        self._add_meta(name, array, (together, *chunk), filters)

    def _add_meta(
        self, name: str, array: h5py.Dataset, chunk: tuple[int, ...], filters: list[Any]
    ) -> None:
        fill: Any = None
        dtype = array.dtype.str
        if h5py.check_string_dtype(array.dtype) and array.dtype.kind == "O":
            dtype, filters = "|O", [{"id": "vlen-utf8"}]
        if "_FillValue" in array.attrs:
            fill = np.ravel(array.attrs["_FillValue"])[0].item()
            if isinstance(fill, float) and not np.isfinite(fill):
                fill = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(fill)]
        meta = {
            "zarr_format": 2, "shape": array.shape, "chunks": [max(1, n) for n in chunk],
            "dtype": dtype, "compressor": None, "filters": filters or None,
            "fill_value": fill, "order": "C", "dimension_separator": ".",
        }  # fmt: skip
        self.refs[f"{name}/.zarray"] = json.dumps(meta)

    def _add_places(self, name: str, array: h5py.Dataset, places: list[_Place]) -> int:
        """Add the steps of an array that is not compressed; return how many are in a chunk."""
        size = array.dtype.itemsize * int(np.prod(array.shape[1:]))
        together = self._steps_together(size)
        refs, copied = _blocks(places, size, together)
        if together > 1 and copied > _COPIED_BYTES:
            together = 1
            refs, _ = _blocks(places, size, together)
        for block, parts in enumerate(refs):
            key = ".".join(map(str, (block, *[0] * (array.ndim - 1))))
            if len(parts) == 1 and parts[0][1] == together * size:
                place, count = parts[0]
                self.refs[f"{name}/{key}"] = [f"{self.folder}/{place.file}", place.offset, count]
                continue
            data = b"".join(_read(self.index.parent / place.file, place.offset, count)
                            for place, count in parts)  # fmt: skip
            self.refs[f"{name}/{key}"] = _inline(data.ljust(together * size, b"\0"))
        return together

    def _steps_together(self, size: int) -> int:
        """Return a number of steps that fits into the files of several steps, if there are any."""
        most = max(1, self.chunk_bytes // size)
        in_file = sum(step.row is not None and step.file == self.steps[0].file
                      for step in self.steps)  # fmt: skip
        if in_file == 0:
            return min(most, len(self.steps))
        return max(count for count in range(1, in_file + 1)
                   if in_file % count == 0 and count <= most)  # fmt: skip

    def _add_steps(
        self, name: str, array: h5py.Dataset, path: str, numbers: dict[int | None, int]
    ) -> None:
        """Add the chunks of steps; `numbers`: of each row of `array`, or of None, its only step."""
        url = f"{self.folder}/{path}"
        has_time = None not in numbers or _dimensions(array.name[1:], array)[0] == "time"
        first = 1 if has_time else 0
        for c in range(array.id.get_num_chunks()):
            chunk = array.id.get_chunk_info(c)
            row = None if None in numbers else chunk.chunk_offset[0]
            if row not in numbers:
                continue
            if chunk.filter_mask != 0:
                raise TailraceError(f"{path}: a chunk of {name} is not compressed")
            place = [at // n for at, n in zip(chunk.chunk_offset, array.chunks, strict=True)]
            key = ".".join(map(str, (numbers[row], *place[first:])))
            self.refs[f"{name}/{key}"] = [url, chunk.byte_offset, chunk.size]


def _places(array: h5py.Dataset, path: str, numbers: dict[int | None, int]) -> list[_Place]:
    """Return where the rows of `numbers` lie, or all of the only step."""
    start = array.id.get_offset()
    size = array.nbytes // array.shape[0]
    return [_Place(path, start + (row or 0) * size) for row in numbers]


def _blocks(
    places: list[_Place], size: int, together: int
) -> tuple[list[list[tuple[_Place, int]]], int]:
    """Return runs of bytes of each chunk of `together` steps, and how many must be copied."""
    blocks, copied = [], 0
    for first in range(0, len(places), together):
        runs: list[tuple[_Place, int]] = []
        for place in places[first : first + together]:
            last, count = runs[-1] if runs else (place, -1)
            if (place.file, place.offset) == (last.file, last.offset + count):
                runs[-1] = (last, count + size)
            else:
                runs.append((place, size))
        if runs[0][1] < together * size:
            copied += sum(count for _, count in runs)
        blocks.append(runs)
    return blocks, copied


def _read(path: Path, offset: int, count: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(count)


def _inline(data: bytes) -> str:
    return f"base64:{base64.b64encode(data).decode()}"


def _bytes_of(array: h5py.Dataset) -> bytes:
    """Return the items of a chunk as Zarr has them: of texts (numcodecs' "vlen-utf8") each with its
    length before it, and their number before all."""
    items = np.asarray(array[...])
    if items.dtype.kind != "O":
        return np.ascontiguousarray(items).tobytes()
    texts = [text if isinstance(text, bytes) else str(text).encode() for text in items.ravel()]
    parts = [len(texts).to_bytes(4, "little")]
    for text in texts:
        parts += [len(text).to_bytes(4, "little"), text]
    return b"".join(parts)


def _steps(file: h5py.File, index: Path) -> Iterator[_Step]:
    """Steps of the list, then those that the newest links lead to."""
    names = _texts(file, "tailrace/files")
    merged = _texts(file, "tailrace/merged") or [""] * len(names)
    row, last = 0, ""
    for name, together in zip(names, merged, strict=True):
        row = row + 1 if together and together == last else 0
        last = together
        yield _Step(together, row) if together else _Step(name, None)
    version = int(file["tailrace"].attrs["series_version"])
    links = index.parent / f".{index.name}.steps" / str(version)
    number = 0
    while (links / f"{number}.h5").exists():
        target = os.path.normpath(links / (links / f"{number}.h5").readlink())
        yield _Step(os.path.relpath(target, index.parent), None)
        number += 1


def _texts(file: h5py.File, name: str) -> list[str]:
    if name not in file:
        return []
    return bytes(file[name][...]).decode("utf-8", "surrogateescape").split("\0")[:-1]


def _dimensions(name: str, array: h5py.Dataset) -> list[str]:
    """Return the names of the axes; those without one get "dim_0", ..."""
    if array.attrs.get("CLASS") == b"DIMENSION_SCALE" and array.ndim == 1:
        return [name.rpartition("/")[2]]
    names = []
    for d, scales in enumerate(array.dims):
        names.append(scales[0].name.rpartition("/")[2] if len(scales) else f"dim_{d}")
    return names


def _attributes(item: h5py.Group | h5py.Dataset) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in item.attrs.items():
        if name in _OF_HDF5 or name.startswith(("_Netcdf4", "_NC")):
            continue
        if isinstance(value, bytes):
            found[name] = value.decode("utf-8", "replace")
        elif isinstance(value, np.ndarray | np.generic):
            found[name] = value.tolist()
        else:
            found[name] = str(value)
    return found


def _form_of(
    name: str, array: h5py.Dataset, in_step: tuple[int, ...]
) -> tuple[tuple[int, ...], list[dict[str, Any]]]:
    """Return the extents of a chunk of a step, and the codecs that undo its filters."""
    if array.is_virtual or (array.chunks is None and array.id.get_offset() is None):
        raise TailraceError(f"{array.file.filename}: the data of {name} is in other files")
    if array.chunks is None:
        return in_step, []
    settings = array.id.get_create_plist()
    filters: list[dict[str, Any]] = []
    for f in range(settings.get_nfilters()):
        number, _, values, text = settings.get_filter(f)
        if number == h5py.h5z.FILTER_SHUFFLE:
            filters.append({"id": "shuffle", "elementsize": array.dtype.itemsize})
        elif number == h5py.h5z.FILTER_DEFLATE:
            filters.append({"id": "zlib", "level": values[0]})
        elif number == h5py.h5z.FILTER_FLETCHER32:
            filters.append({"id": "fletcher32"})
        elif number == 32015:  # registered with the HDF Group
            filters.append({"id": "zstd", "level": values[0] if values else 0})
        else:
            raise TailraceError(f"{array.file.filename}: {name} has the filter {number} ({text!r})")
    return array.chunks[-len(in_step) :], filters
