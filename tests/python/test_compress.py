# SPDX-License-Identifier: BSD-3-Clause
"""Compressed files, read by programs that know nothing of Tailrace (docs/files.md)."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from stand_ins import is_built
from test_face import HERE, run
from typer.testing import CliRunner

from tailrace.cli import app

xarray = pytest.importorskip("xarray")
netCDF4 = pytest.importorskip("netCDF4")
pytest.importorskip("h5netcdf")

z, y, x = np.indices((40, 36, 50))
U = np.sin(0.1 * x) * np.cos(0.2 * y) + 0.01 * z
N = (x + y + z).astype("int16")


def write(path: Path, compress: str, servers: str = "hidden", ranks: int = 2) -> None:
    done = run(ranks, HERE / "compress_program.py", path, servers, compress)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("servers", ["none", "hidden", "thread", "process"])
@pytest.mark.parametrize("compress", ["deflate:1", "deflate:6 chunk=7x36x50 fletcher32=yes"])
def test_stock_readers_read_it(tmp_path: Path, servers: str, compress: str) -> None:
    path = tmp_path / "u.nc"
    write(path, compress, servers)
    with h5py.File(path) as file:
        assert file["u"].compression == "gzip" and file["u"].shuffle
        assert file["u"].fletcher32 == ("fletcher32" in compress)
        assert file["u"].chunks == (7, 36, 50) or "chunk" not in compress
        assert file["plain"].compression is None
        assert (file["u"][...] == U).all() and (file["n"][...] == N).all()
        assert (file["plain"][...] == U.astype("f4")).all()
    with netCDF4.Dataset(path) as file:
        assert file["n"].filters()["zlib"] and (file["n"][...] == N).all()
    for engine in ("netcdf4", "h5netcdf"):
        with xarray.open_dataset(path, engine=engine) as data:
            assert data["u"].dims == ("z", "y", "x") and (data["u"].values == U).all()


@pytest.mark.skipif(shutil.which("ncdump") is None, reason="no ncdump")
def test_ncdump_names_the_filters(tmp_path: Path) -> None:
    write(tmp_path / "u.nc", "deflate:3")
    shown = subprocess.run(
        ["ncdump", "-hs", tmp_path / "u.nc"], check=True, capture_output=True, text=True
    ).stdout
    assert "u:_DeflateLevel = 3" in shown and 'u:_Shuffle = "true"' in shown


@pytest.mark.skipif(shutil.which("h5repack") is None, reason="no h5repack")
@pytest.mark.parametrize("level", [1, 6])
def test_it_is_as_small_as_what_h5repack_makes(tmp_path: Path, level: int) -> None:
    """The bytes of chunks, of the same shape: HDF5's own filters compress by zlib."""
    ours, theirs = tmp_path / "u.h5", tmp_path / "repacked.h5"
    write(ours, f"deflate:{level} chunk=20x36x50")
    subprocess.run(
        ["h5repack", "-f", "u:SHUF", "-f", f"u:GZIP={level}", "-l", "u:CHUNK=20x36x50", ours,
         theirs], check=True,
    )  # fmt: skip

    def stored(path: Path) -> int:
        with h5py.File(path) as file:
            return file["u"].id.get_storage_size()

    assert stored(ours) <= 1.03 * stored(theirs)


@pytest.mark.parametrize("compress", ["gzip:1", "deflate:1"])
def test_zarr_reads_it(tmp_path: Path, compress: str) -> None:
    """Each byte of the items is a part of the stream with its own codes."""
    zarr = pytest.importorskip("zarr")
    pytest.importorskip("numcodecs.zarr3")
    write(tmp_path / "u.zarr", f"{compress} chunk=20x36x50")
    group = zarr.open_group(tmp_path / "u.zarr", mode="r")
    assert (group["u"][...] == U).all() and (group["n"][...] == N).all()


def test_random_bits_do_not_make_the_exponents_larger(tmp_path: Path) -> None:
    """Bytes with random bits are stored, the others become as small as with zlib."""
    write(tmp_path / "u.h5", "deflate:1 chunk=20x36x50", "none", 1)
    with h5py.File(tmp_path / "u.h5") as file, h5py.File(tmp_path / "zlib.h5", "w") as other:
        noisy = file["noisy"]
        same = other.create_dataset(
            "noisy", data=noisy[...], chunks=noisy.chunks, compression=1, shuffle=True
        )
        assert len(np.unique(noisy[...])) > 0.9 * noisy.size
        assert noisy.id.get_storage_size() <= 1.01 * same.id.get_storage_size()


@pytest.mark.parametrize("digits", [2, 5])
def test_rounding_keeps_its_promise(tmp_path: Path, digits: int) -> None:
    write(tmp_path / "exact.h5", "deflate:1")
    write(tmp_path / "u.h5", f"deflate:1 digits={digits}")
    with h5py.File(tmp_path / "u.h5") as file, h5py.File(tmp_path / "exact.h5") as exact:
        found = file["u"][...]
        inexact = U != 0
        last = 10.0 ** (np.floor(np.log10(np.abs(U[inexact]))) + 1 - digits)
        assert (np.abs(found[inexact] - U[inexact]) <= 0.5 * last * (1 + 1e-12)).all()
        assert (found != U).any() and (file["n"][...] == N).all()
        assert file["u"].id.get_storage_size() < 0.7 * exact["u"].id.get_storage_size()
        attributes = file["u"].attrs
        assert attributes["_QuantizeGranularBitRoundNumberOfSignificantDigits"] == digits
        assert attributes["quantization_nsd"] == digits
        container = file[attributes["quantization"]]
        assert container.attrs["algorithm"] in ("granular_bitround", b"granular_bitround")


def test_a_wrong_text_is_refused(tmp_path: Path) -> None:
    done = run(2, HERE / "compress_program.py", tmp_path / "u.h5", "hidden", "deflate:12")
    assert done.returncode != 0 and "1 to 9" in done.stderr


def record(folder: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of `tailrace bench output` of one round."""
    line = ["bench", "output", "-n", "1", "--rounds", "1", "--steps", "1", "--compute-s", "0.01",
            "--compute", "sleep", "--folder", str(folder / "files"),
            "--json", str(folder / "rows.json"), *words]  # fmt: skip
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads((folder / "rows.json").read_text())["rows"]
    return rows


@pytest.mark.skipif(not is_built("tailrace-bench"), reason="tailrace-bench is not built")
def test_the_bench_writes_fields_of_files(tmp_path: Path) -> None:
    """The size of the chunks is that of h5repack, of an array that is no cube."""
    field = tmp_path / "field.h5"
    with h5py.File(field, "w") as file:
        file["other"] = np.zeros(5)
        file["u"] = U
    rows = record(tmp_path, "--fields", f"{field}:u", "--compress", "deflate:1;deflate:6 digits=3")
    found = {row["entry"]: row for row in rows if row["problem"].startswith("slab")}
    exact = found["tailrace, hidden, deflate:1"]
    rounded = found["tailrace, hidden, deflate:6 digits=3"]
    assert exact["bytes_per_step"] == U.nbytes
    assert "field.h5:u, 40x36x50 double" in exact["problem"]
    assert 0.9 < exact["of_repacked"] < 1.02 and 0.9 < rounded["of_repacked"] < 1.02
    assert rounded["stored"] < 0.6 * exact["stored"]
    result = CliRunner().invoke(app, ["bench", "output", "--fields", "no.h5:u"])
    assert result.exit_code != 0 and "there is no file no.h5" in str(result.exception)
