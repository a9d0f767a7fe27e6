# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace config` prints flags of this installation, `--version --json` how it was built."""

import json
from pathlib import Path

import pytest
from stand_ins import write_script
from typer.testing import CliRunner

import tailrace
from tailrace import families, installation
from tailrace.cli import app


def printed(*words: str) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for family in ("openmpi", "mpich"):
        (tmp_path / family).mkdir()
    for module in (families, installation):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(installation, "choose_for_programs", lambda: None)
    return tmp_path


def test_flags_of_a_family_of_a_wheel(wheel: Path) -> None:
    lib = wheel / "mpich/lib"
    assert printed("config", "--cflags", "--mpi", "mpich") == f"-I{wheel}/mpich/include"
    words = printed("config", "--libs", "--mpi", "mpich").split()
    assert words[:3] == [f"-L{lib}", f"-Wl,-rpath,{lib}", "-ltailrace"]
    assert printed("config", "--cmake-dir", "--mpi", "mpich") == f"{lib}/cmake/tailrace"
    words = printed("config", "--libs", "--language", "c++", "--mpi", "mpich").split()
    assert words[2:6] == [f"-ltailrace_{name}" for name in ("servers", "io", "fft", "move")]


def test_programs_find_debians_mpich(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forwarder = wheel / "mpich/lib/debian/libmpi.so.12"
    forwarder.parent.mkdir(parents=True)
    forwarder.touch()
    monkeypatch.setattr(installation, "find_library", lambda _: "libmpi.so.12")
    assert str(forwarder) not in printed("config", "--libs", "--mpi", "mpich")
    monkeypatch.setattr(installation, "find_library", lambda _: "libmpich.so.12")
    words = printed("config", "--libs", "--mpi", "mpich").split()
    assert str(forwarder) in words and f"-Wl,-rpath,{forwarder.parent}" in words


def test_flags_of_the_family_in_use(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed("config", "--prefix") == str(wheel / "openmpi")  # no MPI library: the first
    choice = families.Choice(families.FAMILIES["mpich"], "the launcher")
    monkeypatch.setattr(installation, "choose_for_programs", lambda: choice)
    assert printed("config", "--prefix") == str(wheel / "mpich")


def test_sources_of_fortran(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "PACKAGE", wheel.parent / "tailrace")
    done = CliRunner().invoke(app, ["config", "--fortran-sources"])
    assert "tailrace/fortran has no sources of the Fortran module" in str(done.exception)
    folder = wheel.parent / "tailrace" / "fortran"
    folder.mkdir(parents=True)
    for name in ("arrays.c", "tailrace.f90"):
        (folder / name).touch()
    words = printed("config", "--fortran-sources", "--cflags").split()
    assert words == [
        f"{folder}/arrays.c", f"{folder}/tailrace.f90", f"-I{wheel}/openmpi/include"
    ]  # fmt: skip


def test_a_family_that_the_wheel_lacks_is_refused(wheel: Path) -> None:
    done = CliRunner().invoke(app, ["config", "--prefix", "--mpi", "abi"])
    assert done.exit_code != 0
    assert "--mpi abi: this package has openmpi, mpich" in str(done.exception), wheel


def test_flags_of_an_installation_by_cmake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bin", "include"):
        (tmp_path / name).mkdir()
    write_script(tmp_path / "bin/tailrace-list", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    done = CliRunner().invoke(app, ["config", "--prefix"])
    assert "no headers are installed" in str(done.exception)
    (tmp_path / "include/tailrace.h").touch()
    assert printed("config", "--prefix") == str(tmp_path)


def test_the_version_and_how_it_was_built(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(wheel))  # that has no programs
    (wheel / "about.json").write_text(json.dumps({"hdf5": "1.10.8", "compiler": "GNU 12.2.0"}))
    found = json.loads(printed("--version", "--json"))
    assert found["version"] == tailrace.__version__
    assert found["mpi_families"]["mpich"] == ["libmpi.so.12", "libmpich.so.12"]
    assert found["hdf5"] == "1.10.8" and found["build"]["compiler"] == "GNU 12.2.0"
    assert found["build"]["commit"] is None and found["kernels"] == []
    assert printed("--version") == f"tailrace {tailrace.__version__}"
