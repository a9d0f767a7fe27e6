# SPDX-License-Identifier: BSD-3-Clause
"""The published Taylor-Green run at Re = 1600, and the runs that can be compared with it."""

from pathlib import Path

import numpy as np

from tailrace.runs.folder import Floats, Run, read_table


def viscosity(run: Run) -> float | None:
    """Return the kinematic viscosity [length^2/time]; None if the case does not give it."""
    flow = run.case.get("flow", {})
    if flow.get("viscosity"):
        return float(flow["viscosity"])
    if flow.get("reynolds"):
        length = float(run.case.get("grid", {}).get("lx", 0) or 2 * np.pi) / (2 * np.pi)
        return length / float(flow["reynolds"])
    return None


def is_taylor_green_1600(run: Run) -> bool:
    """Tell whether the run has the published flow: Taylor-Green, Re = 1600, box 2 pi."""
    flow, grid = run.case.get("flow", {}), run.case.get("grid", {})
    found = viscosity(run)
    box = [float(grid.get(key, 0) or 2 * np.pi) for key in ("lx", "ly", "lz")]
    return (
        flow.get("initial") == "taylor_green"
        and float(flow.get("amplitude", 1)) == 1.0
        and int(flow.get("wavenumber", 1)) == 1
        and found is not None
        and bool(np.isclose(found, 1 / 1600))
        and bool(np.allclose(box, 2 * np.pi))
    )


def published_taylor_green() -> dict[str, Floats]:
    """Return time, energy and enstrophy of the published Taylor-Green run at Re = 1600."""
    return read_table(Path(__file__).parent / "taylor_green_re1600.csv")
