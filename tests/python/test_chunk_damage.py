# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace verify` finds damage of every kind in compressed files, and names what it is in."""

import ctypes
import ctypes.util
import json
import random
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stand_ins import built
from test_compress import write as write_compressed
from test_series import write as write_series
from test_whole import tailrace

from tailrace.cli.verify import DAMAGED
from tailrace.programs import find_program

h5py = pytest.importorskip("h5py")

Range = tuple[int, int]


def chunks_of(path: Path) -> dict[Range, str]:
    """The bytes of each chunk, and how `verify` calls it: its box within the array."""
    found: dict[Range, str] = {}

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or item.chunks is None:
            return

        def note(chunk: Any) -> None:
            ends = np.minimum(np.add(chunk.chunk_offset, item.chunks), item.shape)
            box = ", ".join(f"{a}:{b}" for a, b in zip(chunk.chunk_offset, ends, strict=True))
            where = (chunk.byte_offset, chunk.byte_offset + chunk.size)
            found[where] = f"dataset {name}, box [{box}]"

        item.id.chunk_iter(note)

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def is_in_chunk(at: int, chunks: dict[Range, str]) -> bool:
    return any(start <= at < end for start, end in chunks)


def index_nodes(raw: bytes, chunks: dict[Range, str]) -> list[Range]:
    """The indices of chunks: B-trees (format 1.8), or fixed arrays and their blocks (1.10)."""
    nodes = []
    for signature, size in ((b"TREE", 64), (b"FAHD", 24), (b"FADB", 64)):
        at = raw.find(signature)
        while at >= 0:
            if not is_in_chunk(at, chunks):
                nodes.append((at, at + size))
            at = raw.find(signature, at + 1)
    return nodes


def object_headers(raw: bytes, chunks: dict[Range, str]) -> list[Range]:
    found, at = [(0, 48)], raw.find(b"OHDR")  # the superblock first
    while at >= 0:
        if not is_in_chunk(at, chunks):
            found.append((at, at + 64))
        at = raw.find(b"OHDR", at + 1)
    return found


def verify(path: Path) -> set[str]:
    """What is damaged, without the command around the checker: the file, boxes, other parts."""
    done = subprocess.run(
        [find_program("tailrace-verify"), path], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, DAMAGED), done.stdout + done.stderr
    said: set[str] = set()
    for line in map(json.loads, done.stdout.splitlines()):
        if line.get("damaged"):
            said.add(Path(line["path"]).name)
        if line["problem"]:
            said.add(line["problem"])
        for damage in line.get("damages", []):
            said.add(f"dataset {line['dataset']}, box {damage['box']}")
    assert bool(said) == (done.returncode == DAMAGED), done.stdout
    return said


def unpacked(chunk: bytes) -> bytes | None:
    """What a compressed chunk holds, and what follows it; None if it cannot be decompressed."""
    if chunk[:4] != b"\x28\xb5\x2f\xfd":  # not zstd
        stream = zlib.decompressobj()
        try:
            return stream.decompress(chunk) + stream.flush() + stream.unused_data
        except zlib.error:
            return None
    library = ctypes.CDLL(ctypes.util.find_library("zstd"))  # the one that we use, too
    library.ZSTD_decompress.restype = ctypes.c_size_t
    data = ctypes.create_string_buffer(1 << 20)
    count = library.ZSTD_decompress(data, ctypes.c_size_t(1 << 20), chunk, len(chunk))
    return data.raw[:count] if count <= 1 << 20 else None


def changed(good: bytes, now: bytes, where: Range) -> bool:
    """False where only bits without a meaning differ: those that fill up a compressed stream."""
    before = unpacked(good[slice(*where)])
    return before is None or unpacked(now[slice(*where)]) != before


def has_checksums(path: Path) -> bool:
    """Tell whether chunks have a checksum, which covers every bit of a compressed stream."""
    with h5py.File(path) as file:
        return any(isinstance(one, h5py.Dataset) and one.fletcher32 for one in file.values())


def flip_everywhere(path: Path, chance: random.Random) -> None:
    good = path.read_bytes()
    chunks = chunks_of(path)
    is_checked = has_checksums(path)
    assert not verify(path)

    def flipped(*ranges: Range) -> set[str]:
        raw = bytearray(good)
        for where in ranges:
            raw[chance.randrange(*where)] ^= 1 << chance.randrange(8)
        path.write_bytes(raw)
        said = verify(path)
        for where in ranges:
            if where in chunks:
                is_damaged = is_checked or changed(good, bytes(raw), where)
                assert (chunks[where] in said) == is_damaged, chunks[where]
        return said

    for where in chance.sample(sorted(chunks), min(5, len(chunks))):
        flipped(where)
    flipped(*chance.sample(sorted(chunks), min(4, len(chunks))))
    indices = index_nodes(good, chunks)
    assert indices
    for where in chance.sample(indices, min(2, len(indices))):
        said = flipped(where)
        assert path.name in said and len(said) > 1, "the file, and what is damaged of it"
    for where in [(0, 48), chance.choice(object_headers(good, chunks))]:
        said = flipped(where)
        assert path.name in said and len(said) > 1
    path.write_bytes(good)
    assert not verify(path)


@pytest.mark.parametrize(
    "compress",
    ["deflate:1 chunk=7x18x50", "deflate:6 chunk=7x18x50 fletcher32=yes", "zstd:3 chunk=7x18x50",
     "deflate:1 chunk=2x2x1"],  # so many chunks that their index is that of HDF5 1.10
)  # fmt: skip
def test_compressed_files(tmp_path: Path, compress: str) -> None:
    built("tailrace-verify")
    seed = random.randrange(1 << 30)
    print("seed", seed)
    path = tmp_path / "u.h5"
    write_compressed(path, compress)
    assert (b"FAHD" in path.read_bytes()) == ("2x2x1" in compress)
    flip_everywhere(path, random.Random(seed))


@pytest.mark.parametrize("compress", ["deflate:1 chunk=4x3x2", "zstd:3"])
def test_files_of_several_compressed_steps(tmp_path: Path, compress: str) -> None:
    built("tailrace-verify")
    seed = random.randrange(1 << 30)
    print("seed", seed)
    write_series(tmp_path, range(9), steps_per_file=8, compress=compress)
    (path,) = (tmp_path / "fields.h5.merged").iterdir()
    flip_everywhere(path, random.Random(seed))
    done = tailrace("verify", "fields.h5", folder=tmp_path)
    assert done.returncode == 0, done.stdout
