# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace config``: the flags with which compilers and CMake use this installation."""

from typing import Annotated

import typer

from tailrace.errors import TailraceError
from tailrace.installation import (
    CMAKE_DIR,
    LIBRARIES,
    compiler_flags,
    fortran_sources,
    linker_flags,
    prefix_of,
)


def config(
    cflags: Annotated[bool, typer.Option("--cflags", help="Print compiler flags.")] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Print linker flags.")] = False,
    cmake_dir: Annotated[
        bool, typer.Option("--cmake-dir", help="Print the folder for -Dtailrace_DIR=.")
    ] = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Print the folder that contains include/ and lib/.")
    ] = False,
    fortran: Annotated[
        bool,
        typer.Option("--fortran-sources", help="Print the source files of the Fortran module."),
    ] = False,
    language: Annotated[str, typer.Option(help="Language of the program: c or c++.")] = "c",
    mpi: Annotated[
        str | None,
        typer.Option(help="MPI family of a wheel: openmpi, mpich or abi [default: mpirun's]."),
    ] = None,
) -> None:
    """Print the flags that build a program with this installation.

    Example: mpicc heat.c $(tailrace config --cflags --libs)

    Fortran: mpifort $(tailrace config --fortran-sources --cflags) x.f90 $(tailrace config --libs)
    """
    if language not in LIBRARIES:
        raise TailraceError(
            f"--language {language}: the languages are {', '.join(LIBRARIES)}", status=2
        )
    if not (cflags or libs or cmake_dir or prefix or fortran):
        raise TailraceError(
            "name what to print: --cflags, --libs, --cmake-dir, --prefix or --fortran-sources", 2
        )
    folder = prefix_of(mpi)
    words: list[str] = [str(folder)] if prefix else []
    if cmake_dir:
        words.append(str(folder / CMAKE_DIR))
    if fortran:
        words += fortran_sources(folder)
    if cflags:
        words += compiler_flags(folder)
    if libs:
        words += linker_flags(folder, language)
    typer.echo(" ".join(words))
