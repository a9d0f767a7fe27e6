# SPDX-License-Identifier: BSD-3-Clause
"""Finds the compiled module: beside this file, in the folder of the family of MPI that this process
uses (tailrace/families.py), or in a build of the source tree.
"""

import atexit
import importlib
import importlib.machinery
import os
import sys
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
_NAME = "_core" + importlib.machinery.EXTENSION_SUFFIXES[0]


def _folder() -> list[str]:
    """Return the folder that holds the module: of TAILRACE_BIN_DIR, package or newest build."""
    chosen = os.environ.get("TAILRACE_BIN_DIR")
    builds = [_HERE.parent / "build" / name for name in ("release", "ci", "debug", "asan")]
    files = [root / "bindings" / "python" / _NAME for root in builds]
    if chosen:
        first = Path(chosen) / "bindings" / "python" / _NAME
        if first.is_file():
            return [str(first.parent)]
    if installed():
        choice = choose_for_process()
        load_library(choice)
        prepare_programs(choice)
        return [str(ROOT / choice.family.name)]
    found = sorted(
        (file for file in files if file.is_file()), key=lambda file: file.stat().st_mtime
    )
    return [str(file.parent) for file in found[-1:]]


def _close_all(core: ModuleType) -> None:
    """Close what is open before MPI is finalized; not after an exception: others may not come."""
    failing = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    core._close_all(failing is not None)


def load() -> ModuleType:
    """Import tailrace._core; an ImportError says how to build it."""
    if "tailrace._core" in sys.modules:
        return sys.modules["tailrace._core"]
    if not (_HERE / _NAME).is_file():
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
            f"({sys.version_info.major}.{sys.version_info.minor}); run `make python`, or name the "
            "build folder in TAILRACE_BIN_DIR"
        ) from None
    atexit.register(_close_all, core)
    return core
