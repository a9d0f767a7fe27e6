# SPDX-License-Identifier: BSD-3-Clause
"""What a clone of the repository adds: the studies, and other libraries in our own benchmarks.

Both are Python modules in the folder ``bench`` of the repository, which is not installed.
"""

import importlib
import sys
from types import ModuleType

from tailrace.errors import TailraceError
from tailrace.programs import SOURCE_ROOT

STUDIES = (
    "step",
    "servers",
    "allreduce",
    "scale",
    "tune",
    "dense",
    "blas",
    "sparse",
    "groundwater",
    "helium",
    "bindings",
    "memory-bandwidth",
    "memory",
)


def in_clone() -> bool:
    """Tell whether the package lies in a clone of the repository."""
    return (SOURCE_ROOT / "bench" / "studies" / "__init__.py").is_file()


def require_clone(option: str) -> None:
    """Complain about an option that needs a script of the repository outside of a clone."""
    if not in_clone():
        raise TailraceError(
            f"{option} needs a script in bench/ of a clone of the repository",
            status=2,
        )


def load_module(name: str) -> ModuleType:
    """Import the module ``bench.NAME`` of the clone."""
    if str(SOURCE_ROOT) not in sys.path:
        sys.path.insert(0, str(SOURCE_ROOT))
    return importlib.import_module(f"bench.{name}")


def load_study(name: str) -> ModuleType:
    """Import the module of study `name`; complains outside of a clone."""
    if not in_clone():
        raise TailraceError(
            f"bench {name}: this study is in the repository, not in the installed package; run "
            f"`make build TARGETS=bench/all` and `.venv/bin/tailrace bench {name}` in a clone",
            status=2,
        )
    return load_module(f"studies.{name.replace('-', '_')}")


def other_libraries() -> ModuleType | None:
    """Return the module that adds other libraries to our benchmarks; None: there is no clone."""
    return load_module("studies.other_libraries") if in_clone() else None
