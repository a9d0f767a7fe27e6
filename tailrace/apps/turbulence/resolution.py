# SPDX-License-Identifier: BSD-3-Clause
"""Whether a grid resolves its flow: from the smallest eddies, and from the published run."""

import numpy as np

from tailrace.apps.turbulence.published import (
    is_taylor_green_1600,
    published_taylor_green,
    viscosity,
)
from tailrace.runs.folder import Run

TOLERANCE = 0.02  # of the dissipation


def largest_wave_number(run: Run) -> float | None:
    """Return the largest wave number that is kept along every axis [1/length]; None if unknown."""
    grid = run.case.get("grid", {})
    n = int(grid.get("n", 0) or 0)
    points = [int(grid.get(key, 0) or n) for key in ("nx", "ny", "nz")]
    lengths = [float(grid.get(key, 0) or 2 * np.pi) for key in ("lx", "ly", "lz")]
    if not all(points):
        return None
    two_thirds = run.case.get("dealias", {}).get("method", "two_thirds") == "two_thirds"
    kept = [(m - 1) // 3 if two_thirds else m // 2 for m in points]
    return min(2 * np.pi / length * k for k, length in zip(kept, lengths, strict=True))


def resolved_scale(run: Run) -> float | None:
    """Return the smallest kmax eta of the run; eta = (nu^3 / dissipation)^(1/4)."""
    kmax = largest_wave_number(run)
    dissipation = run.statistics.get("dissipation")
    nu = viscosity(run)
    if kmax is None or nu is None or dissipation is None or not len(dissipation):
        return None
    most = float(np.max(dissipation))
    return kmax * (nu**3 / most) ** 0.25 if most > 0 else None


def leaves_published_at(run: Run) -> float | None:
    """Return the time from which dissipation is off the published curve; None if it never is."""
    if not is_taylor_green_1600(run) or "dissipation" not in run.statistics:
        return None
    published = published_taylor_green()
    time = run.statistics["time"]
    known = time <= published["time"][-1]
    expected = np.interp(time[known], published["time"], 2 / 1600 * published["enstrophy"])
    off = np.abs(run.statistics["dissipation"][known] / expected - 1) > TOLERANCE
    return float(time[known][np.argmax(off)]) if off.any() else None


def resolution_text(run: Run) -> str:
    """Return what there is to say about the resolution; "" if the grid resolves the flow."""
    scale = resolved_scale(run)
    if scale is None or scale >= 1:
        return ""
    text = f"This grid does not resolve the flow: kmax eta falls to {scale:.2f}, where 1 is needed"
    leaves = leaves_published_at(run)
    if leaves is not None:
        text += f"; from t = {leaves:.2g} on the dissipation is off the published one by over 2 %"
    return text + "."
