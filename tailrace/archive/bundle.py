# SPDX-License-Identifier: BSD-3-Clause
"""Writes a bundle: a plain PAX tar with an index of itself at its end.

Members come in the order of `add`. Behind them lie, in a folder ``.tailrace-bundle/KEY``:

- ``B3SUMS`` or ``SHA256SUMS``: after ``tar x``, ``b3sum -c`` or ``sha256sum -c`` compares all files
  with it;
- ``index.jsonl.gz``: a line of JSON for each member, and one for each run;
- ``end.json``: 512 bytes that say where the index lies, and the digest of all bytes before.

``end.json`` is the last member, so that reading the last 2048 bytes of a bundle is enough to find
the index. The digest is SHA-256 over the bundle with the data of every member replaced by the
checksum of that data: one pass over the bytes checks each member and the whole.

Members are read into one of two large blocks, and hashed there, while the other one is written. A
third thread can compare what the disk has already (`ReadBack`). Then blocks are written past the
system's cache (O_DIRECT), where the file system can: pages in the cache would be dropped before
they are read back, and cost more processor time than all the rest.
"""

import errno
import hashlib
import json
import mmap
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from tailrace.archive.checksum import LISTS, SHA256, Hasher, new_hasher
from tailrace.archive.comparison import Comparison, Sums, sums_of
from tailrace.archive.entry import FILE, SPARSE, Entry, padded
from tailrace.archive.packed import FRAME_BYTES, LEAST_GAIN, compress
from tailrace.archive.read_back import ReadBack
from tailrace.archive.sparse import map_of, write_at
from tailrace.archive.stream import PAGE_BYTES
from tailrace.errors import TailraceError

FOLDER = ".tailrace-bundle"
BLOCK_BYTES = 8 << 20
PART_BYTES = 512 << 10  # is hashed while it is in the processor's cache
AHEAD_BYTES = 8 << 20  # of a large file
SPOOL_BYTES = 32 << 20  # of a compressed file, in memory
TAIL_BYTES = 2048  # header and data of end.json, two blocks of zeros


class Changed(Exception):
    """A source changed or could not be read while it was packed; the bundle is as it was before."""


class BundleWriter:
    """A bundle that is being written to a local file; a context that closes it.

    `follow`: it is read back from the disk and compared while it is written.
    """

    def __init__(self, key: str, path: Path, algorithm: str = SHA256, follow: bool = False) -> None:
        self.key, self.path = key, path
        self.members = 0
        self.compared: Comparison | None = None  # after `finish`: how far, if it was followed
        self._algorithm = algorithm
        self._digest = hashlib.sha256()
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        self._direct = _open_direct(path) if follow else -1
        self._blocks = [memoryview(mmap.mmap(-1, BLOCK_BYTES)) for _ in range(2)]
        self._start, self._filled = 0, 0  # offset of the first block, and its bytes
        self._before = 0  # bytes before it that the other block still has
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None
        self._read_back = ReadBack(self._file, path, self._direct >= 0) if follow else None
        self._last: Sums | None = None  # of a member that `read` may still be asked for

    @property
    def at(self) -> int:
        """Bytes of the bundle so far."""
        return self._start + self._filled

    def __enter__(self) -> "BundleWriter":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._read_back is not None:
            self._read_back.close()
        self._writer.shutdown()
        for descriptor in (self._file, self._direct):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._direct = -1

    def add(
        self, entry: Entry, source: int = -1, extents: list[tuple[int, int]] | None = None
    ) -> None:
        """Append a member whose attributes and `size` are set, and set its offsets and checksums.

        `source` is a descriptor of a file, `extents` the parts of a sparse one that are no holes.
        Raises `Changed` if the file has not exactly its size or changes meanwhile.
        """
        self._release_last()
        start, kept = self.at, self._digest.copy()
        try:
            self._add(entry, source, extents)
        except BaseException:
            self._cut(start)
            self._digest = kept
            raise
        self.members += 1
        self._last = sums_of(entry)

    def _release_last(self) -> None:
        """Let the last member be read back, which drops it from the system's cache."""
        if self._read_back is not None and self._last is not None:
            self._read_back.add(self._last)
        self._last = None

    def _add(self, entry: Entry, source: int, extents: list[tuple[int, int]] | None) -> None:
        sparse_map, packed = b"", None
        if entry.kind == SPARSE:
            sparse_map, extents = map_of(extents or [], entry.size)
            entry.stored = len(sparse_map) + sum(length for _, length in extents)
        elif entry.kind == FILE:
            packed = self._pack(entry, source) if entry.packed else None
            extents, entry.stored = [(0, entry.size)], entry.size
            if packed is not None:
                entry.stored = packed.tell()
        header = entry.tar_header()
        entry.header, entry.data = self.at, self.at + len(header)
        self._write(header)
        frame = zlib.crc32(header)
        self._digest.update(header)
        if entry.kind in (FILE, SPARSE):
            data = new_hasher(self._algorithm)
            data.update(sparse_map)
            self._write(sparse_map)
            if packed is not None:
                with packed:
                    self._copy_packed(packed, data)
                extents = []
            for offset, length in extents or []:
                self._copy(source, offset, length, data)
            self._require_unchanged(entry, source)
            self._digest.update(data.digest())
            entry.checksum, entry.algorithm = data.hexdigest(), self._algorithm
            padding = bytes(padded(entry.stored) - entry.stored)
            self._write(padding)
            self._digest.update(padding)
            frame = zlib.crc32(padding, frame)
        entry.frame = frame

    def _copy(self, source: int, offset: int, length: int, data: Hasher) -> None:
        """Append a part of a file."""
        asked = offset + PART_BYTES
        while length > 0:
            if self._filled == BLOCK_BYTES:
                self._hand_over()
            if asked <= offset + PART_BYTES and length > PART_BYTES:
                os.posix_fadvise(source, asked, AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
                asked += AHEAD_BYTES
            part = self._blocks[0][self._filled :][: min(length, PART_BYTES)]
            try:
                part = part[: os.preadv(source, [part], offset)]
            except OSError as error:
                raise Changed(f"cannot be read: {error.strerror}") from error
            if not part:
                raise Changed("became shorter while it was read")
            data.update(part)
            self._filled += len(part)
            offset, length = offset + len(part), length - len(part)

    def _pack(self, entry: Entry, source: int) -> "IO[bytes] | None":
        """Return the compressed file, in memory unless it is large; None if it hardly shrinks."""
        content = new_hasher(self._algorithm)
        folder = str(self.path.parent)
        made: IO[bytes] = tempfile.SpooledTemporaryFile(SPOOL_BYTES, dir=folder)  # noqa: SIM115
        first = True
        for packed in compress(_frames(entry, source, content)):
            if first and len(packed) > (1 - LEAST_GAIN) * min(entry.size, FRAME_BYTES):
                made.close()
                entry.packed = ""
                return None
            made.write(packed)
            first = False
        entry.content, entry.algorithm = content.hexdigest(), self._algorithm
        return made

    def _copy_packed(self, packed: "IO[bytes]", data: Hasher) -> None:
        packed.seek(0)
        while part := packed.read(PART_BYTES):
            data.update(part)
            self._write(part)

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
        """Return bytes that were appended."""
        parts = []
        if offset < self._start - self._before:
            self._wait()
            part = os.pread(self._file, min(length, self._start - self._before - offset), offset)
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        if length > 0 and offset < self._start:
            part = bytes(self._blocks[1][: self._before][offset - self._start + self._before :])
            parts.append(part[:length])
            offset, length = offset + len(parts[-1]), length - len(parts[-1])
        parts.append(bytes(self._blocks[0][offset - self._start :][:length]))
        return b"".join(parts)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._filled == BLOCK_BYTES:
                self._hand_over()
            part = view[: BLOCK_BYTES - self._filled]
            self._blocks[0][self._filled :][: len(part)] = part
            self._filled += len(part)
            view = view[len(part) :]

    def _hand_over(self) -> None:
        """Have the pages that the first block holds written, and continue in the other one."""
        self._wait()
        if self._read_back is not None:
            self._read_back.advance(self._start)
        whole = self._filled // PAGE_BYTES * PAGE_BYTES
        rest = self._blocks[0][whole : self._filled]
        self._blocks[1][: len(rest)] = rest
        if whole:
            full = self._blocks[0][:whole]
            self._writing = self._writer.submit(self._write_pages, full, self._start)
        self._blocks.reverse()
        self._start, self._filled, self._before = self._start + whole, len(rest), whole

    def _write_pages(self, block: memoryview, offset: int) -> None:
        if self._direct >= 0:
            try:
                write_at(self._direct, block, offset)
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        write_at(self._file, block, offset)

    def _wait(self) -> None:
        """Wait until the block that was handed over is written."""
        writing, self._writing = self._writing, None
        try:
            if writing is not None:
                writing.result()
        except OSError as error:
            raise TailraceError(f"{self.path}: {error.strerror}") from error

    def _cut(self, at: int) -> None:
        """Take back what was appended from the offset `at` on."""
        if at < self._start:
            self._wait()
            os.ftruncate(self._file, at)
            self._start, self._before = at // PAGE_BYTES * PAGE_BYTES, 0
            kept = os.pread(self._file, at - self._start, self._start)
            self._blocks[0][: len(kept)] = kept
        self._filled = at - self._start

    def finish(self, sums: Path, index: Path) -> tuple[int, str, int]:
        """Append the two files and the end, flush to the disk; returns size, digest, trailer.

        The trailer is the offset of the first of them.
        """
        trailer = self.at
        self._append(LISTS[self._algorithm], sums)
        index_at = self._append("index.jsonl.gz", index)
        digest = self._digest.hexdigest()
        self._write(end_of_bundle(self.key, index_at, index.stat().st_size, trailer, digest))
        self._hand_over()
        self._wait()
        try:
            write_at(self._file, self._blocks[0][: self._filled], self._start)
            os.fsync(self._file)
        except OSError as error:
            raise TailraceError(f"{self.path}: {error.strerror}") from error
        self._release_last()
        if self._read_back is not None:
            self.compared = self._read_back.finish()
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


def _frames(entry: Entry, source: int, content: Hasher) -> Iterator[memoryview]:
    """Yield the frames of a file that is to be compressed."""
    block = memoryview(bytearray(min(FRAME_BYTES, entry.size)))
    for start in range(0, entry.size, FRAME_BYTES):
        filled, length = 0, min(FRAME_BYTES, entry.size - start)
        while filled < length:
            try:
                part = os.preadv(source, [block[filled:length]], start + filled)
            except OSError as error:
                raise Changed(f"cannot be read: {error.strerror}") from error
            if part == 0:
                raise Changed("became shorter while it was read")
            filled += part
        content.update(block[:length])
        yield block[:length]


def _open_direct(path: Path) -> int:
    """Return a descriptor for writes that bypass the cache; -1 where there are none."""
    try:
        return os.open(path, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return -1


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
