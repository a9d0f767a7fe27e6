# SPDX-License-Identifier: BSD-3-Clause
"""`--with sparse`: which libraries of sparse matrices a program uses, and what serves them."""

import os
from collections.abc import Callable
from pathlib import Path

from tailrace.advice.setting import Setting
from tailrace.errors import TailraceError
from tailrace.profile.job import find_petsc_plugin, find_trilinos_plugin, linked_libraries

# The names of the shared libraries begin so, in Debian and in other builds.
LIBRARIES = {
    "PETSc": ("libpetsc",),
    "Epetra": ("libtrilinos_epetra.", "libepetra."),
    "Tpetra": ("libtrilinos_tpetra.", "libtpetra."),
}


def used_libraries(program: Path) -> set[str]:
    """Return which of LIBRARIES a program is linked with; empty where that is not seen."""
    linked = linked_libraries(program)
    return {
        name
        for name, starts in LIBRARIES.items()
        if any(library.startswith(starts) for library in linked)
    }


def _serve_petsc() -> dict[str, str]:
    """PETSc loads the plug-in by itself."""
    ours = f"-dll_append {find_petsc_plugin()} -mat_seqaij_type tailrace"
    given = os.environ.get("PETSC_OPTIONS")
    return {"PETSC_OPTIONS": f"{ours} {given}" if given else ours}


def _serve_epetra() -> dict[str, str]:
    """The plug-in is put before Epetra."""
    ours = str(find_trilinos_plugin())
    given = os.environ.get("LD_PRELOAD")
    return {"LD_PRELOAD": f"{ours}:{given}" if given else ours}


SERVED: dict[str, Callable[[], dict[str, str]]] = {"PETSc": _serve_petsc, "Epetra": _serve_epetra}


def sparse_setting(used: set[str]) -> tuple[Setting, list[str]]:
    """Return what serves a program of these libraries, and lines for its user.

    A script, or a program that opens libraries while it runs, does not show what it uses: all
    plug-ins that are found serve it.
    """
    lines = []
    if "Tpetra" in used:
        lines.append("the program uses Tpetra, whose operations are not replaced")
    environment: dict[str, str] = {}
    errors: list[TailraceError] = []
    for name, serve in SERVED.items():
        if used and name not in used:
            continue
        try:
            environment |= serve()
        except TailraceError as error:
            lines.append(f"operations of {name} are not replaced: {error}")
            errors.append(error)
    if errors and not environment:
        raise errors[0]
    return Setting("sparse", environment), lines
