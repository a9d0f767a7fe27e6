# SPDX-License-Identifier: BSD-3-Clause
"""Finds the compiled module: beside this file, in the folder of the family of MPI that this process
uses (tailrace/families.py), or in a build of the source tree.
"""

import atexit
import importlib
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from tailrace.errors import TailraceError
from tailrace.families import (
    ROOT,
    choose_for_process,
    installed,
    load_library,
    prepare_programs,
)

_HERE = Path(__file__).resolve().parent
# The names of the module for this interpreter, its own first: those of its stable ABI follow.
_NAMES = ["_core" + suffix for suffix in EXTENSION_SUFFIXES]


def _module_in(folder: Path) -> Path | None:
    """Return the compiled module that this interpreter would load from a folder."""
    return next((folder / name for name in _NAMES if (folder / name).is_file()), None)


def _folder() -> list[str]:
    """Return the folder that holds the module: of TAILRACE_BIN_DIR, package or newest build."""
    chosen = os.environ.get("TAILRACE_BIN_DIR")
    builds = [_HERE.parent / "build" / name for name in ("release", "ci", "debug", "asan")]
    if chosen and (first := _module_in(Path(chosen) / "bindings" / "python")):
        return [str(first.parent)]
    if installed():
        choice = choose_for_process()
        load_library(choice)
        prepare_programs(choice)
        return [str(ROOT / choice.family.name)]
    files = [_module_in(root / "bindings" / "python") for root in builds]
    found = sorted((file for file in files if file), key=lambda file: file.stat().st_mtime)
    return [str(file.parent) for file in found[-1:]]


def _close_all(core: ModuleType) -> None:
    """Close what is open before MPI is finalized; not after an exception: others may not come."""
    failing = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    core._close_all(failing is not None)


def load() -> ModuleType:
    """Import tailrace._core; an ImportError says how to build it."""
    if "tailrace._core" in sys.modules:
        return sys.modules["tailrace._core"]
    if _module_in(_HERE) is None:
        try:
            sys.modules["tailrace"].__path__ += _folder()
        except TailraceError as error:
            raise ImportError(str(error)) from None
    try:
        core = importlib.import_module("tailrace._core")
    except ModuleNotFoundError as error:
        if error.name != "tailrace._core":
            raise
        raise ImportError(
            "the compiled part of tailrace is not built for this Python "
            f"({sys.version_info.major}.{sys.version_info.minor}); run `make python`, or set "
            "TAILRACE_BIN_DIR to the build folder"
        ) from None
    atexit.register(_close_all, core)
    return core
