# SPDX-License-Identifier: BSD-3-Clause
"""A binary wheel takes the compiled parts that fit the MPI library in use, or says why not."""

import os
import sys
from pathlib import Path

import pytest
from stand_ins import write_script

from tailrace import extension, families, programs
from tailrace.errors import TailraceError

MAPS = """\
7f1 r-xp 00000000 00:01 1    /usr/lib/x86_64-linux-gnu/libmpi_cxx.so.40.30.1
7f2 r--p 00000000 00:01 2    /usr/lib/x86_64-linux-gnu/{name}
7f2 r-xp 00000000 00:01 2    /usr/lib/x86_64-linux-gnu/{name}
7f3 r-xp 00000000 00:01 3    [heap]
"""


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package folder of a wheel of two families, in an environment that has no MPI library."""
    package = tmp_path / "lib/python3/site-packages/tailrace"
    for family in ("openmpi", "mpich"):
        (package / "mpi" / family / "bin").mkdir(parents=True)
    (package / "mpi/mpich/lib/debian").mkdir(parents=True)
    (package / "mpi/mpich/lib/debian/libmpi.so.12").touch()
    monkeypatch.setattr(families, "PACKAGE", package)
    monkeypatch.setattr(families, "ROOT", package / "mpi")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(families.site, "ENABLE_USER_SITE", False)
    monkeypatch.setattr(families, "loaded", dict)
    monkeypatch.setattr(families, "libraries_of_mpi4py", set)
    can_be_loaded(monkeypatch)
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    for name in ("TAILRACE_BIN_DIR", "TAILRACE_LAUNCHER", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return package


def can_be_loaded(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let these libraries be what the system's loader finds."""

    def load(name: str) -> None:
        if name not in names:
            raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(families.ctypes, "CDLL", load)


def chosen(**environ: str) -> str:
    return families.choose_for_process(environ).family.name


def refusal(**environ: str) -> str:
    with pytest.raises(TailraceError) as error:
        families.choose_for_process(environ)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("libmpi.so.40.30.4", "libmpi.so.40"),
        ("libmpich.so.12.2.2", "libmpich.so.12"),
        ("libmpi.so.12", "libmpi.so.12"),
        ("libmpi_abi.so.1", "libmpi_abi.so.1"),
    ],
)
def test_loaded_libraries_are_those_of_mpi(tmp_path: Path, file: str, name: str) -> None:
    maps = tmp_path / "maps"
    maps.write_text(MAPS.format(name=file))
    assert families.loaded(maps) == {name: f"/usr/lib/x86_64-linux-gnu/{file}"}
    assert families.family_of_library(name) is not None


def test_a_file_of_libraries_that_is_not_there_shows_none(tmp_path: Path) -> None:
    assert families.loaded(tmp_path / "maps") == {}


@pytest.mark.usefixtures("wheel")
def test_what_is_loaded_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    can_be_loaded(monkeypatch, "libmpi.so.40", "libmpi.so.12")
    monkeypatch.setattr(families, "libraries_of_mpi4py", lambda: {"libmpi.so.40"})
    monkeypatch.setattr(families, "loaded", lambda: {"libmpich.so.12": "/x/libmpich.so.12.2.2"})
    assert chosen() == "mpich"
    assert families.choose_for_process({}).library == "/x/libmpich.so.12.2.2"


@pytest.mark.usefixtures("wheel")
def test_mpi4py_decides_before_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    can_be_loaded(monkeypatch, "libmpi.so.40", "libmpi.so.12")
    monkeypatch.setattr(families, "libraries_of_mpi4py", lambda: {"libmpi.so.12"})
    assert chosen(OMPI_COMM_WORLD_SIZE="1") == "mpich"


@pytest.mark.usefixtures("wheel")
def test_the_launcher_decides_without_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    can_be_loaded(monkeypatch, "libmpi.so.40", "libmpi.so.12")
    assert chosen() == "openmpi"
    assert chosen(OMPI_COMM_WORLD_SIZE="2") == "openmpi"
    assert chosen(PMI_SIZE="2") == "mpich"
    assert chosen(PMI_SIZE="2", SLURM_JOB_ID="1") == "openmpi"  # Slurm sets it for all


@pytest.mark.usefixtures("wheel")
def test_a_library_of_pythons_folder_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    can_be_loaded(monkeypatch, "libmpi.so.12")
    (tmp_path / "lib/libmpi.so.12").touch()
    assert chosen() == "mpich"
    assert families.choose_for_process({}).library == str(tmp_path / "lib/libmpi.so.12")


@pytest.mark.usefixtures("wheel")
def test_a_launcher_of_another_family_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    can_be_loaded(monkeypatch, "libmpi.so.40", "libmpi.so.12")
    monkeypatch.setattr(families, "libraries_of_mpi4py", lambda: {"libmpi.so.12"})
    said = refusal(OMPI_COMM_WORLD_SIZE="3")
    assert "mpi4py uses MPICH" in said and "each of its 3 ranks would be alone" in said
    assert "use the launcher of MPICH" in said


@pytest.mark.usefixtures("wheel")
def test_a_family_that_the_wheel_lacks_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no MPI library was found" in refusal()
    monkeypatch.setattr(families, "loaded", lambda: {"libmpi.so.20": "/x/libmpi.so.20"})
    assert "/x/libmpi.so.20" in refusal() and "Open MPI (libmpi.so.40)" in refusal()
    monkeypatch.setattr(families, "loaded", lambda: {"libmpi_abi.so.1": "/x/libmpi_abi.so.1"})
    assert "/x/libmpi_abi.so.1" in refusal() and "MPICH (libmpi.so.12)" in refusal()
    with pytest.raises(ImportError, match="MPICH"):
        monkeypatch.delitem(sys.modules, "tailrace._core", raising=False)
        monkeypatch.setattr(extension, "_NAMES", ["none.so"])
        extension.load()


def test_the_module_of_the_stable_abi_is_found_after_the_own_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bindings/python"
    folder.mkdir(parents=True)
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(tmp_path))
    own, stable = "_core" + extension.EXTENSION_SUFFIXES[0], "_core.abi3.so"
    (folder / "_core.cpython-39-x86_64-linux-gnu.so").touch()
    assert extension._module_in(folder) is None
    (folder / stable).touch()
    assert extension._module_in(folder) == folder / stable
    assert extension._folder() == [str(folder)]
    (folder / own).touch()
    assert extension._module_in(folder) == folder / own


def test_modules_of_mpi4py_name_their_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "MPI.mpich.so").write_bytes(b"\x7fELF\0libmpi.so.12\0libmpi_cxx.so.40\0libc.so.6\0")
    (package / "MPI.openmpi.so").write_bytes(b"\x7fELF\0libmpi.so.40\0")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "mpi4py", raising=False)
    assert families.libraries_of_mpi4py() == {"libmpi.so.12", "libmpi.so.40"}


def test_debians_mpich_is_found_by_programs(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its library has another name than that of other kinds of MPICH."""
    can_be_loaded(monkeypatch, "libmpich.so.12")
    families.prepare_programs(families.choose_for_process({}))
    assert os.environ["LD_LIBRARY_PATH"] == str(wheel / "mpi/mpich/lib/debian")
    families.prepare_programs(families.choose_for_process({}))  # once
    assert os.environ["LD_LIBRARY_PATH"] == str(wheel / "mpi/mpich/lib/debian")


@pytest.mark.usefixtures("wheel")
def test_libraries_that_the_loader_finds_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/x")
    can_be_loaded(monkeypatch, "libmpi.so.12")
    families.prepare_programs(families.choose_for_process({}))
    (tmp_path / "lib/libmpi.so.12").touch()
    families.prepare_programs(families.choose_for_process({}))
    assert os.environ["LD_LIBRARY_PATH"] == "/x"
    monkeypatch.setattr(families, "loaded", lambda: {"libmpi.so.12": "/opt/mpi/lib/libmpi.so.12"})
    families.prepare_programs(families.choose_for_process({}))
    assert os.environ["LD_LIBRARY_PATH"] == "/x:/opt/mpi/lib"


def test_programs_are_those_of_the_launcher(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for family in ("openmpi", "mpich"):
        write_script(wheel / "mpi" / family / "bin/tailrace-x", "#!/bin/sh\n")
    monkeypatch.setattr(programs, "PACKAGE", wheel)
    can_be_loaded(monkeypatch, "libmpi.so.40", "libmpi.so.12")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    write_script(tmp_path / "mpirun", "#!/bin/sh\necho HYDRA build details\n")
    assert programs.find_program("tailrace-x") == wheel / "mpi/mpich/bin/tailrace-x"
    write_script(tmp_path / "mpirun", "#!/bin/sh\necho mpirun '(Open MPI)' 4.1.4\n")
    assert programs.find_program("tailrace-x") == wheel / "mpi/openmpi/bin/tailrace-x"
    monkeypatch.setenv("PMI_SIZE", "2")  # as ranks of Hydra see it
    assert programs.find_program("tailrace-x") == wheel / "mpi/mpich/bin/tailrace-x"


def test_without_mpi_programs_run_on_one_process(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert families.program_folder() == wheel / "mpi/mpich/bin"
    assert os.environ["LD_LIBRARY_PATH"] == str(wheel / "mpi/mpich/lib/alone")


def test_a_build_of_one_mpi_has_nothing_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(families, "ROOT", tmp_path / "mpi")
    assert families.installed() == {} and families.program_folder() is None
