# SPDX-License-Identifier: BSD-3-Clause
"""Settings by name: our libraries, what was remembered of a program, or a file."""

import os
from collections.abc import Mapping
from pathlib import Path

import typer

from tailrace.advice.remembered import find
from tailrace.advice.runner import Runner
from tailrace.advice.setting import Setting, read_settings
from tailrace.advice.sparse_libraries import sparse_setting, used_libraries
from tailrace.errors import TailraceError
from tailrace.profile.job import choose_launcher, find_library

# Words of TAILRACE_IO that say how writes are hidden.
OPTIONS_OF_HIDDEN = ("memory", "through", "fsync")
# Files that serial HDF5 and netCDF write, by their usual names.
HIDDEN_FILES = "*.h5,*.hdf5,*.nc,*.nc4"

# What is put before MPI's library. Calls that our collectives leave to MPI sleep while they wait,
# where that helps.
OWN_LIBRARIES = {
    "waiting": ("wait",),
    "collectives": ("collectives", "wait"),
    "io": ("io",),
    "hidden": ("io",),
}
NAMES = "blas, collectives, hidden, io, refine, remembered, sparse, waiting"


def hidden_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return what `--with hidden` sets: what the user has set stays, where it hides writes."""
    words = given.get("TAILRACE_IO", "hidden")
    if "hidden" not in words.split(","):
        words = f"hidden,{words}" if words.split("=")[0] in OPTIONS_OF_HIDDEN else "hidden"
    return {
        "TAILRACE_IO": words,
        "TAILRACE_IO_CLOSE": given.get("TAILRACE_IO_CLOSE", "later"),
        "TAILRACE_IO_FILES": given.get("TAILRACE_IO_FILES", HIDDEN_FILES),
    }


def named_setting(what: str, runner: Runner) -> Setting:
    """Return the setting `what`: one of NAMES but of dense libraries, or of a file."""
    if what in OWN_LIBRARIES:
        family = choose_launcher(runner.ranks, runner.program)[0]
        libraries = [str(find_library(family, library)) for library in OWN_LIBRARIES[what]]
        before = os.environ.get("LD_PRELOAD")
        if before:
            libraries.append(before)
        environment = {"LD_PRELOAD": ":".join(libraries)}
        if what == "hidden":
            environment |= hidden_environment(os.environ)
        return Setting(what, environment)
    if what == "remembered":
        return read_settings(find(runner.program, runner.arguments, runner.ranks))
    if what == "sparse":
        setting, lines = sparse_setting(used_libraries(runner.program))
        for line in lines:
            typer.echo(f"tailrace: {line}", err=True)
        return setting
    if not Path(what).exists():
        raise TailraceError(f"{what}: neither a settings file nor one of {NAMES}", status=2)
    setting = read_settings(Path(what))
    if not (setting.environment or setting.options or setting.wrapper):
        raise TailraceError(
            f'{what}: contains no settings; expected [environment] with NAME = "VALUE" and '
            '[launcher] with options = [["--bind-to", "core"]]',
            status=2,
        )
    return setting
