# SPDX-License-Identifier: BSD-3-Clause
"""What servers make of a plume: its mass, breakthrough curves, times of arrival."""

from __future__ import annotations

import csv
from pathlib import Path

import h5py
import numpy as np
import pytest
from groundwater_program import CASES, needs_program, refused, start, succeed

pytestmark = needs_program

PRODUCTS = (
    '[{name = "mass", variables = ["total_Tracer", "water"], '
    'stages = ["weighted by=water what=sum"], path = "mass.csv"}, '
    '{name = "far", variables = ["total_Tracer", "water"], '
    'stages = ["slice axis=x start=50 stop=52", "weighted by=water"], path = "far.csv"}, '
    '{name = "arrival", variables = ["total_Tracer"], stages = ["arrival at=0.5"], '
    'path = "arrival.h5"}]'
)
SETTINGS = (
    "grid.nx=200",
    "time.step=0.02",
    'grid.regions=[{name = "far", from = [1.0, 0, 0], to = [1.04, 1, 1]}]',
    'transport.observe=["far"]',
    "output.every=10",
    'output.fields=["water"]',
    f"output.products={PRODUCTS}",
)


def rows(path: Path) -> list[dict[str, str]]:
    """Return the lines of a table."""
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_product_of_no_species(run: Path) -> None:
    """The message lists the species' fields, too."""
    product = '[{name = "p", variables = ["total_Trace"], stages = ["mean"]}]'
    settings = (f"output.products={product}", "output.servers=1", 'output.fields=["water"]')
    message = refused(start(2, CASES / "ogata_banks.toml", run, *settings))
    assert 'needs "total_Trace", which is not written' in message
    assert "the fields are water, total_Tracer" in message


@pytest.mark.parametrize("servers", ["1", "none"])
def test_plume_products(run: Path, servers: str) -> None:
    """They are what the ranks that compute find, on a server and without one."""
    succeed(3, CASES / "ogata_banks.toml", run, *SETTINGS, f"output.servers={servers}")
    amounts = {line["step"]: float(line["amount"]) for line in rows(run / "species.csv")}
    curve = {line["step"]: float(line["concentration"]) for line in rows(run / "breakthrough.csv")}
    masses, far = rows(run / "mass.csv"), rows(run / "far.csv")
    assert [line["step"] for line in masses] == ["10", "20", "30", "40", "50", "60", "70", "71"]
    for mass, observed in zip(masses, far, strict=True):
        in_litres = 1000 * float(mass["total_Tracer_water_sum"])  # mol/L m3
        assert in_litres == pytest.approx(amounts[mass["step"]], rel=1e-12)
        mean = float(observed["total_Tracer_water_mean"])
        assert mean == pytest.approx(curve[observed["step"]], rel=1e-12)
    times, fields = [], []
    for path in sorted((run / "fields").glob("*.h5")):
        with h5py.File(path) as file:
            times.append(float(file.attrs["time"]))
            fields.append(file["total_Tracer"][()].ravel())
    with h5py.File(run / "arrival.h5") as file:
        found = file["total_Tracer_arrival"][()].ravel()
    reached = fields[-1] >= 0.5
    np.testing.assert_array_equal(np.isnan(found), ~reached)
    assert 0 < reached.sum() < len(reached)
    for cell in np.flatnonzero(reached):
        history = [field[cell] for field in fields]
        after = int(np.argmax(np.array(history) >= 0.5))
        around = slice(max(after - 1, 0), after + 1)
        expected = np.interp(0.5, history[around], times[around]) if after > 0 else times[0]
        assert found[cell] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("layout", "fields", "products", "files"),
    [
        ("cf", True, False, 3),
        ("cf", True, True, 3),
        ("pflotran", True, False, 3),
        ("pflotran", True, True, 6),
        ("pflotran", False, True, 3),
    ],
)
def test_the_summary_counts_all_output(
    run: Path, layout: str, fields: bool, products: bool, files: int
) -> None:
    """Products are a stream of their own where field files have the layout "pflotran"."""
    product = '[{name = "level", variables = ["head"], stages = ["slice axis=z index=0"]}]'
    summary = succeed(
        2,
        CASES / "theis.toml",
        run,
        "grid.nx=21",
        "grid.ny=21",
        "time.max_steps=2",
        "output.every=1",
        "output.servers=thread",
        f"output.layout={layout}",
        f"output.whole_fields={str(fields).lower()}",
        f"output.products={product if products else '[]'}",
    )
    assert summary["output"]["steps"] == files
    assert summary["output"]["complete"] == files
    assert summary["output"]["bytes"] > 0
