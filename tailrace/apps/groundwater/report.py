# SPDX-License-Identifier: BSD-3-Clause
"""What the page of a groundwater run shows: the ground at the end, the balances of its steps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from tailrace.report.html import picture, png
from tailrace.report.section import Section
from tailrace.report.style import ACCENT, INK, REFERENCE
from tailrace.runs.folder import Floats, Run, read_table

POINTS = "cells"
MOST_PICTURES = 6
MOST_PROFILES = 6
MOST_SPECIES = 15
MOST_BREAKTHROUGHS = 3
# What is looked at first; others in the order of the file.
FIRST = ("conductivity", "head", "saturation", "pressure_head", "pH")
DAY = 86400.0


def sections(run: Run) -> Iterable[Section]:
    """Yield the parts of the page; files that there are not leave out theirs."""
    balance = read_table(run.folder / "balance.csv", ("time", "relative_error"))
    rows = []
    if run.fields:
        rows.append(("half", list(_field_pictures(run.fields))))
    curves = list(_curves(run, balance))
    if curves:
        rows.append(("", curves))
    if rows:
        note = (
            "The last field file (planes through the middle; profiles at several times where the "
        )
        note += "ground has one axis only), and how well water and species are balanced."
        yield Section("ground", "The ground", note, rows)
    table = _reductions(run.summary.get("reductions"))
    if table:
        note = "Operations among all ranks by size; the longest time of any rank, with waiting."
        yield Section("reductions", "Reductions", note, table=table)


def facts(_run: Run) -> Iterable[tuple[str, str]]:
    """Yield nothing: what all runs show suffices."""
    return []


def front(_run: Run) -> Callable[[Axes], None] | None:
    """Return None: there is no picture for a front page."""
    return None


def _reductions(found: object) -> list[tuple[str, ...]]:
    """Return the heads and a row for each kind and size; nothing of runs that did not count."""
    rows = found.get("by_size", []) if isinstance(found, dict) else []
    if not rows:
        return []
    table: list[tuple[str, ...]] = [("operation", "number", "time", "each")]
    for row in rows:
        size = f" of up to {row['max_bytes']} bytes" if row["max_bytes"] else ""
        each = 1e6 * row["time_s"] / row["count"]
        table.append(
            (row["kind"] + size, f"{row['count']:,}", f"{row['time_s']:.3g} s", f"{each:.3g} us")
        )
    return table


def shown_names(file: h5py.File) -> list[str]:
    """Return the variables worth a picture: FIRST, then those that vary the most."""
    names = [
        name
        for name, data in file.items()
        if isinstance(data, h5py.Dataset) and data.ndim == 3 and not name.startswith("flux")
    ]

    def spread(name: str) -> float:
        values = file[name][()]
        scale = float(np.abs(values).max())
        return float(np.ptp(values)) / scale if scale > 0 else 0.0

    varied = {name: spread(name) for name in names}
    names = [name for name in names if varied[name] > 1e-9]
    place = {name: number for number, name in enumerate(FIRST)}
    names.sort(key=lambda name: (place.get(name, len(FIRST)), -varied[name]))
    return names[:MOST_PICTURES]


def _field_pictures(files: list[Path]) -> Iterable[Markup]:
    with h5py.File(files[-1]) as file:
        names = shown_names(file)
        axes_of = {key: file[key][()] for key in ("z", "y", "x") if key in file}
        shape = file[names[0]].shape if names else ()
        at = float(file.attrs.get("time", 0.0))
        values = {name: file[name][()] for name in names}
        titles = {name: title(file[name]) for name in names}
    if not names:
        return
    long = [axis for axis in range(3) if shape[axis] > 1]
    if len(long) < 2:
        axis = long[0] if long else 2
        for name in names:
            yield picture(_profile_drawer(files, name, titles[name], axis), (4.6, 3.2))
        return
    # Of three axes the middle of y is cut, so that x and z are seen.
    down, across = (long[0], long[-1])
    cut = next(axis for axis in range(3) if axis not in (down, across))
    for name in names:
        plane = np.take(values[name], shape[cut] // 2, axis=cut)
        drawer = _plane_drawer(plane, titles[name], at, [axes_of["zyx"[a]] for a in (down, across)])
        yield picture(drawer("zyx"[down], "zyx"[across]), (4.6, 2.6), png)


def _plane_drawer(plane: Floats, what: str, at: float, centres: list[Floats]) -> Any:
    logarithmic = bool(plane.min() > 0 and plane.max() > 30 * plane.min())

    def for_axes(down: str, across: str) -> Any:
        def draw(axes: Axes) -> None:
            norm = LogNorm(plane.min(), plane.max()) if logarithmic else None
            image = axes.pcolormesh(
                centres[1], centres[0], plane, norm=norm, cmap="viridis", rasterized=True
            )
            axes.set(xlabel=f"{across} [m]", ylabel=f"{down} [m]")
            axes.set_title(f"{what}, {days_text(at)}")
            axes.figure.colorbar(image, ax=axes)

        return draw

    return for_axes


def title(data: h5py.Dataset) -> str:
    """Return a variable's name and unit, as its file has them."""
    unit = data.attrs.get("units", b"1")
    unit = unit.decode() if isinstance(unit, bytes) else str(unit)
    name = str(data.name).strip("/").replace("_", " ")
    return name if unit == "1" else f"{name} [{unit}]"


def days_text(seconds: float) -> str:
    """Return a time in days, with as many digits as a reader wants."""
    days = seconds / DAY
    return f"{days:,.0f} days" if days >= 100 else f"{days:.3g} days"


def _profile_drawer(files: list[Path], name: str, what: str, axis: int) -> Any:
    count = min(MOST_PROFILES, len(files))
    chosen = [files[round(i * (len(files) - 1) / max(1, count - 1))] for i in range(count)]

    def draw(axes: Axes) -> None:
        for number, path in enumerate(dict.fromkeys(chosen)):
            with h5py.File(path) as file:
                if name not in file:
                    continue
                centres, values = file["zyx"[axis]][()], file[name][()].ravel()
                label = days_text(float(file.attrs.get("time", 0.0)))
            shade = (number + 1) / (count + 0.5)
            if axis == 0:
                axes.plot(values, centres, color=ACCENT, alpha=shade, label=label)
            else:
                axes.plot(centres, values, color=ACCENT, alpha=shade, label=label)
        place = f"{'zyx'[axis]} [m]"
        axes.set(xlabel=what if axis == 0 else place, ylabel=place if axis == 0 else what)
        axes.legend(loc="best")

    return draw


def _curves(run: Run, balance: dict[str, Floats]) -> Iterable[Markup]:
    size = (3.5, 2.75)
    yield from _breakthrough(run.folder / "breakthrough.csv", size)
    species = _species(run.folder / "species.csv")
    if species:

        def amounts(axes: Axes) -> None:
            for name, one in list(species.items())[:MOST_SPECIES]:
                change = one.amount - one.amount[0]
                scale = np.abs(change).max()
                if scale > 0:
                    axes.plot(one.time / DAY, change / scale, label=name, linewidth=1.1)
            axes.set(
                title="Amounts since the start", xlabel="t [days]", ylabel="change / its largest"
            )
            axes.legend(ncols=2, fontsize=6)

        yield picture(amounts, size)
    if len(balance.get("time", [])) > 1:

        def steps(axes: Axes) -> None:
            axes.loglog(balance["time"] / DAY, balance["dt"] / DAY, color=INK)
            axes.set(title="Time step", xlabel="t [days]", ylabel="dt [days]")

        def errors(axes: Axes) -> None:
            water = np.abs(balance["relative_error"])
            curves = [("water", balance["time"], water, ACCENT)]
            if species:
                time = next(iter(species.values())).time
                worst = np.max([np.abs(one.error) for one in species.values()], axis=0)
                curves.append(("worst species", time, worst, REFERENCE))
            for name, time, values, colour in curves:
                axes.loglog(time / DAY, np.maximum(values, 1e-18), color=colour, label=name)
            axes.set(title="Balances", xlabel="t [days]", ylabel="error / what moved")
            axes.legend()

        yield picture(steps, size)
        yield picture(errors, size)


def _breakthrough(path: Path, size: tuple[float, float]) -> Iterable[Markup]:
    """Yield a picture for each species that varies most, with a curve for each region."""
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for line in _lines(path, "step,time,region,species,concentration"):
        row = (float(line["time"]), float(line["concentration"]))
        curves.setdefault(line["species"], {}).setdefault(line["region"], []).append(row)

    def spread(name: str) -> float:
        values = np.array([c for rows in curves[name].values() for _, c in rows])
        return float(np.ptp(values) / max(np.abs(values).max(), 1e-300))

    for name in sorted(curves, key=spread, reverse=True)[:MOST_BREAKTHROUGHS]:

        def draw(axes: Axes, name: str = name) -> None:
            for region, rows in curves[name].items():
                time, concentration = np.array(rows).T
                axes.plot(time / DAY, concentration, label=region)
            axes.set(
                title=f"Breakthrough of {name}", xlabel="t [days]", ylabel="mean total [mol/L]"
            )
            axes.legend()

        yield picture(draw, size)


def _lines(path: Path, head: str) -> list[dict[str, str]]:
    """Return the whole lines of a table of the run; the last may still be being written."""
    if not path.is_file():
        return []
    keys = head.split(",")
    first, *lines = path.read_text().split("\n")[:-1]
    rows = [dict(zip(keys, line.split(","), strict=False)) for line in lines]
    return [row for row in rows if len(row) == len(keys)] if first == head else []


@dataclass(frozen=True)
class SpeciesTable:
    """A species over time [s]: amount [mol] and relative error of its balance."""

    time: Floats
    amount: Floats
    error: Floats


def _species(path: Path) -> dict[str, SpeciesTable]:
    """Return the lines of each species, by name."""
    if not path.is_file():
        return {}
    head, *lines = path.read_text().splitlines()
    keys = head.split(",")
    found: dict[str, list[list[float]]] = {}
    for line in lines:
        cells = dict(zip(keys, line.split(","), strict=False))
        if len(cells) == len(keys):  # the last line may still be being written
            row = [float(cells[key]) for key in ("time", "amount", "relative_error")]
            found.setdefault(cells["species"], []).append(row)
    length = min(map(len, found.values()), default=0)
    return {
        name: SpeciesTable(*np.array(rows[:length]).T) for name, rows in found.items() if length > 1
    }


def cards(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the figures of the ground for the top of the page."""
    summary = run.summary
    if isinstance(summary.get("time"), int | float):
        yield days_text(summary["time"]), "time reached"
    cells = summary.get("input")
    if cells:
        size = f"{cells['bytes_read'] / 1e6:.3g} MB in {cells['reads']}"
        pattern = f"{cells['pattern']}, {cells['readers']} readers"
        yield size, f"requests: the file of cells ({pattern})"
    for key, what in (("balance", "water"), ("species_balance", "species")):
        worst = summary.get(f"worst_relative_{key}")
        if isinstance(worst, int | float):
            yield f"{worst:.0e}", f"worst balance of {what}"
