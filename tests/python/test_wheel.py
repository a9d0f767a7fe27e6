# SPDX-License-Identifier: BSD-3-Clause
"""The wheel holds all that the command and the module need: tried in an empty folder."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

FIELDS = """
import numpy as np
from mpi4py import MPI

import tailrace

comm = MPI.COMM_WORLD
layout = tailrace.slabs((8, 6), 0, comm.size)
part = np.full(layout.shape(comm.rank), 3.0)
with tailrace.Output(comm, servers="process") as output:
    output.write("u.h5", {"u": part}, layout)
"""


sys.path.insert(0, str(ROOT / "tools"))
import pack_wheel  # noqa: E402


def run(words: list[str], folder: Path, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "TAILRACE_BIN_DIR"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        words, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("has_stable", [False, True])
def test_tags_name_the_interpreters_that_the_modules_are_for(
    tmp_path: Path, has_stable: bool
) -> None:
    about = tmp_path / "tailrace-0.2.dist-info/WHEEL"
    about.parent.mkdir()
    about.write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    module = tmp_path / "tailrace/mpi/openmpi/_core.abi3.so"
    module.parent.mkdir(parents=True)
    if has_stable:
        module.touch()
    pack_wheel.put_tags(tmp_path)
    lines = about.read_text().splitlines()
    own = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert lines[1] == "Root-Is-Purelib: false"
    assert f"Tag: {own}-{own}-linux_x86_64" in lines
    assert ("Tag: cp312-abi3-linux_x86_64" in lines) == has_stable
    assert len(lines) == (6 if has_stable and own != "cp312" else 4 if has_stable else 3)


@pytest.mark.parametrize(
    ("family", "macro"),
    [("openmpi", "OPEN_MPI"), ("mpich", "MPICH_NAME"), ("abi", "MPI_ABI_VERSION")],
)
def test_headers_refuse_the_mpi_of_another_family(tmp_path: Path, family: str, macro: str) -> None:
    include = tmp_path / "include"
    (include / "tailrace").mkdir(parents=True)
    (include / "tailrace/comm.hpp").write_text("#pragma once\n#include <mpi.h>\n#include <span>\n")
    (include / "tailrace/shape.hpp").write_text("#pragma once\n")
    pack_wheel.guard_headers(family, include)
    assert (include / "tailrace/shape.hpp").read_text() == "#pragma once\n"
    (tmp_path / "mpi.h").touch()
    words = ["g++", "-std=c++20", "-fsyntax-only", f"-I{include}", f"-I{tmp_path}"]
    words += ["-x", "c++", str(include / "tailrace/comm.hpp")]
    run([*words, f"-D{macro}=1"], tmp_path)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "tailrace config --mpi" in done.stderr


@pytest.mark.slow
def test_a_wheel_needs_no_source_tree(tmp_path: Path) -> None:
    run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)],
        ROOT,
    )
    (wheel,) = tmp_path.glob("tailrace-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tailrace"}  # no bench/
    libraries = {Path(name).name for name in names if "/lib/" in name}
    for name in ("mpi", "wait", "collectives", "io"):  # of at least one family
        assert any(one.startswith(f"libtailrace_{name}_") for one in libraries), libraries
    assert {"libtailrace_blas.so", "libtailrace_lapack.so"} <= libraries
    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env" / "bin" / "python")
    run([python, "-m", "pip", "install", "-q", f"{wheel}[python]"], tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    command = str(tmp_path / "env" / "bin" / "tailrace")
    assert "taylor_green" in run([command, "list", "cases"], empty)
    options = ["-n", "2", "--set", "grid.n=16", "--set", "time.max_steps=2", "--run-dir", "flow"]
    run([command, "run", "taylor_green", *options], empty)
    assert (empty / "flow" / "summary.json").is_file()
    (empty / "fields.py").write_text(FIELDS)
    run(["mpirun", "-n", "2", python, "fields.py"], empty)
    (empty / "look.py").write_text("import h5py; print(h5py.File('u.h5')['u'][...].sum())")
    assert run([python, "look.py"], empty).strip() == str(3.0 * 8 * 6)
    assert str(tmp_path) in run(
        [python, "-c", "import tailrace.extension as e; print(e.load().__file__)"], empty
    )
    for words in (
        ["fft", "--points", "16", "--ranks", "2"],
        ["exchange", "--patterns", "uniform", "--sizes", "8", "--ranks", "2"],
        ["io", "--folder", ".", "--ranks", "2", "--bytes", "100000", "--entries", "tailrace auto"],
        [
            "output",
            "--folder",
            ".",
            "--points",
            "16",
            "--steps",
            "1",
            "--compute-s",
            "0",
            "--ranks",
            "2",
        ],
    ):
        assert "tailrace" in run([command, "bench", *words, "--rounds", "1"], empty)
    profile = run([command, "profile", "-n", "2", "--", python, "fields.py"], empty)
    assert "MPI" in profile
