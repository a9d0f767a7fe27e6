# SPDX-License-Identifier: BSD-3-Clause
"""Tailrace keeps parallel simulations computing while their data moves.

The library from Python: layouts, exchanges, reductions, files, sessions; transforms in
`tailrace.fft` (docs/bindings.md). Its compiled part is loaded when one of these is first used: the
command line starts without it.
"""

import sys

from tailrace.old_names import RENAMED, OldNames

__version__ = "0.2.0.dev0"

# As `typing` has it, whose import would take most of the time until the command heeds Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tailrace._core import (
        Box,
        Exchange,
        File,
        Input,
        Layout,
        Memory,
        Output,
        Plan,
        Reduction,
        Session,
        Trace,
        Variable,
        blocks,
        cart_blocks,
        choose,
        cyclic_domains,
        fft_kernels,
        file_domains,
        file_strategies,
        from_boxes,
        hint_table,
        move_methods,
        now_s,
        own_box,
        own_boxes,
        pencils,
        reduction_methods,
        remembered,
        slabs,
        this_machine,
        triangle,
    )
    from tailrace.errors import CorruptData, Error, FileFailure, InvalidInput, MpiFailure
    from tailrace.product import Product

__all__ = [
    "Box",
    "CorruptData",
    "Error",
    "Exchange",
    "File",
    "FileFailure",
    "Input",
    "InvalidInput",
    "Layout",
    "Memory",
    "MpiFailure",
    "Output",
    "Plan",
    "Product",
    "Reduction",
    "Session",
    "Trace",
    "Variable",
    "blocks",
    "cart_blocks",
    "choose",
    "cyclic_domains",
    "fft_kernels",
    "file_domains",
    "file_strategies",
    "from_boxes",
    "hint_table",
    "move_methods",
    "now_s",
    "own_box",
    "own_boxes",
    "pencils",
    "reduction_methods",
    "remembered",
    "slabs",
    "this_machine",
    "triangle",
]

_ERRORS = ("CorruptData", "Error", "FileFailure", "InvalidInput", "MpiFailure")


sys.meta_path.append(OldNames)


def __getattr__(name: str) -> "Any":
    if name in RENAMED:
        import warnings  # noqa: PLC0415

        warnings.warn(
            f"tailrace.{name} is now tailrace.{RENAMED[name]}", DeprecationWarning, stacklevel=2
        )
        return __getattr__(RENAMED[name])
    if name not in __all__:
        raise AttributeError(f"module 'tailrace' has no attribute '{name}'")
    if name in _ERRORS:
        from tailrace import errors as home  # noqa: PLC0415
    elif name == "Product":
        from tailrace import product as home  # type: ignore[no-redef]  # noqa: PLC0415
    else:
        from tailrace.extension import load  # noqa: PLC0415

        home = load()
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
