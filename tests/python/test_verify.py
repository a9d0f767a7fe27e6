# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace verify` finds every flipped byte and says where it is."""

import itertools
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_whole import built, tailrace

from tailrace.cli.verify import DAMAGED, UNREADABLE
from tailrace.programs import find_program

h5py = pytest.importorskip("h5py")
xxhash = pytest.importorskip("xxhash")

PIECE = 1 << 20
Range = tuple[int, int]


def data_range(dataset: "h5py.Dataset") -> Range:
    start = dataset.id.get_offset()
    return start, start + dataset.nbytes


def rest_of(raw: bytes, ranges: list[Range]) -> bytes:
    """Return all of `raw` that lies in none of `ranges`."""
    rest, at = b"", 0
    for start, end in sorted(ranges):
        rest += raw[at:start]
        at = end
    return rest + raw[at:]


def box_row(u: np.ndarray, box: tuple[slice, ...]) -> list[int]:
    starts = [axis.start for axis in box] + [0] * (5 - len(box))
    extents = [axis.stop - axis.start for axis in box] + [1] * (5 - len(box))
    return [0, *starts, *extents, xxhash.xxh3_64_intdigest(np.ascontiguousarray(u[box]).tobytes())]


def write_by_the_book(path: Path) -> dict[str, list[Range]]:
    """Write a file as docs/files.md says, without our library; return its regions."""
    u = np.arange(32 * 48 * 64, dtype="f8").reshape(32, 48, 64)
    v = np.arange(300000, dtype="f4")
    boxes = [
        (slice(z, z + 16), slice(y, y + 24), slice(x, x + 32))
        for z in (0, 16) for y in (0, 24) for x in (0, 32)
    ]  # fmt: skip
    cuts = [*range(0, v.nbytes, PIECE), v.nbytes]
    with h5py.File(path, "w", libver=("v108", "v108")) as file:
        file.attrs["time"] = 0.5
        file["u"], file["v"], file["x"] = u, v, np.linspace(0, 1, 64)
        table = file.create_dataset("tailrace/boxes", data=np.zeros((8, 12), "u8"))
        table.attrs["variables"] = "u\n"
        table[...] = [box_row(u, box) for box in boxes]
        sums = file.create_dataset("tailrace/checksums", data=np.zeros((len(cuts), 4), "u8"))
        sums.attrs["variables"] = "v\n"
        for i, (start, end) in enumerate(itertools.pairwise(cuts)):
            sums[i] = (0, start, end - start, xxhash.xxh3_64_intdigest(v.tobytes()[start:end]))
        data = {name: [data_range(file[name])] for name in ("u", "v")}
        tables = [data_range(table), data_range(sums)]
    raw = bytearray(path.read_bytes())
    rest = rest_of(raw, [*tables, *data["u"], *data["v"]])
    row = np.array([1, 0, len(rest), xxhash.xxh3_64_intdigest(rest)], "u8").tobytes()
    raw[tables[1][1] - 32 : tables[1][1]] = row
    path.write_bytes(raw)
    return {**data, "table": tables, "header": gaps(len(raw), [*tables, *data["u"], *data["v"]])}


def gaps(size: int, ranges: list[Range]) -> list[Range]:
    edges = [0, *(edge for pair in sorted(ranges) for edge in pair), size]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def regions_of(path: Path) -> dict[str, list[Range]]:
    with h5py.File(path) as file:
        found = {
            name: [data_range(item)]
            for name, item in file.items()
            if isinstance(item, h5py.Dataset) and item.id.get_offset() and not item.is_scale
        }
        tables = [data_range(item) for item in file["tailrace"].values() if item.id.get_offset()]
    taken = [*tables, *(pair for ranges in found.values() for pair in ranges)]
    return {**found, "table": tables, "header": gaps(path.stat().st_size, taken)}


def verified(*files: Path, options: tuple[str, ...] = ()) -> tuple[int, list[dict]]:
    done = tailrace("verify", "--json", *options, *map(str, files), folder=files[0].parent)
    assert done.returncode in (0, DAMAGED, UNREADABLE), done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def files_of(lines: list[dict]) -> dict[str, dict]:
    return {line["path"]: line for line in lines if "dataset" not in line}


@pytest.fixture(scope="module")
def field_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built("tailrace-turbulence")
    folder = tmp_path_factory.mktemp("run")
    settings = ["grid.n=32", "time.step=0.02", "time.end=0.04", "output.every=2"]
    words = [word for setting in settings for word in ("--set", setting)]
    done = tailrace("run", "taylor_green", "-n", "2", *words, "--run-dir", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    return max((folder / "out").rglob("*.h5"), key=lambda path: path.stat().st_size)


@pytest.fixture(scope="module")
def piece_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file whose data lies in pieces, with an array cut in two ways."""
    built("tailrace-turbulence")
    folder = tmp_path_factory.mktemp("pieces")
    settings = ["grid.n=32", "time.step=0.02", "time.end=0.02", "output.every=1"]
    words = [word for setting in settings for word in ("--set", setting)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAILRACE_HINTS", "*.h5:strategy=file_per_rank")
        done = tailrace("run", "taylor_green", "-n", "3", *words, "--run-dir", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    masters = [path for path in (folder / "out").rglob("*.h5") if path.parent.suffix != ".pieces"]
    return next(path for path in sorted(masters) if path.with_name(path.name + ".pieces").is_dir())


@pytest.fixture(scope="module")
def book_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built("tailrace-verify")
    path = tmp_path_factory.mktemp("book") / "book.h5"
    write_by_the_book(path)
    return path


@pytest.mark.parametrize("source", ["field_file", "book_file"])
def test_every_flip_is_found(source: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    built("tailrace-verify")
    path = request.getfixturevalue(source)
    raw, regions, chance = path.read_bytes(), regions_of(path), random.Random(7)
    assert {"table", "header"} < set(regions)
    flips: dict[str, tuple[str, int]] = {}
    for region, ranges in regions.items():
        places = [at for start, end in ranges for at in (start, end - 1)]
        places += [chance.randrange(*chance.choice(ranges)) for _ in range(12)]
        for at in places:
            copy = bytearray(raw)
            copy[at] ^= 1 << chance.randrange(8)
            name = tmp_path / f"{len(flips)}.h5"
            name.write_bytes(copy)
            flips[str(name)] = (region, at)
    status, lines = verified(path, *map(Path, flips))
    assert status == 1
    files = files_of(lines)
    assert not files[str(path)]["damaged"]
    unseen = [where for name, where in flips.items() if not files[name]["damaged"]]
    assert not unseen, unseen
    for line in lines:
        region, at = flips.get(line["path"], ("", 0))
        if line.get("dataset") != region or line["check"] not in ("pieces", "boxes"):
            continue
        (damage,) = line["damages"]
        assert damage["file_offset"] <= at, (line, at)
        if line["check"] == "pieces":
            assert at < damage["file_offset"] + damage["bytes"], (line, at)
        assert inside_box(path, region, at, damage["box"]), (line, at)


def inside_box(path: Path, name: str, at: int, box: str) -> bool:
    with h5py.File(path) as file:
        dataset = file[name]
        item = (at - dataset.id.get_offset()) // dataset.dtype.itemsize
        place = np.unravel_index(item, dataset.shape)
    spans = [tuple(map(int, axis.split(":"))) for axis in box.strip("[]").split(", ")]
    return all(low <= i < high for i, (low, high) in zip(place, spans, strict=True))


def test_the_words_name_dataset_box_and_offset(book_file: Path, tmp_path: Path) -> None:
    raw = bytearray(book_file.read_bytes())
    with h5py.File(book_file) as file:
        start = file["u"].id.get_offset()
    raw[start + 8 * ((5 * 48 + 30) * 64 + 33)] ^= 1
    (tmp_path / "bad.h5").write_bytes(raw)
    done = tailrace("verify", "bad.h5", folder=tmp_path)
    assert done.returncode == 1
    place = start + 8 * (24 * 64 + 32)
    assert f"dataset u, box [0:16, 24:48, 32:64] (file offset {place})" in done.stdout
    assert "DAMAGED bad.h5" in done.stdout
    assert "ok      v: 2 pieces, 1.2 MB, match their checksums" in done.stdout


def test_shared_among_ranks(book_file: Path) -> None:
    assert verified(book_file, options=("-n", "3")) == verified(book_file)


def test_what_is_no_whole_file_of_ours(book_file: Path, tmp_path: Path) -> None:
    raw = book_file.read_bytes()
    (tmp_path / "cut.h5").write_bytes(raw[:-5000])
    (tmp_path / "text.h5").write_text("nothing of HDF5")
    (tmp_path / "empty.h5").write_bytes(b"")
    (tmp_path / "step.h5.partial").write_bytes(raw)
    words = {
        "cut.h5": "is not a whole HDF5 file: cut short",
        "text.h5": "is not an HDF5 file (15 bytes",
        "empty.h5": "is not an HDF5 file (0 bytes",
        "step.h5.partial": "is an unfinished output",
    }
    status, lines = verified(*(tmp_path / name for name in words))
    assert status == 1
    for (name, text), line in zip(words.items(), lines, strict=True):
        assert text in line["problem"], (name, line)
        assert line["damaged"]


def test_every_flip_in_a_piece_is_found(piece_file: Path, tmp_path: Path) -> None:
    status, lines = verified(piece_file)
    assert status == 0, lines
    pieces = sorted(piece_file.with_name(piece_file.name + ".pieces").glob("*.h5"))
    assert list(files_of(lines)) == [str(piece_file), *map(str, pieces)]
    data = [line for line in lines if line.get("check") == "pieces"]
    assert data and all(line["path"] == str(piece_file) for line in data)
    chance = random.Random(3)
    copies: dict[str, tuple[Path, str]] = {}
    for region in ("header", "table", "data"):
        for number in range(6):
            copy = tmp_path / f"{region}{number}" / piece_file.name
            shutil.copytree(pieces[0].parent, copy.with_name(copy.name + ".pieces"))
            shutil.copy(piece_file, copy)
            piece = copy.with_name(copy.name + ".pieces") / chance.choice(pieces).name
            regions = regions_of(piece)
            name = (
                region if region != "data" else chance.choice([*{*regions} - {"header", "table"}])
            )
            raw = bytearray(piece.read_bytes())
            raw[chance.randrange(*chance.choice(regions[name]))] ^= 1 << chance.randrange(8)
            piece.write_bytes(raw)
            copies[str(copy)] = (piece, name)
    status, lines = verified(*map(Path, copies))
    files = files_of(lines)
    for master, (piece, name) in copies.items():
        assert files[master]["damaged"] or files[str(piece)]["damaged"], (master, name)
        for line in lines:
            if line["path"] == master and line.get("dataset") == name:
                assert [damage["file"] for damage in line["damages"]] == [str(piece)], line


def test_a_missing_piece_is_named(piece_file: Path, tmp_path: Path) -> None:
    copy = tmp_path / piece_file.name
    folder = shutil.copytree(
        piece_file.with_name(piece_file.name + ".pieces"), copy.with_name(copy.name + ".pieces")
    )
    shutil.copy(piece_file, copy)
    (folder / "00001.h5").unlink()
    status, lines = verified(copy)
    assert status == 1
    missing = f"of which {folder.name}/00001.h5 is missing"
    assert any(missing in line["problem"] for line in lines if line["problem"])


def test_without_checksums(tmp_path: Path) -> None:
    built("tailrace-verify")
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["u"] = np.zeros((8, 9))
        file.create_dataset("c", data=np.arange(9000.0), chunks=(1000,), fletcher32=True)
        at = file["c"].id.get_chunk_info(4).byte_offset
    done = tailrace("verify", "plain.h5", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "plain.h5: no checksums: structure only" in done.stdout
    raw = bytearray((tmp_path / "plain.h5").read_bytes())
    raw[at + 100] ^= 4
    (tmp_path / "plain.h5").write_bytes(raw)
    status, lines = verified(tmp_path / "plain.h5")
    assert status == 1
    assert "dataset c, box [4000:5000] cannot be read" in lines[0]["problem"]


def test_damaged_files_of_other_programs_end_no_run(tmp_path: Path) -> None:
    """Without a seal HDF5 meets the damage: it neither crashes nor writes among our lines."""
    path, chance = tmp_path / "theirs.h5", random.Random(3)
    with h5py.File(path, "w", libver=("v108", "v108")) as file:
        for i in range(12):
            file.attrs[f"a{i}"] = i
            file[f"group/d{i}"] = np.arange(10 + i)
    raw = path.read_bytes()
    copies = []
    for n in range(80):
        copy = bytearray(raw)
        copy[chance.randrange(48, len(raw))] ^= 1 << chance.randrange(8)
        copies.append(tmp_path / f"{n}.h5")
        copies[-1].write_bytes(copy)
    built("tailrace-verify")
    done = subprocess.run(
        [find_program("tailrace-verify"), *copies],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    found = files_of(lines)
    assert sorted(found) == sorted(map(str, copies))
    assert any(line["damaged"] for line in found.values())
    assert "HDF5" not in done.stderr


def test_pieces_behind_a_virtual_dataset(tmp_path: Path) -> None:
    built("tailrace-verify")
    layout = h5py.VirtualLayout((8, 6), "f8")
    for part in range(2):
        with h5py.File(tmp_path / f"part{part}.h5", "w") as file:
            file["p"] = np.full((4, 6), part, "f8")
        layout[4 * part : 4 * part + 4] = h5py.VirtualSource(f"part{part}.h5", "p", (4, 6))
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file.create_virtual_dataset("u", layout)
    status, lines = verified(tmp_path / "all.h5")
    assert status == 0
    assert [Path(path).name for path in files_of(lines)] == ["all.h5", "part0.h5", "part1.h5"]
    (tmp_path / "part1.h5").unlink()
    status, lines = verified(tmp_path / "all.h5")
    assert status == 1
    assert "u lies in other files, of which part1.h5 is missing" in lines[0]["problem"]


def test_a_program_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = tmp_path / "tailrace-verify"
    stand_in.write_text("#!/bin/sh\necho no library >&2\nexit 127\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "verify", stand_in],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no library" in done.stderr


HOLD = """
import os, sys, h5py
path, how = sys.argv[1:]
if how == "swmr":
    file = h5py.File(path, "a", libver="latest")
    file.swmr_mode = True
else:
    file = h5py.File(path, how)
print("held", flush=True)
sys.stdin.readline()
if how == "swmr":
    os._exit(1)  # leaves its mark in the file
"""
READ = """
import sys, tailrace
from mpi4py import MPI
try:
    tailrace.Input(MPI.COMM_SELF, sys.argv[1]).close()
    print("read")
except Exception as error:
    print(type(error).__name__, error)
"""


def plain_file(path: Path, libver: tuple[str, str]) -> Path:
    with h5py.File(path, "w", libver=libver) as file:
        file["u"] = np.arange(8.0)
    return path


@pytest.mark.parametrize("how", ["a", "r+", "swmr", "r"])
@pytest.mark.parametrize("kind", ["old", "new", "ours", "pieces"])
def test_a_file_that_is_open_elsewhere_is_not_damaged(
    kind: str, how: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    built("tailrace-verify")
    path = tmp_path / "held.h5"
    if kind in ("ours", "pieces"):
        source = request.getfixturevalue("field_file" if kind == "ours" else "piece_file")
        path = Path(shutil.copy(source, tmp_path))
        if kind == "pieces":
            folder = source.name + ".pieces"
            shutil.copytree(source.with_name(folder), tmp_path / folder)
    else:
        bounds = ("earliest", "v108") if kind == "old" else ("v110", "v110")
        plain_file(path, bounds)
    if how == "swmr" and kind != "new":
        pytest.skip("SWMR writes files of the newest form only")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        status, lines = verified(path)
        told = subprocess.run(
            [sys.executable, "-c", READ, path], capture_output=True, text=True, check=False
        ).stdout
        seen = tailrace("verify", str(path), folder=tmp_path)
        holder.communicate("\n")
    if how == "r":  # readers do not disturb each other
        assert status == 0, lines
        return
    word = "is marked as open to write" if how == "swmr" else "is locked: another program holds it"
    assert status == UNREADABLE
    assert word in lines[-1]["problem"], lines
    assert not lines[-1]["damaged"]
    assert "UNREADABLE" in seen.stdout and "DAMAGED" not in seen.stdout, seen.stdout
    assert seen.returncode == UNREADABLE
    assert told.startswith("FileFailure"), told
    assert word in told
    if how == "swmr":  # the mark outlives its program
        status, lines = verified(path)
        assert word in lines[-1]["problem"] and not lines[-1]["damaged"], lines


def test_a_file_that_may_not_be_read_is_not_damaged(tmp_path: Path) -> None:
    built("tailrace-verify")
    (tmp_path / "loop.h5").symlink_to("loop.h5")
    done = subprocess.run(
        [find_program("tailrace-verify"), tmp_path / "loop.h5"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    (line,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert "cannot open" in line["problem"] and not line["damaged"], line
    assert done.returncode == UNREADABLE


def test_a_missing_filter_is_not_damage(tmp_path: Path) -> None:
    """h5py brings LZF, which the HDF5 library of this build does not know."""
    built("tailrace-verify")
    packed, both = tmp_path / "packed.h5", tmp_path / "both.h5"
    for path in (packed, both):
        with h5py.File(path, "w") as file:
            file["plain"] = np.zeros(9)
            file.create_dataset("u", data=np.arange(9000.0), chunks=(1000,), compression="lzf")
            damaged = file.create_dataset(
                "v", data=np.arange(9000.0), chunks=(1000,), fletcher32=True
            )
            at = damaged.id.get_chunk_info(4).byte_offset
    raw = bytearray(both.read_bytes())
    raw[at + 100] ^= 4
    both.write_bytes(raw)
    for ranks in ("1", "2"):
        status, lines = verified(packed, options=("-n", ranks))
        assert status == UNREADABLE
        (u,) = [line for line in lines if line["problem"]]
        assert u["dataset"] == "u" and u["unreadable"]
        assert "filter lzf (32000), which is not installed" in u["problem"]
        assert not lines[-1]["damaged"] and lines[-1]["unreadable"]
    seen = tailrace("verify", str(packed), folder=tmp_path)
    assert seen.returncode == UNREADABLE
    assert "UNREADABLE u: " in seen.stdout and "DAMAGED" not in seen.stdout, seen.stdout
    status, lines = verified(packed, both)
    assert status == DAMAGED
    found = {line["dataset"]: line for line in lines if "dataset" in line and line["problem"]}
    assert found["u"]["unreadable"] and not found["v"]["unreadable"]
