# SPDX-License-Identifier: BSD-3-Clause
"""Writes a bundle: a plain PAX tar with an index of itself at its end.

Members come in the order of `add`. Behind them lie, in a folder ``.tailrace-bundle/KEY``:

- ``SHA256SUMS``: after ``tar x``, ``sha256sum -c`` compares all files with it;
- ``index.jsonl.gz``: a line of JSON for each member, and one for each run;
- ``end.json``: 512 bytes that say where the index lies, and the digest of all bytes before.

``end.json`` is the last member, so that reading the last 2048 bytes of a bundle is enough to find
the index. The digest is SHA-256 over the bundle with the data of every member replaced by the
SHA-256 of that data: one pass over the bytes checks each member and the whole.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tailrace.archive.entry import FILE, SPARSE, Entry, padded
from tailrace.errors import TailraceError

FOLDER = ".tailrace-bundle"
BLOCK_BYTES = 4 << 20
TAIL_BYTES = 2048  # header and data of end.json, two blocks of zeros
_BUFFER_BYTES = 4 << 20


class Changed(Exception):
    """A source changed or could not be read while it was packed; the bundle is as it was before."""


class BundleWriter:
    """A bundle that is being written to a local file; a context that closes it."""

    def __init__(self, key: str, path: Path) -> None:
        self.key, self.path = key, path
        self.at = 0
        self.members = 0
        self._digest = hashlib.sha256()
        self._buffer = bytearray()
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        self._hasher = ThreadPoolExecutor(1)
        self._blocks = [memoryview(bytearray(BLOCK_BYTES)) for _ in range(2)]

    def __enter__(self) -> "BundleWriter":
        return self

    def __exit__(self, *_error: object) -> None:
        self._hasher.shutdown()
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def add(
        self, entry: Entry, source: int = -1, extents: list[tuple[int, int]] | None = None
    ) -> None:
        """Append a member whose attributes and `size` are set, and set its offsets and checksums.

        `source` is a descriptor of a file, `extents` the parts of a sparse one that are no holes.
        Raises `Changed` if the file has not exactly its size or changes meanwhile.
        """
        start, kept = self.at, self._digest.copy()
        try:
            self._add(entry, source, extents)
        except BaseException:
            self._cut(start)
            self._digest = kept
            raise
        self.members += 1

    def _add(self, entry: Entry, source: int, extents: list[tuple[int, int]] | None) -> None:
        sparse_map = b""
        if entry.kind == SPARSE:
            extents = list(extents or [])
            if not extents or sum(extents[-1]) < entry.size:
                extents.append((entry.size, 0))  # tells GNU tar how long the file is
            numbers = [len(extents), *(number for pair in extents for number in pair)]
            sparse_map = "".join(f"{number}\n" for number in numbers).encode()
            sparse_map = sparse_map.ljust(padded(len(sparse_map)), b"\0")
            entry.stored = len(sparse_map) + sum(length for _, length in extents)
        elif entry.kind == FILE:
            extents, entry.stored = [(0, entry.size)], entry.size
        header = entry.tar_header()
        entry.header, entry.data = self.at, self.at + len(header)
        self._write(header)
        frame = zlib.crc32(header)
        self._digest.update(header)
        if entry.kind in (FILE, SPARSE):
            data = hashlib.sha256(sparse_map)
            self._write(sparse_map)
            for offset, length in extents or []:
                self._copy(source, offset, length, data)
            self._require_unchanged(entry, source)
            self._digest.update(data.digest())
            entry.sha256 = data.hexdigest()
            padding = bytes(padded(entry.stored) - entry.stored)
            self._write(padding)
            self._digest.update(padding)
            frame = zlib.crc32(padding, frame)
        entry.frame = frame

    def _copy(self, source: int, offset: int, length: int, data: Any) -> None:
        """Append a part of a file; its blocks are hashed while they are written."""
        hashed: Future[None] | None = None
        while length > 0:
            self._blocks.reverse()  # the other block may still be hashed
            view = self._blocks[0][: min(length, BLOCK_BYTES)]
            try:
                block = view[: os.preadv(source, [view], offset)]
            except OSError as error:
                raise Changed(f"cannot be read: {error.strerror}") from error
            finally:
                if hashed is not None:
                    hashed.result()
                    hashed = None
            if not block:
                raise Changed("became shorter while it was read")
            if len(block) < 1 << 17:
                data.update(block)
            else:
                hashed = self._hasher.submit(data.update, block)
            self._write(block)
            offset, length = offset + len(block), length - len(block)
        if hashed is not None:
            hashed.result()

    @staticmethod
    def _require_unchanged(entry: Entry, source: int) -> None:
        now = os.fstat(source)
        if (now.st_size, now.st_mtime_ns, now.st_ctime_ns) != (
            entry.size,
            entry.mtime_ns,
            entry.ctime_ns,
        ):
            raise Changed("changed while it was read")

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes that were written."""
        self._flush()
        return os.pread(self._file, length, offset)

    def _write(self, block: bytes | memoryview) -> None:
        self.at += len(block)
        if len(block) >= _BUFFER_BYTES // 16:
            self._flush()
            self._write_out(block)
        else:
            self._buffer += block
            if len(self._buffer) >= _BUFFER_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._buffer:
            self._write_out(self._buffer)
            self._buffer = bytearray()

    def _write_out(self, block: bytes | bytearray | memoryview) -> None:
        view = memoryview(block)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            raise TailraceError(f"{self.path}: {error.strerror}") from error
        finally:
            view.release()

    def _cut(self, at: int) -> None:
        """Take back what was written from the offset `at` on."""
        flushed = self.at - len(self._buffer)
        if at >= flushed:
            del self._buffer[at - flushed :]
        else:
            self._buffer.clear()
            os.ftruncate(self._file, at)
            os.lseek(self._file, at, os.SEEK_SET)
        self.at = at

    def finish(self, sums: Path, index: Path) -> tuple[int, str, int]:
        """Append the two files and the end, flush to the disk; returns size, digest, trailer.

        The trailer is the offset of the first of them.
        """
        trailer = self.at
        self._append("SHA256SUMS", sums)
        index_at = self._append("index.jsonl.gz", index)
        digest = self._digest.hexdigest()
        self._write(end_of_bundle(self.key, index_at, index.stat().st_size, trailer, digest))
        self._flush()
        try:
            os.fsync(self._file)
        except OSError as error:
            raise TailraceError(f"{self.path}: {error.strerror}") from error
        return self.at, digest, trailer

    def _append(self, name: str, source: Path) -> int:
        """Append a file of the trailer, which the digest covers; returns the offset of its data."""
        size = source.stat().st_size
        header = trailer_header(self.key, name, size)
        at = self.at + len(header)

        def put(block: bytes) -> None:
            self._write(block)
            self._digest.update(block)

        put(header)
        with source.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                put(block)
        put(bytes(padded(size) - size))
        return at


def trailer_header(key: str, name: str, size: int) -> bytes:
    """Return the header of a member of the trailer."""
    entry = Entry(f"/{FOLDER}/{key}/{name}", FILE, size=size, mode=0o644, stored=size)
    return entry.tar_header()


def end_of_bundle(key: str, index: int, index_size: int, trailer: int, digest: str) -> bytes:
    """Return the last `TAIL_BYTES` bytes of a bundle."""
    row = {
        "format": "tailrace-bundle-1",
        "key": key,
        "index": index,
        "index_size": index_size,
        "trailer": trailer,
        "digest": digest,
    }
    text = json.dumps(row).encode().ljust(511) + b"\n"
    header = trailer_header(key, "end.json", 512)
    if len(text) != 512 or len(header) != 512:
        raise TailraceError(f"{key}: the key is too long for a bundle")
    return header + text + bytes(1024)


def read_end(tail: bytes) -> dict[str, Any] | None:
    """Return what the last bytes of a bundle say; None if they are not the end of one."""
    if len(tail) < TAIL_BYTES:
        return None
    tail = tail[-TAIL_BYTES:]
    try:
        row: dict[str, Any] = json.loads(tail[512:1024])
        parts = (row["key"], row["index"], row["index_size"], row["trailer"], row["digest"])
        return row if end_of_bundle(*parts) == tail else None
    except (ValueError, KeyError, TypeError, AttributeError, TailraceError):
        return None


Reader = Callable[[int, int], bytes]
