# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive`: one variable or box without the rest, runs by their description."""

import json
from pathlib import Path

import numpy as np
import pytest
from archive_common import Archive, tree

h5py = pytest.importorskip("h5py")


def write_step(path: Path, step: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(step)
    with h5py.File(path, "w") as file:
        file.attrs["time"] = 0.5 * step
        file["u"] = random.random((40, 64, 64))
        file["u"].attrs["units"] = "m/s"
        file["v"] = random.random((40, 64, 64), np.float32)
        chunks = {"chunks": (8, 32, 32), "compression": "gzip", "shuffle": True}
        file.create_dataset("g/packed", data=np.round(random.random((40, 64, 64)), 2), **chunks)
        holes = file.create_dataset("holes", (64, 64), "i4", chunks=(16, 16), fillvalue=-7)
        holes[16:32, 16:40] = step
        file["scalar"] = 3.5
        file["names"] = np.array(["a", "b"], h5py.string_dtype())


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "r1"
    for step in range(4):
        write_step(folder / "fields" / f"step_{step}.h5", step)
    case = '[case]\nname = "decaying"\n[grid]\nn = 512\n[flow]\nreynolds = 1600.0\nforced = false\n'
    (folder / "case.toml").write_text(case)
    (folder / "summary.json").write_text(json.dumps({"steps": 3, "git": "abc"}))
    return folder


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path, "1M..3M")


def test_one_variable_is_read_without_the_rest(archive: Archive, run: Path) -> None:
    archive.run("add", run)
    file = run / "fields" / "step_2.h5"
    expected = {"u": 40 * 64 * 64 * 8, "g/packed": 0, "holes": 2 * 16 * 16 * 4 * 2}
    with h5py.File(file) as old:
        expected["g/packed"] = old["g/packed"].id.get_storage_size()
        expected["holes"] = old["holes"].id.get_storage_size()
        for name, size in expected.items():
            to = archive.folder / name.replace("/", "_")
            (done,) = archive.json("restore", file, "--variable", name, "--to", to)
            assert size <= done["bytes_read"] <= 1.01 * size
            (dry,) = archive.json("restore", file, "--variable", name, "--dry-run")
            assert dry["bytes_read"] == done["bytes_read"] and dry["mounts"] == 0
            with h5py.File(to / "step_2.h5") as new:
                assert set(new) == {name.partition("/")[0]} and new.attrs["time"] == 1.0
                np.testing.assert_array_equal(new[name][()], old[name][()])
                assert new[name].chunks == old[name].chunks
                assert dict(new[name].attrs) == dict(old[name].attrs)


BOXES = [
    ("u", "z=0:16", np.s_[0:16]),
    ("u", "z=3:5,y=7,x=1:60", np.s_[3:5, 7:8, 1:60]),
    ("u", "0=39:40,x=63", np.s_[39:40, :, 63:64]),
    ("packed", "z=5:9,y=30:34", np.s_[5:9, 30:34]),
    ("holes", "y=10:20", np.s_[10:20]),
    ("scalar", "", np.s_[()]),
]


@pytest.mark.parametrize(("name", "box", "part"), BOXES)
def test_boxes(archive: Archive, run: Path, name: str, box: str, part: object) -> None:
    file = run / "fields" / "step_1.h5"
    archive.run("add", file)
    words = ["restore", file, "--variable", name, "--to", archive.folder / "out"]
    (done,) = archive.json(*words, *(["--box", box] if box else []))
    with h5py.File(file) as old, h5py.File(archive.folder / "out" / "step_1.h5") as new:
        path = "g/packed" if name == "packed" else name
        np.testing.assert_array_equal(new[path][()], old[path][part])
    if (name, box) == ("u", "z=0:16"):
        assert done["bytes_read"] == 16 * 64 * 64 * 8  # whole pieces


def test_mistakes_in_a_box_are_named(archive: Archive, run: Path) -> None:
    archive.run("add", run)
    words = ["restore", run, "--variable", "u", "--to", archive.folder / "out"]
    for box, said in (("z=0:50", "0:40"), ("q=1", "axes"), ("z=a:b", "axes")):
        assert said in archive.run(*words, "--box", box, status=2)
    assert "no file" in archive.run("restore", run, "--variable", "w", "--to", "x", status=1)
    assert "--to" in archive.run("restore", run, "--variable", "u", status=2)


def test_times_choose_files(archive: Archive, run: Path) -> None:
    archive.run("add", run)
    words = ["restore", run, "--variable", "v", "--time", "0.5:1", "--to", archive.folder / "out"]
    archive.run(*words)
    names = sorted(path.name for path in (archive.folder / "out").rglob("*.h5"))
    assert names == ["step_1.h5", "step_2.h5"]
    archive.run("restore", run, "--time", "1.5", "--to", archive.folder / "whole")
    (path,) = (archive.folder / "whole").rglob("*.h5")
    assert path.read_bytes() == (run / "fields" / "step_3.h5").read_bytes()


def test_a_damaged_variable_is_named_and_not_restored(archive: Archive, run: Path) -> None:
    file = run / "fields" / "step_0.h5"
    archive.run("add", file)
    (row,) = archive.json("list", file)
    with h5py.File(file) as old:
        at = row["offset"] + old["v"].id.get_offset() + 70_000
    path = archive.folder / "one" / row["bundle"]
    raw = bytearray(path.read_bytes())
    raw[at] ^= 4
    path.write_bytes(raw)
    (found,) = archive.json("verify", status=1)
    assert found["problems"][0].startswith(f"{file}: variable v, bytes ")
    out = archive.folder / "out"
    text = archive.run("restore", file, "--variable", "v", "--to", out, status=1)
    assert "variable v" in text and not list(out.rglob("*.h5"))
    archive.run("restore", file, "--variable", "u", "--to", out)


def test_a_variable_larger_than_the_memory_of_the_writer(archive: Archive, tmp_path: Path) -> None:
    path = tmp_path / "large.h5"
    data = np.random.default_rng(3).random((90, 128, 128))
    with h5py.File(path, "w") as file:
        file["u"], file["packed"] = data, data[:4]
    assert data.nbytes > 8 << 20
    archive.run("add", path)
    words = ["restore", path, "--variable", "u", "--box", "z=70:72", "--to", tmp_path / "out"]
    (done,) = archive.json(*words)
    with h5py.File(tmp_path / "out" / "large.h5") as file:
        np.testing.assert_array_equal(file["u"][...], data[70:72])
    assert done["bytes_read"] <= 2 * 128 * 128 * 8 + 2 * (1 << 20)


def test_netcdf_classic(archive: Archive, tmp_path: Path) -> None:
    scipy_io = pytest.importorskip("scipy.io")
    path = tmp_path / "old.nc"
    with scipy_io.netcdf_file(path, "w", version=2) as file:
        file.createDimension("time", None)
        file.createDimension("y", 30)
        file.createDimension("x", 50)
        for name, kind, axes in (
            ("t", "d", ("time",)), ("w", "f", ("time", "y", "x")), ("m", "h", ("y", "x")),
        ):  # fmt: skip
            file.createVariable(name, kind, axes)
        file.variables["w"].units = "K"
        file.variables["m"][:] = np.arange(1500).reshape(30, 50)
        for i in range(5):
            file.variables["t"][i] = i
            file.variables["w"][i] = np.arange(1500).reshape(30, 50) + 10000 * i
    archive.run("add", path)
    to = tmp_path / "out"
    (done,) = archive.json("restore", path, "--variable", "w", "--box", "time=2:4", "--to", to)
    assert done["bytes_read"] == 2 * 1500 * 4
    archive.run("restore", path, "--variable", "m", "--variable", "w", "--to", tmp_path / "all")
    with scipy_io.netcdf_file(path, mmap=False) as old, h5py.File(to / "old.nc") as part:
        np.testing.assert_array_equal(part["w"][()], old.variables["w"][2:4])
        assert part["w"].attrs["units"] == "K"
        with h5py.File(tmp_path / "all" / "old.nc") as new:
            for name in ("m", "w"):
                np.testing.assert_array_equal(new[name][()], old.variables[name][:])


def test_zarr_stores(archive: Archive, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    store = tmp_path / "s.zarr"
    group = zarr.open_group(str(store), mode="w")
    data = np.arange(64 * 64.0).reshape(64, 64)
    for name in ("u", "v"):
        array = group.create_array(name, shape=(64, 64), chunks=(16, 16), dtype="f8")
        array[:] = data
    archive.run("add", store)
    words = ["restore", store, "--variable", "u", "--box", "y=0:20", "--to", tmp_path / "out"]
    (done,) = archive.json(*words)
    new = zarr.open_group(str(tmp_path / "out" / "s.zarr"), mode="r")
    np.testing.assert_array_equal(new["u"][0:20], data[0:20])
    assert set(new) == {"u"} and not np.any(new["u"][32:])
    assert done["files"] == 2 * 4 + 2


def test_runs_are_found_by_their_description(archive: Archive, run: Path, tmp_path: Path) -> None:
    other = tmp_path / "runs" / "r2"
    other.mkdir()
    (other / "case.toml").write_text("[grid]\nn = 256\n[flow]\nreynolds = 100\nforced = true\n")
    archive.run("add", run, other)

    def names(where: str) -> list[str]:
        status = 0 if where not in ("n > 512", "none = 1") else 1
        return [Path(row["path"]).name for row in archive.json("list", "--where", where,
                                                               status=status)]  # fmt: skip

    assert names("grid=512 and reynolds>1000") == ["r1"]
    assert names("n <= 512") == ["r1", "r2"]
    assert names("not forced and name ~ 'DECAY'") == ["r1"]
    assert names("(n = 256 or n = 1) and forced = true") == ["r2"]
    assert names("n > 512") == [] and names("none = 1") == []
    assert "is unexpected" in archive.run("list", "--where", "n >", status=2)
    archive.run("restore", run, "--to", tmp_path / "out")
    crate = tmp_path / "out" / "r1" / "ro-crate-metadata.json"
    described = {row["@id"]: row for row in json.loads(crate.read_text())["@graph"]}
    assert described["#grid.n"]["value"] == 512 and {"@id": "fields/"} in described["./"]["hasPart"]
    crate.unlink()
    assert tree(tmp_path / "out" / "r1") == tree(run)
    for file in (tmp_path / "index").iterdir():
        file.unlink()
    archive.run("rebuild-index", status=1)  # the second target was never used
    assert names("grid=512") == ["r1"]


def test_runs_below_a_folder_are_known(archive: Archive, run: Path, tmp_path: Path) -> None:
    """A run is found in whatever folder it was archived with, as by `nightly`."""
    top, case = tmp_path / "ARCH", '[case]\nname = "{}"\n[grid]\nn = {}\n'
    for number, name in enumerate(("alone", "study/a", "study/b")):
        (top / name / "fields").mkdir(parents=True)
        (top / name / "case.toml").write_text(case.format(name, number))
        (top / name / "fields" / "f").write_bytes(b"x" * 100_000)
    with archive.config.open("a") as file:
        file.write(f'[[nightly]]\nfolder = "{top}"\nquiet = "0s"\n')
    archive.run("nightly")
    assert list(top.iterdir()) == []

    def found(where: str) -> list[str]:
        return [row["path"] for row in archive.json("list", "--where", where)]

    assert found("grid >= 0") == [f"{top}/{name}" for name in ("alone", "study/a", "study/b")]
    assert found("grid = 2") == [f"{top}/study/b"]
    said = archive.run("list", "--where", "name = 'study/a'")
    assert said == f"{top}/study/a  study/a  1 copy in one\n"
    archive.run("restore", top, "--to", tmp_path / "out")
    crates = [path.parent.name for path in (tmp_path / "out").rglob("ro-crate-metadata.json")]
    assert sorted(crates) == ["a", "alone", "b"]
    # A single file of a run is not described as a run.
    (run / "more").write_text("more")
    archive.run("add", run / "more")
    assert len(found("grid >= 0")) == 3


def test_a_file_that_was_damaged_before_is_reported(archive: Archive, tmp_path: Path) -> None:
    xxhash = pytest.importorskip("xxhash")
    path, v = tmp_path / "v.h5", np.arange(300_000, dtype="f4")
    with h5py.File(path, "w") as file:
        file["v"] = v
        cuts = [0, 1 << 20, v.nbytes]
        rows = [
            (0, a, b - a, xxhash.xxh3_64_intdigest(v.tobytes()[a:b]))
            for a, b in ((cuts[0], cuts[1]), (cuts[1], cuts[2]))
        ]
        table = file.create_dataset("tailrace/checksums", data=np.array(rows, "u8"))
        table.attrs["variables"] = "v\n"
        at = file["v"].id.get_offset()
    (done,) = archive.json("add", path)
    assert done["damaged"] == []
    raw = bytearray(path.read_bytes())
    raw[at + (1 << 20) + 5] ^= 1
    path.write_bytes(raw)
    (done,) = archive.json("add", path, status=3)
    assert done["damaged"] == [[str(path), "v"]] and done["files"] == 1


def test_report_of_a_moved_run_says_where_it_is(
    archive: Archive, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tailrace.cli import app  # noqa: PLC0415
    from tailrace.errors import TailraceError  # noqa: PLC0415

    archive.run("add", run, "--move")
    assert not run.exists()
    monkeypatch.setenv("TAILRACE_ARCHIVE", str(archive.config))
    with pytest.raises(TailraceError, match=r"it is archived in .* 1 verified copy"):
        app(["report", str(run)], standalone_mode=False)
