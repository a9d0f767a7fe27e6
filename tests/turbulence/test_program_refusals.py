# SPDX-License-Identifier: BSD-3-Clause
"""Cases that cannot be computed as asked are refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from turbulence_program import CASES, TINY, needs_program, refused, start, statistics, succeed

pytestmark = needs_program

CASE = CASES / "taylor_green.toml"
RANDOM = "flow.initial=random"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("flow.wavenumber=50",), ("flow.wavenumber = 50", "taylor_green up to 5")),
        (("flow.initial=abc", "flow.wavenumber=6"), ("flow.wavenumber = 6", "abc up to 5")),
        (("grid.ny=4", "flow.wavenumber=2"), ("flow.wavenumber = 2", "16 x 4 x 16", "up to 1")),
        (("dealias.method=phase_shift", "flow.wavenumber=5"), ("taylor_green up to 4",)),
        ((RANDOM, "grid.n=4"), ("flow.k_peak = 3", "shells up to 0")),
        ((RANDOM, "grid.n=5"), ("flow.k_peak = 3", "shells up to 0")),
        ((RANDOM, "flow.k_peak=1e9"), ("flow.k_peak", "shells up to 4")),
        (("scalars.schmidt=[1]", "scalars.initial=random", "flow.k_peak=7"), ("k_peak = 7",)),
        (("grid.lx=1e-30",), ("grid.lx", "1e-30", "shell")),
        (('output.fields=["u", "v", "u"]',), ("output.fields", '"u" twice')),
        (("output.fields=[]",), ("output.fields", "at least one of u, v, w")),
        (('output.fields=["scalars"]',), ("output.fields", "at least one of u, v, w")),
    ],
)
def test_what_cannot_be_is_refused(run: Path, settings: tuple[str, ...], words: tuple[str]) -> None:
    message = refused(start(2, CASE, run, *TINY, *settings))
    for word in words:
        assert word in message, message
    assert not run.exists()


def test_what_the_grid_holds_is_computed(run: Path) -> None:
    """The largest waves that are kept, and a spectrum that is cut: the energy is as asked."""
    settings = (*TINY, "output.every=0", "time.max_steps=1")
    line = succeed(1, CASE, run / "a", *settings, "flow.wavenumber=5")[0]
    assert line["energy"] == pytest.approx(0.125, rel=1e-14)
    shape = ("grid.nx=17", "grid.ny=32", "grid.nz=23", "flow.k_peak=4")
    line = succeed(2, CASE, run / "b", *settings, *shape, RANDOM, "flow.energy=0.5")[0]
    assert line["energy"] == pytest.approx(0.5, rel=1e-12)


def test_a_checkpoint_is_due_at_the_last_step_too(run: Path) -> None:
    succeed(2, CASE, run, *TINY, "checkpoint.every=5", "time.max_steps=10")
    steps = sorted(path.name for path in run.glob("checkpoint_*"))
    assert steps == ["checkpoint_000005.h5", "checkpoint_000010.h5"]


def test_a_flow_that_is_not_finite_goes_to_no_file(run: Path) -> None:
    """Found although no statistics are due; whole files are good ones."""
    settings = ("grid.n=16", "time.step=5", "time.end=1e6", "flow.viscosity=1e-9", RANDOM)
    settings += ("statistics.every=1000000", "output.every=1", "checkpoint.every=1")
    message = refused(start(2, CASE, run, *settings, "output.buffered_files=1"))
    assert "blew up" in message
    files = [*run.glob("checkpoint_*.h5"), *(run / "fields").glob("*.h5")]
    assert files
    for path in files:
        with h5py.File(path) as file:
            for name in ("u", "v", "w") if "u" in file else ("u_re", "v_im"):
                assert np.isfinite(file[name][:]).all(), path
    assert len(statistics(run)) == 1
    assert not (run / "summary.json").exists()


def test_without_field_files_there_is_no_sidecar(run: Path) -> None:
    """VTK's reader crashes on a series of nothing."""
    case = run.parent / "case.toml"
    product = '\n[[output.products]]\nname = "range"\nstages = ["minmax"]\npath = "{name}.csv"\n'
    case.write_text(CASE.read_text() + product)
    settings = ("output.servers=thread", "output.memory=32M", "output.whole_fields=false")
    succeed(2, case, run, *TINY, *settings)
    assert not (run / "fields.xdmf").exists()
    assert not list((run / "fields").glob("*.h5"))
