# SPDX-License-Identifier: BSD-3-Clause
"""The report of a small run folder, and the arithmetic behind its pictures."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tailrace.errors import TailraceError
from tailrace.report.page import cards, render, save_picture
from tailrace.report.timeline import close_up, innermost, shares, totals, tracks
from tailrace.report.vorticity import vorticity_plane
from tailrace.runs import load_run, published_taylor_green


def test_page_is_self_contained_and_has_every_section(run_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "report", str(run_folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (run_folder / "report.html").read_text()
    for section in ("output", "timeline", "flow", "facts"):
        assert f'<section id="{section}">' in page
    assert page.count("data:image/png;base64,") == 4  # two timelines, two slices
    assert page.count("<svg") == 4  # output times, energy, dissipation, spectrum
    loads = re.findall(r"""(?:src|href)=["'](?!data:|\#)[^"']*|@import|url\((?!\#)[^)]*""", page)
    assert loads == []
    names = re.findall(r"\bid=\"([^\"]+)\"", page)
    assert len(names) == len(set(names))


def test_cards_give_the_cost_of_output(run_folder: Path) -> None:
    texts = dict((meaning, value) for value, meaning in cards(load_run(run_folder)))
    assert texts["cost of hidden output"] == "+2.0 %"
    assert texts["cost of synchronous output"] == "+90.0 %"
    assert texts["of the writing was hidden"] == "90 %"
    assert texts["grid points"] == "16³"


def test_page_of_a_run_without_output(run_folder: Path) -> None:
    for name in ("trace.json", "spectrum.csv", "fields/tg_0000010.h5", "summary.json"):
        (run_folder / name).unlink()
    page = render(load_run(run_folder))
    assert '<section id="flow">' in page
    assert '<section id="timeline">' not in page


def test_picture(run_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "picture.png"
    save_picture(load_run(run_folder), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_not_a_run_folder(tmp_path: Path) -> None:
    with pytest.raises(TailraceError, match="not a run folder"):
        load_run(tmp_path)
    with pytest.raises(TailraceError, match="no such run folder"):
        load_run(tmp_path / "absent")


def test_damaged_files_are_named(run_folder: Path) -> None:
    (run_folder / "summary.json").write_text('{"ranks": ')
    with pytest.raises(TailraceError, match=r"summary\.json: damaged"):
        load_run(run_folder)


def test_time_counts_for_the_innermost_span() -> None:
    compute, transfer, wait = 0, 1, 3
    pieces = innermost([(0.0, 10.0, compute), (2.0, 6.0, transfer), (3.0, 4.0, wait)])
    assert totals(pieces).tolist() == [6.0, 3.0, 0.0, 1.0]
    assert np.all(pieces.start[1:] >= pieces.end[:-1])


def test_shares_add_up_whatever_the_bins() -> None:
    rng = np.random.default_rng(3)
    edges = np.sort(rng.random(2001))
    spans = [(a, b, int(rng.integers(4))) for a, b in itertools.pairwise(edges)]
    pieces = innermost(spans)
    for bins in (1, 7, 1500):
        found = shares(pieces, 0.0, 1.0, bins).sum(axis=0) / bins
        np.testing.assert_allclose(found, totals(pieces), atol=1e-12)


def test_hundred_thousand_spans_are_quick(run_folder: Path) -> None:
    spans = [
        {"ph": "X", "pid": i % 4, "tid": 0, "cat": "compute", "ts": 10.0 * (i // 4), "dur": 8.0}
        for i in range(100_000)
    ]
    by_track = tracks(spans)
    assert [len(segments.start) for segments in by_track.values()] == [25_000] * 4
    assert close_up(by_track) is None  # nothing was written


def test_close_up_holds_one_file(run_folder: Path) -> None:
    window = close_up(tracks(load_run(run_folder).events))
    assert window is not None
    begin, end = window
    assert begin <= 0.6
    assert 0.75 <= end < 1.0


@pytest.mark.parametrize("axis", ["z", "y", "x"])
def test_vorticity_of_taylor_green(run_folder: Path, axis: str) -> None:
    plane = vorticity_plane(run_folder / "fields" / "tg_0000010.h5", axis, 0.25)
    x = 2 * np.pi * np.arange(16) / 16
    grids = dict(zip("zyx", np.meshgrid(x, x, x, indexing="ij"), strict=True))
    z, y, x = grids["z"], grids["y"], grids["x"]
    exact = np.sqrt(
        (np.cos(x) * np.sin(y) * np.sin(z)) ** 2
        + (np.sin(x) * np.cos(y) * np.sin(z)) ** 2
        + (2 * np.sin(x) * np.sin(y) * np.cos(z)) ** 2
    )
    where = {"z": (4, slice(None), slice(None)), "y": (slice(None), 4), "x": (..., 4)}[axis]
    # Fourth-order differences across the plane: 1 - (kh)^4/30 of the derivative at 16 points.
    np.testing.assert_allclose(plane.values, exact[where], atol=2e-3)
    assert plane.time == 1.0


def test_published_curve_is_the_known_one() -> None:
    table = published_taylor_green()
    at_nine = np.flatnonzero(np.isclose(table["time"], 9.0))[0]
    assert table["energy"][at_nine] == 0.08640380319928
    assert table["enstrophy"][at_nine] == 10.28398609393721
    # d(energy)/dt = -2 nu enstrophy, to the accuracy of differences over 0.1.
    slope = np.gradient(table["energy"], table["time"])[1:-1]
    np.testing.assert_allclose(-slope, table["enstrophy"][1:-1] / 800, rtol=2e-2)
