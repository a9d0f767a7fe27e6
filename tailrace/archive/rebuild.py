# SPDX-License-Identifier: BSD-3-Clause
"""Makes the index again from the bundles: from the index at the end of each, else from its headers.

What is found counts as ``found``; `verify` reads the copies, which then count.
"""

import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from tailrace.archive.attributes import from_records
from tailrace.archive.bundle import FOLDER as OWN_FOLDER
from tailrace.archive.bundle import TAIL_BYTES, read_end
from tailrace.archive.checksum import LISTS, new_hasher
from tailrace.archive.copies import Tell, silent, wait_staged
from tailrace.archive.entry import (
    FILE,
    FOLDER,
    HARD_LINK,
    PACKED_ENDING,
    PACKED_SIZE,
    PACKED_SUM,
    SPARSE,
    SYMLINK,
    Entry,
    from_json,
    padded,
)
from tailrace.archive.index import FOUND, OPEN
from tailrace.archive.opened import Archive
from tailrace.archive.packed import ZSTD
from tailrace.archive.target import Target, TargetError

BLOCK_BYTES = 1 << 20


@dataclass
class Rebuilt:
    """What `rebuild` found."""

    bundles: int = 0
    members: int = 0
    copies: int = 0
    problems: list[str] = field(default_factory=list)


def rebuild(archive: Archive, tell: Tell = silent) -> Rebuilt:
    """Add to the index every bundle of every target that it has not.

    A bundle is read from the first copy whose end is sound; only without one, its headers are. The
    bundles come in the order in which they were begun, as the last version of a path counts.
    """
    done = Rebuilt()
    for left in archive.index.bundles("state = ? AND built = ''", (OPEN,)):
        archive.index.forget(left.id)  # of a killed `rebuild-index`
    known = {bundle.key: bundle for bundle in archive.index.bundles("state != ?", (OPEN,))}
    places: dict[str, list[Target]] = {}
    for place in archive.config.places:
        try:
            target = archive.target(place.name)
            keys = [key for key in target.keys() if key.endswith(".tar")]  # noqa: SIM118
            wait_staged(target, [key for key in keys if key not in known], tell)
        except TargetError as error:
            done.problems.append(str(error))
            continue
        for key in keys:
            places.setdefault(key, []).append(target)
    for key in sorted(places):
        tell(key)
        if key in known:
            number, states = known[key].id, known[key].states
        else:
            number, states = _take(archive, places[key], key, done), {}
        for target in places[key] if number else []:
            if target.name not in states:
                archive.index.set_copy(number, target.name, FOUND)
                done.copies += 1
    return done


def _take(archive: Archive, targets: list[Target], key: str, done: Rebuilt) -> int:
    """Index a bundle from one of its copies; returns its number, or 0 if none can be read."""
    readable = []
    for target in targets:
        try:
            if number := _read(archive, target, key, done):
                return number
            readable.append(target)
        except TargetError as error:
            done.problems.append(str(error))
    for target in readable:
        try:
            return _salvage(archive, target, key, target.size(key) or 0, done)
        except TargetError as error:
            done.problems.append(str(error))
    return 0


def _read(archive: Archive, target: Target, key: str, done: Rebuilt) -> int:
    """Index a bundle from the index at its end; returns its number, or 0 if that is damaged."""
    size = target.size(key) or 0
    end = read_end(target.read(key, max(0, size - TAIL_BYTES), TAIL_BYTES))
    archive.require_lock()
    if end is None or end["key"] != key:
        done.problems.append(f"target {target.name}, {key}: its end is damaged")
        return 0
    number = archive.index.new_bundle(key, 1, "")
    try:
        members = _take_index(archive, target, number, end)
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        done.problems.append(f"target {target.name}, {key}: its index is damaged ({error})")
        archive.index.forget(number)
        return 0
    except TargetError:
        archive.index.forget(number)
        raise
    archive.index.seal(number, size, end["digest"], end["trailer"])
    done.bundles += 1
    done.members += members
    return number


def _lines(target: Target, key: str, start: int, size: int) -> Iterator[bytes]:
    """Yield the lines of the index of a bundle."""
    unpack = zlib.decompressobj(wbits=31)
    held, at = b"", start
    while at < start + size:
        block = target.read(key, at, min(BLOCK_BYTES, start + size - at))
        if not block:
            raise ValueError("cut short")
        at += len(block)
        *lines, held = (held + unpack.decompress(block)).split(b"\n")
        yield from lines
    if held or not unpack.eof:
        raise ValueError("cut short")


def _take_index(archive: Archive, target: Target, number: int, end: dict[str, object]) -> int:
    members, expected = 0, 0
    index, key = archive.index, str(end["key"])
    for line in _lines(target, key, int(str(end["index"])), int(str(end["index_size"]))):
        row = json.loads(line)
        if "bundle" in row:
            index.run(
                "UPDATE bundles SET copies = ?, created = ? WHERE id = ?",
                (int(row["copies"]), float(row["created"]), number),
            )
        elif "run" in row:
            index.add_run(number, row["run"], row["description"])
        else:
            entry = from_json(line)
            if entry.header != expected or not is_safe(entry.path):
                raise ValueError(f"wrong row of {entry.path!r}")
            expected = entry.end
            members += 1
            index.add(number, entry)
    if expected != end["trailer"]:
        raise ValueError("rows are missing")
    return members


def is_safe(path: str) -> bool:
    """Say whether a path is absolute and stays below what it starts with."""
    return path.startswith("/") and not any(part in ("", ".", "..") for part in path[1:].split("/"))


# Bundles without a usable index


def _salvage(archive: Archive, target: Target, key: str, size: int, done: Rebuilt) -> int:
    """Index a bundle by its headers; behind a damaged one the next is searched by 512 bytes."""
    done.problems.append(f"target {target.name}, {key}: reading its headers instead")
    archive.require_lock()
    number = archive.index.new_bundle(key, 1, "")
    try:
        end, digest, members = _salvaged(archive, target, key, size, number, done)
    except TargetError:
        archive.index.forget(number)
        raise
    archive.index.seal(number, size, digest, end)
    done.bundles += 1
    done.members += members
    return number


def _salvaged(
    archive: Archive, target: Target, key: str, size: int, number: int, done: Rebuilt
) -> tuple[int, str, int]:
    """Add the members that are found; returns where the last ends, the digest, and how many."""
    digest = hashlib.sha256()
    at, end, members = 0, 0, 0
    while at < size:
        entry = _header_at(target, key, at, size)
        if entry is None:
            skipped = at
            while at < size and entry is None:
                at += 512
                entry = _header_at(target, key, at, size)
            if entry is None:
                if any(target.read(key, skipped, min(size - skipped, 1 << 20))):
                    done.problems.append(f"{key}: no header from byte {skipped} on")
                break
            done.problems.append(f"{key}: damaged from byte {skipped} to {at}; a member is lost")
        own = entry.path.startswith(f"/{OWN_FOLDER}/")
        at = entry.end
        if own:
            continue
        if not is_safe(entry.path):
            done.problems.append(f"{key}: the name {entry.path!r} is not allowed")
            continue
        _set_sums(target, key, entry, digest)
        archive.index.add(number, entry)
        members, end = members + 1, entry.end
    return end, digest.hexdigest(), members


def _set_packed(entry: Entry, records: Mapping[str, str]) -> None:
    if PACKED_SIZE in records:
        entry.path = entry.path.removesuffix(PACKED_ENDING)
        entry.packed, entry.size = ZSTD, int(records[PACKED_SIZE])
        for algorithm in LISTS:
            if content := records.get(PACKED_SUM + algorithm):
                entry.algorithm, entry.content = algorithm, content


def _set_sums(target: Target, key: str, entry: Entry, digest: "hashlib._Hash") -> None:
    header = target.read(key, entry.header, entry.data - entry.header)
    digest.update(header)
    entry.frame = zlib.crc32(header)
    if entry.kind not in (FILE, SPARSE):
        return
    data, at = new_hasher(entry.algorithm), entry.data
    while at < entry.data + entry.stored:
        block = target.read(key, at, min(BLOCK_BYTES, entry.data + entry.stored - at))
        if not block:
            break
        data.update(block)
        at += len(block)
    padding = target.read(key, entry.data + entry.stored, entry.end - entry.data - entry.stored)
    digest.update(data.digest() + padding)
    entry.checksum, entry.frame = data.hexdigest(), zlib.crc32(padding, entry.frame)


def _header_at(  # noqa: PLR0911
    target: Target, key: str, at: int, size: int
) -> Entry | None:
    """Return the member whose header begins at an offset; None if there is none."""
    block = target.read(key, at, 512)
    if block[257:262] != b"ustar":
        return None
    length = 512
    if block[156:157] in b"xgLK":
        try:
            more = int(block[124:135].rstrip(b"\0 ") or b"0", 8)
        except ValueError:
            return None
        length = 1024 + padded(more)
        if length > 1 << 20:
            return None
    raw = target.read(key, at, length)
    try:
        # Two blocks of zeros end the headers, so that only these are parsed.
        with tarfile.open(fileobj=io.BytesIO(raw + bytes(1024)), mode="r:") as opened:
            info = opened.next()
    except (tarfile.TarError, ValueError, OSError):
        return None
    if info is None:
        return None
    kind = {
        tarfile.DIRTYPE: FOLDER,
        tarfile.SYMTYPE: SYMLINK,
        tarfile.LNKTYPE: HARD_LINK,
    }.get(info.type, FILE)
    if kind == FILE and not info.isreg():
        return None
    header_length = info.offset_data - info.offset if kind == FILE else length
    stored = info.size if kind == FILE else 0
    if "GNU.sparse.realsize" in info.pax_headers:
        return None  # needs the index
    if at + header_length + stored > size:
        return None
    entry = Entry("/" + info.name.strip("/"), kind, size=stored, mode=info.mode)
    entry.uid, entry.gid, entry.owner, entry.group = info.uid, info.gid, info.uname, info.gname
    try:
        entry.mtime_ns = int(Decimal(info.pax_headers.get("mtime", info.mtime)) * 10**9)
        entry.xattrs = from_records(info.pax_headers)
        _set_packed(entry, info.pax_headers)
    except (ValueError, OverflowError, InvalidOperation):
        return None
    entry.link = "/" + info.linkname if kind == HARD_LINK else info.linkname
    entry.header, entry.data, entry.stored = at, at + header_length, stored
    return entry
