# SPDX-License-Identifier: BSD-3-Clause
"""What an application adds to the report of its runs, found by the application's name."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from typing import Protocol, cast

from matplotlib.axes import Axes

from tailrace.launch.interrupts import ended_by_interrupts
from tailrace.report.section import Section
from tailrace.runs.folder import Run

USUAL = "turbulence"  # of a case that names no application


class Application(Protocol):
    """The module ``tailrace.apps.NAME.report``."""

    POINTS: str  # what its grid is made of, for the card of the grid

    def sections(self, run: Run) -> Iterable[Section]:
        """Yield its parts of the page; files that are absent leave out theirs."""
        ...

    def cards(self, run: Run) -> Iterable[tuple[str, str]]:
        """Yield figures for the top of the page: text and what it means."""
        ...

    def facts(self, run: Run) -> Iterable[tuple[str, str]]:
        """Yield lines of the table of the run: name and value; an empty value is left out."""
        ...

    def front(self, run: Run) -> Callable[[Axes], None] | None:
        """Return what draws the picture of a front page; None: it has none."""
        ...


def application_of(run: Run) -> Application:
    """Return the module of the application whose run this is.

    A run of an application without such a module is shown as one of the usual application, whose
    parts of the page depend on which files the run has.
    """
    name = str(run.case.get("case", {}).get("application", USUAL))
    module = f"tailrace.apps.{name}.report"
    if not name.isidentifier() or importlib.util.find_spec(f"tailrace.apps.{name}") is None:
        module = f"tailrace.apps.{USUAL}.report"
    if module not in sys.modules:
        with ended_by_interrupts():  # it may load h5py
            importlib.import_module(module)
    return cast(Application, sys.modules[module])
