# SPDX-License-Identifier: BSD-3-Clause
"""Where the headers and libraries of this installation are, and what it was built with."""

import json
import shutil
from pathlib import Path
from typing import Any

import tailrace
from tailrace.errors import TailraceError
from tailrace.families import (
    FAMILIES,
    PACKAGE,
    ROOT,
    Choice,
    choose_for_programs,
    find_library,
    forwarder_of,
    installed,
)

# What a program links, by language.
LIBRARIES = {
    "c": ("tailrace",),
    "c++": ("tailrace_servers", "tailrace_io", "tailrace_fft", "tailrace_move"),
}
CMAKE_DIR = Path("lib/cmake/tailrace")


def prefix_of(family: str | None = None) -> Path:
    """Return the folder that holds include/ and lib/: of a family of the wheel, or of an
    installation by CMake whose programs are on PATH.
    """
    if installed():
        if family is None:
            choice = choose_for_programs()
            family = choice.family.name if choice else next(iter(installed()))
        if family not in installed():
            known = ", ".join(installed())
            raise TailraceError(f"--mpi {family}: this package has {known}", status=2)
        return ROOT / family
    if family is not None:
        raise TailraceError(
            f"--mpi {family}: only a binary wheel contains several families", status=2
        )
    program = shutil.which("tailrace-list")
    prefix = Path(program).resolve().parent.parent if program else None
    if prefix is None or not (prefix / "include" / "tailrace.h").is_file():
        raise TailraceError(
            "no headers are installed: `make install` installs them with programs that must "
            "be on PATH, or install a binary wheel (docs/start.md)"
        )
    return prefix


def compiler_flags(prefix: Path) -> list[str]:
    """Return what a compiler of C or C++ needs."""
    return [f"-I{prefix / 'include'}"]


def fortran_sources(prefix: Path) -> list[str]:
    """Return the sources of the Fortran module, which a program's own compiler compiles."""
    shared = PACKAGE / "fortran" if prefix.parent == ROOT else prefix / "share/tailrace/fortran"
    paths = [shared / name for name in ("arrays.c", "tailrace.f90")]
    if not all(path.is_file() for path in paths):
        raise TailraceError(f"{shared} has no sources of the Fortran module")
    return [str(path) for path in paths]


def linker_flags(prefix: Path, language: str) -> list[str]:
    """Return what links a program, which then finds the libraries where they are now."""
    lib = prefix / "lib"
    flags = [f"-L{lib}", f"-Wl,-rpath,{lib}", *(f"-l{name}" for name in LIBRARIES[language])]
    if prefix.parent != ROOT:
        return flags
    # The libraries of a wheel ask for MPI's by a name that need not be the one of the compiler's.
    flags.append("-Wl,--unresolved-symbols=ignore-in-shared-libs")
    family = FAMILIES[prefix.name]
    if forwarder := forwarder_of(Choice(family, "", find_library(family))):
        library = forwarder / family.libraries[0]
        flags += ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{forwarder}"]
    return flags


def describe(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the version and how the package was built; None for what is not known.

    `tables` are those of ``tailrace list``; a build of the source tree knows nothing else.
    """
    about: dict[str, Any] = {"commit": None, "compiler": None, "hdf5": None, "processor": None}
    if (ROOT / "about.json").is_file():
        about |= json.loads((ROOT / "about.json").read_text())
    entries = [
        entry for table in tables if table["name"] == "kernels" for entry in table["entries"]
    ]
    families = {name: list(FAMILIES[name].libraries) for name in installed()}
    return {
        "version": tailrace.__version__,
        "build": {name: about[name] for name in ("commit", "compiler", "processor")},
        "mpi_families": families,
        "hdf5": about["hdf5"],
        "kernels": [entry["name"] for entry in entries if entry["available"]],
    }
