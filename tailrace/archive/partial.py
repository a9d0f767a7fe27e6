# SPDX-License-Identifier: BSD-3-Clause
"""Restores variables or boxes: only their stored blocks are read from a bundle, and compared.

The result is an HDF5 file with the name of the file that has them, below the folder ``--to``. Whole
chunks are copied as they are stored, so that nothing is compressed again.
"""

import base64
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.archive.beneath import Beneath, give_access
from tailrace.archive.box import Box, cut, is_whole, parse_box, piece_of, rows_of
from tailrace.archive.copies import Tell, wait_staged
from tailrace.archive.entry import FILE, Entry
from tailrace.archive.index import Found
from tailrace.archive.opened import Archive
from tailrace.archive.packed import content_of
from tailrace.archive.plan import expected_mounts, make_plan, parse_range, sources_of
from tailrace.archive.sparse import write_at
from tailrace.archive.target import Target, TargetError
from tailrace.archive.variable import WHOLE, Variable
from tailrace.errors import TailraceError

READ_BYTES = 8 << 20


class Damaged(Exception):
    """A block does not match its checksum."""


@dataclass
class _Part:
    variable: Variable
    box: Box


class _Fetcher:
    """Reads blocks of one member from one copy, and counts the bytes."""

    def __init__(self, target: Target, key: str, member: Entry) -> None:
        self._content = content_of(target, key, member)

    @property
    def bytes_read(self) -> int:
        """Bytes of the bundle that were read."""
        return self._content.bytes_read

    def blocks(self, name: str, rows: NDArray[np.int64]) -> Iterator[tuple[Any, bytes]]:
        """Yield each row with its bytes; neighbours are read together."""
        at = 0
        while at < len(rows):
            end = at + 1
            start, stop = int(rows[at][0]), int(rows[at][0] + rows[at][1])
            while end < len(rows) and rows[end][0] == stop and stop - start < READ_BYTES:
                stop += int(rows[end][1])
                end += 1
            try:
                raw = self._content.read(start, stop - start)
            except ValueError as error:
                raise Damaged(f"variable {name}: {error}") from None
            for row in rows[at:end]:
                part = raw[int(row[0]) - start : int(row[0] + row[1]) - start]
                if zlib.crc32(part) != int(row[3]):
                    raise Damaged(f"variable {name}: bytes in the bundle do not match")
                yield row, part
            at = end


def restore_parts(
    archive: Archive, wanted: Any, found: Iterable[Found], tell: Tell
) -> dict[str, Any]:
    """Do as `restore_paths` for the options --variable, --box and --time."""
    if wanted.to is None and not wanted.dry_run:
        raise TailraceError("to restore a part of a file, give --to DIR", 2)
    if wanted.box and not wanted.variables:
        raise TailraceError("--box needs --variable", 2)
    chosen = list(_choose(archive, wanted, found))
    stores = _stores(archive, wanted) if wanted.variables else []
    if not chosen and not stores:
        what = f" with {', '.join(wanted.variables)}" if wanted.variables else ""
        raise TailraceError(f"{wanted.path}: the archive has no file{what} that matches")
    done: dict[str, Any] = {
        "files": 0, "bytes": 0, "kept": 0, "bytes_read": 0, "bundles": 0, "problems": [],
    }  # fmt: skip
    if not wanted.variables:
        return _whole_files(archive, wanted, chosen, done, tell)
    chosen.sort(key=lambda each: (each.bundle, each.entry.header))
    numbers = sorted({each.bundle for each in chosen} | {each.bundle for each in stores})
    done["bundles"] = len(numbers)
    if wanted.dry_run:
        done["mounts"] = expected_mounts(archive, numbers)
        done["bytes_read"] = sum(
            int(rows_of(part.box, part.variable)[:, 1].sum())
            for each in chosen
            for part in _parts(archive, wanted, each.entry)
        ) + sum(each.entry.stored for each in stores)
        return done
    _stage(archive, numbers)
    with Beneath(wanted.to) as beneath:
        for each in chosen:
            tell(each.entry.path)
            try:
                _restore_file(archive, wanted, each, beneath, done)
            except (OSError, TailraceError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                done["problems"].append(f"{each.entry.path}: {reason}")
    if stores:
        _whole_files(archive, wanted, stores, done, tell)
    return done


def _choose(archive: Archive, wanted: Any, found: Iterable[Found]) -> Iterator[Found]:
    """Yield the files of the times and with the variables that are wanted."""
    least, most = parse_range(wanted.time) if wanted.time else (0.0, 0.0)
    for each in found:
        if each.entry.kind != FILE:
            continue
        if wanted.time:
            time = _time(archive.index.variables(each.entry.id))
            if time is None or not least <= time <= most:
                continue
        if not wanted.variables or _parts(archive, wanted, each.entry):
            yield each


def _time(variables: list[Variable]) -> float | None:
    for variable in variables:
        value = variable.attributes.get("time") if variable.name == WHOLE else None
        if isinstance(value, dict) and not isinstance(value["value"], list):
            return float(value["value"])
        if isinstance(value, dict) and len(value["value"]) == 1:
            return float(value["value"][0])
    return None


def _parts(archive: Archive, wanted: Any, entry: Entry) -> list[_Part]:
    variables = archive.index.variables(entry.id)
    parts = []
    for name in wanted.variables:
        exact = [each for each in variables if each.name == name.strip("/")]
        last = [each for each in variables if each.name.rpartition("/")[2] == name]
        for variable in exact or last[:1]:
            parts.append(_Part(variable, parse_box(wanted.box, variable)))
    return parts


def _stage(archive: Archive, numbers: list[int]) -> None:
    wanted: dict[str, list[str]] = {}
    for number in numbers:
        bundle = archive.index.bundle(number)
        for name in sources_of(bundle, [place.name for place in archive.config.places])[:1]:
            wanted.setdefault(name, []).append(bundle.key)
    for name, keys in wanted.items():
        target = archive.target(name)
        away = [key for key, ready in target.is_staged(keys).items() if not ready]
        if away:
            target.stage(away)


def _restore_file(
    archive: Archive, wanted: Any, found: Found, beneath: Beneath, done: dict[str, Any]
) -> None:
    bundle, problem = archive.index.bundle(found.bundle), "no copy can be read"
    base = os.path.dirname(wanted.path)  # noqa: PTH120
    name = found.entry.path[len(base) :].lstrip("/")
    parts = _parts(archive, wanted, found.entry)
    if beneath.status(name) is not None and not wanted.force:
        raise TailraceError("exists; --force replaces files")
    for source in sources_of(bundle, [place.name for place in archive.config.places]):
        temporary = f".tailrace-partial-{found.entry.id}"
        try:
            target = archive.target(source)
            wait_staged(target, [bundle.key])
            fetcher = _Fetcher(target, bundle.key, found.entry)
            descriptor = beneath.create(name, temporary)
            try:
                _build(descriptor, parts, fetcher, archive.index.variables(found.entry.id))
                give_access(descriptor, found.entry, 0o777)
                size = os.fstat(descriptor).st_size
            finally:
                os.close(descriptor)
            beneath.publish(name, temporary, wanted.force)
        except (TargetError, Damaged) as error:
            problem = str(error)
            beneath.drop(name, temporary)
            continue
        except BaseException:
            beneath.drop(name, temporary)
            raise
        done["files"] += 1
        done["bytes"] += size
        done["bytes_read"] += fetcher.bytes_read
        return
    raise TailraceError(problem)


def _build(
    descriptor: int, parts: list[_Part], fetcher: _Fetcher, variables: list[Variable]
) -> None:
    """Write the HDF5 file."""
    import h5py  # noqa: PLC0415

    later: list[tuple[int, _Part]] = []
    with h5py.File(f"/proc/self/fd/{descriptor}", "w", locking=False) as file:
        for variable in variables:
            if variable.name == WHOLE:
                _set_attributes(file, variable)
        for part in parts:
            variable = part.variable
            whole = is_whole(part.box, variable)
            if whole and variable.chunk:
                made = _chunked(file, variable)
                for row, raw in fetcher.blocks(variable.name, rows_of(part.box, variable)):
                    made.id.write_direct_chunk(tuple(map(int, row[4:])), raw, int(row[2]))
            elif whole and variable.nbytes > 0:
                made = _contiguous(file, variable)
                later.append((made.id.get_offset(), part))
            else:
                made = file.create_dataset(variable.name, data=_box(part, fetcher))
                made.attrs["tailrace_box"] = ",".join(f"{a}:{b}" for a, b in part.box)
            _set_attributes(made, variable)
    for offset, part in later:
        rows = rows_of(part.box, part.variable)
        for row, raw in fetcher.blocks(part.variable.name, rows):
            write_at(descriptor, raw, offset + int(row[0] - part.variable.blocks[0][0]))


def _set_attributes(item: Any, variable: Variable) -> None:
    for key, value in variable.attributes.items():
        if key in ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid"):
            continue
        item.attrs[key] = value if isinstance(value, str) else np.array(
            value["value"], value["dtype"])  # fmt: skip


def _create(file: Any, variable: Variable, properties: Any) -> Any:
    import h5py  # noqa: PLC0415

    folder, _, name = variable.name.rpartition("/")
    parent = file.require_group(folder) if folder else file
    made = h5py.h5d.create(
        parent.id,
        name.encode(),
        h5py.h5t.py_create(np.dtype(variable.dtype), logical=True),
        h5py.h5s.create_simple(variable.shape),
        dcpl=properties,
    )
    return h5py.Dataset(made)


def _chunked(file: Any, variable: Variable) -> Any:
    import h5py  # noqa: PLC0415

    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(variable.chunk)
    if variable.fill:
        raw = base64.b64decode(variable.fill)
        properties.set_fill_value(np.frombuffer(raw, variable.dtype)[:1].reshape(()).copy())
    for code, flags, values in variable.filters:
        try:
            properties.set_filter(code, flags, tuple(values))
        except (ValueError, RuntimeError):
            text = f"variable {variable.name}: its filter {code} is not installed here"
            raise TailraceError(text) from None
    return _create(file, variable, properties)


def _contiguous(file: Any, variable: Variable) -> Any:
    import h5py  # noqa: PLC0415

    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.CONTIGUOUS)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    return _create(file, variable, properties)


def _box(part: _Part, fetcher: _Fetcher) -> NDArray[Any]:
    """Return the items of a box."""
    import h5py  # noqa: PLC0415

    variable, rows = part.variable, rows_of(part.box, part.variable)
    blocks = fetcher.blocks(variable.name, rows)
    if not variable.chunk:
        if len(variable.blocks) == 0:
            return np.empty(variable.shape, variable.dtype)
        first = int(variable.blocks[0][0])
        piece = piece_of(variable)
        pieces = {(int(row[0]) - first) // piece: raw for row, raw in blocks}
        return cut(part.box, variable, pieces)
    # HDF5 itself undoes the filters, in a file in memory that has only these chunks.
    with h5py.File("box", "w", driver="core", backing_store=False) as file:
        made = _chunked(file, variable)
        for row, raw in blocks:
            made.id.write_direct_chunk(tuple(map(int, row[4:])), raw, int(row[2]))
        chosen: NDArray[Any] = made[tuple(slice(start, end) for start, end in part.box)]
        return chosen


def _whole_files(
    archive: Archive, wanted: Any, chosen: list[Found], done: dict[str, Any], tell: Tell
) -> dict[str, Any]:
    """Restore whole members, and add what was done to `done`."""
    from tailrace.archive.restore import restore  # noqa: PLC0415

    plan = make_plan(chosen)
    if wanted.dry_run:
        done["bundles"], done["bytes_read"] = len(plan.bundles()), plan.bytes
        done["mounts"] = expected_mounts(archive, plan.bundles())
        return done
    one = restore(archive, wanted.path, plan, Path(wanted.to), wanted.force, tell)
    for key in ("files", "bytes", "kept", "bytes_read", "problems"):
        done[key] += getattr(one, key)
    return done


def _stores(archive: Archive, wanted: Any) -> list[Found]:
    """Return the members of Zarr stores that the variables and the box need."""
    from tailrace.archive.zarr_stores import members_of  # noqa: PLC0415

    return members_of(archive, wanted.path, wanted.variables, wanted.box)
