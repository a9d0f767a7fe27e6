# SPDX-License-Identifier: BSD-3-Clause
"""``make demo-helium``: a pulse of 40.8 eV on helium in both gauges, and what output costs.

Leaves FOLDER/velocity and FOLDER/length (runs), FOLDER/output (a run whose densities and
checkpoints were written hidden, others of its rounds below it) and the picture FOLDER/helium.png.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tailrace.apps.helium.report import chosen_files, colours, draw_density
from tailrace.errors import TailraceError
from tailrace.files import write_whole
from tailrace.report.page import run_page
from tailrace.runs.folder import read_table
from tailrace.runs.output_cost import typical
from tailrace.runs.output_modes import (
    Round,
    cost_of,
    noise_text,
    others_used,
    run_rounds,
    run_to_end,
)
from tailrace.runs.simulation import Job

GAUGES = ("velocity", "length")
SETTINGS = ["output.every=25", "checkpoint.every=25"]
WHOLE = ["observables.every=2"]
ROUNDS = 2


def draw(folder: Path, picture: Path) -> None:
    """Draw the density at four times, and how the ground state empties in both gauges."""
    files = sorted((folder / GAUGES[0] / "fields").glob("*.h5"))
    chosen = chosen_files(files)
    figure = Figure(figsize=(14, 6.2), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.25, 1])
    upper, lower = parts
    panels = upper.subplots(1, len(chosen), sharey=True)
    norm = colours(chosen)
    for panel, path in zip(panels, chosen, strict=True):
        image = draw_density(panel, path, norm)
    panels[0].set_ylabel("r2 [bohr]")
    figure.colorbar(image, ax=panels, label="|f(r1, r2)|^2, all partial waves")
    field_panel, yield_panel = lower.subplots(1, 2)
    for gauge in GAUGES:
        table = read_table(folder / gauge / "observables.csv", ("time", "ground"))
        yield_panel.plot(table["time"], 1 - table["ground"], label=f"{gauge} gauge")
    field_panel.plot(table["time"], table["field"], color="black")
    field_panel.set(xlabel="t [a.u.]", ylabel="E(t) [a.u.]", title="Electric field")
    yield_panel.set(
        xlabel="t [a.u.]",
        ylabel="1 - population",
        title="Left the ground state (gauges: at the end)",
    )
    yield_panel.legend()
    figure.savefig(picture, dpi=110)


def summary_of(folder: Path) -> dict[str, Any]:
    """Return RUN/summary.json."""
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def tell_physics(folder: Path) -> None:
    """Print what both gauges say beside each other and beside the measurements."""
    ends = {gauge: summary_of(folder / gauge) for gauge in GAUGES}
    for gauge, found in ends.items():
        print(
            f"{gauge + ' gauge:':16}ionised {found['left_ground']:.5e}, cross-section "
            f"{found['cross_section_mb']:.4g} Mb, both electrons free "
            f"{found['ionisation']['both']:.1e}, norm - 1 = {found['norm'] - 1:.0e}"
        )
    one, other = (ends[gauge]["left_ground"] for gauge in GAUGES)
    print(f"The gauges differ by {100 * abs(other / one - 1):.2f} %.")


def tell_cost(rounds: list[Round], found: dict[str, Any], busy_cores: int) -> None:
    """Print what densities and checkpoints cost."""
    for mode in ("synchronous", "hidden"):
        print(f"{mode + ' output:':20}{cost_of(rounds, mode).text()} of the run without output")
        pieces = [one[mode].within for one in rounds]
        within = typical([piece for piece in pieces if piece])
        if within:
            print(f"{'':20}densities, measured within the runs: {within.text()}")
    written = sum(found[key]["bytes"] for key in ("output", "checkpoints"))
    stall = sum(found[key]["stall_s"] for key in ("output", "checkpoints"))
    print(f"Hidden: {written / 1e6:.1f} MB a run, for which it stood still {1e3 * stall:.0f} ms.")
    noise = noise_text({name: [one[name].seconds for one in rounds] for name in rounds[0]})
    others = others_used(rounds, os.cpu_count() or 1, busy_cores)
    print(". ".join([noise.capitalize(), *(f"Meanwhile {other}" for other in others)]) + ".")


def main() -> int:
    """Run the demo in a new folder below ``runs/``, or in the one that is named."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else time.strftime("runs/helium-%Y%m%d-%H%M%S"))
    job = Job("helium/photon", ranks=2, settings=SETTINGS, overwrite=True)
    print(
        f"Helium, 10 cycles of 40.8 eV, 2 ranks; results in {folder}; about two minutes", flush=True
    )
    rounds: list[Round] = []
    try:
        for gauge in GAUGES:
            run_to_end(job, folder / gauge, [*WHOLE, f"pulse.gauge={gauge}"], f"{gauge} gauge")
        run_rounds(job, folder / "output", ROUNDS, lambda _number, found: rounds.append(found))
    except TailraceError as error:
        print(f"demo-helium: {error}", file=sys.stderr)
        return error.status
    print()
    tell_physics(folder)
    tell_cost(rounds, summary_of(folder / "output"), job.ranks)
    draw(folder, folder / "helium.png")
    print(f"Picture: {folder / 'helium.png'}")
    page = folder / GAUGES[0] / "report.html"
    write_whole(page, run_page(folder / GAUGES[0], page))
    print(f"Report: {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
