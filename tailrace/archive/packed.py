# SPDX-License-Identifier: BSD-3-Clause
"""Members that are compressed with zstd, in its seekable format.

A file becomes frames of 4 MiB of its bytes, and a last frame, which decoders skip, with the sizes
of all frames. `zstd -d` unpacks ``NAME.zst`` as a whole; a part of the file costs its frames and
that table (8 bytes a frame). Format: contrib/seekable_format in zstd's repository.
"""

import importlib.util
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tailrace.archive.entry import Entry
from tailrace.archive.target import Target
from tailrace.errors import TailraceError

ZSTD = "zstd"
FRAME_BYTES = 4 << 20
LEAST_BYTES = 4096  # of a file that is compressed
LEAST_GAIN = 0.05  # of its first frame
LEVEL = 3
_SKIPPED, _SEEKABLE = 0x184D2A5E, 0x8F92EAB1
_HEAD, _ROW, _FOOT = struct.Struct("<II"), struct.Struct("<II"), struct.Struct("<IBI")

Read = Callable[[int, int], bytes]


def is_installed() -> bool:
    """Say whether the module zstandard is installed."""
    return importlib.util.find_spec("zstandard") is not None


def _module() -> Any:
    try:
        import zstandard  # noqa: PLC0415
    except ImportError:
        hint = "pip install 'tailrace[archive]'"
        raise TailraceError(
            f"the file is compressed with zstd, which is not installed: {hint}"
        ) from None
    return zstandard


def compress(frames: Iterable[memoryview]) -> Iterator[bytes]:
    """Yield a compressed frame for each frame of a file, then the table."""
    compressor = _module().ZstdCompressor(level=LEVEL)
    rows = []
    for frame in frames:
        packed: bytes = compressor.compress(frame)
        rows.append(_ROW.pack(len(packed), len(frame)))
        yield packed
    table = b"".join(rows) + _FOOT.pack(len(rows), 0, _SEEKABLE)
    yield _HEAD.pack(_SKIPPED, len(table)) + table


def decompress(blocks: Iterable[memoryview]) -> Iterator[bytes]:
    """Yield the bytes of a file, of whose member these are the bytes; ValueError if damaged."""
    module = _module()
    unpack = module.ZstdDecompressor().decompressobj(read_across_frames=True)
    try:
        for block in blocks:
            yield unpack.decompress(block)
    except module.ZstdError as error:
        raise ValueError(str(error)) from error


class Content:
    """The bytes of the file that a member is, whether it is compressed or not."""

    def __init__(self, read: Read, entry: Entry) -> None:
        self._member, self._entry = read, entry
        self.bytes_read = 0
        self._starts: list[int] = []  # of the frames in the member, and the end of the last
        self._held: tuple[int, bytes] = (-1, b"")  # the frame that was read last

    def _read(self, offset: int, length: int) -> bytes:
        raw = self._member(offset, length)
        self.bytes_read += len(raw)
        return raw

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes of the file; ValueError if what is compressed is damaged."""
        if not self._entry.packed:
            return self._read(offset, length)
        length = max(0, min(length, self._entry.size - offset))
        parts = []
        while length > 0:
            number, at = divmod(offset, FRAME_BYTES)
            part = self._frame(number)[at : at + length]
            if not part:
                raise ValueError("a frame is too short")
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return b"".join(parts)

    def _frame(self, number: int) -> bytes:
        if self._held[0] != number:
            starts = self._starts or self._table()
            raw = self._read(starts[number], starts[number + 1] - starts[number])
            module = _module()
            try:
                if module.frame_content_size(raw) > FRAME_BYTES:
                    raise ValueError("a frame is too long")
                frame = module.ZstdDecompressor().decompress(raw, max_output_size=FRAME_BYTES)
            except module.ZstdError as error:
                raise ValueError(str(error)) from error
            self._held = (number, frame)
        return self._held[1]

    def _table(self) -> list[int]:
        count = -(-self._entry.size // FRAME_BYTES)
        size = _HEAD.size + count * _ROW.size + _FOOT.size
        raw = self._read(self._entry.stored - size, size)
        if len(raw) != size or _FOOT.unpack(raw[-_FOOT.size :]) != (count, 0, _SEEKABLE):
            raise ValueError("the table of frames is damaged")
        starts = [0]
        for packed, _ in _ROW.iter_unpack(raw[_HEAD.size : -_FOOT.size]):
            starts.append(starts[-1] + packed)
        self._starts = starts
        return starts


def content_of(target: Target, key: str, entry: Entry) -> Content:
    """Return the content of a member of a bundle on a target."""
    return Content(lambda offset, length: target.read(key, entry.data + offset, length), entry)
