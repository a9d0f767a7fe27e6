# SPDX-License-Identifier: BSD-3-Clause
"""Where subcommands print their tables."""

import sys

from rich.console import Console


def make_console() -> Console:
    """Return a console wide enough for the tables where the output goes to a file.

    It takes no markup: in "rows [s]" the unit would be a style, and vanish.
    """
    return Console(width=None if sys.stdout.isatty() else 150, markup=False)
