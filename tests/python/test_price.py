# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace plan transposes`: known figures of a torus, grids, what is refused."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.planning.pricing import all_grids, parse_grid

GEMINI_TRANSPOSE = ["--points", "8192", "--fields", "3", "--item", "4"]


def run(*words: str) -> Any:
    """Return what `tailrace plan transposes` prints as JSON."""
    done = CliRunner().invoke(app, ["plan", "transposes", *words, "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def test_shapes_of_the_gemini_torus() -> None:
    """Figures of an independent model: one transpose among all ranks, one a router."""
    found = [
        run("--nodes", shape, "--grid", f"{ranks}x1", *GEMINI_TRANSPOSE)[0]
        for shape, ranks in (("6x24x24", 3456), ("23x6x24", 3312), ("11x6x12", 792))
    ]
    assert [one["seconds"] for one in found] == pytest.approx([1.218, 0.636, 2.658], abs=6e-4)
    assert found[0]["worst"].startswith("y")
    assert found[0]["seconds"] / found[1]["seconds"] == pytest.approx(1.917, abs=6e-4)
    assert found[0]["grid"] == [3456, 1]


def test_tens_of_thousands_of_ranks_are_priced() -> None:
    found = run("--ranks-per-node", "2", "--grid", "144x184", *GEMINI_TRANSPOSE)[0]
    assert found["ranks"] == 26496
    assert [exchange["groups"] for exchange in found["exchanges"]] == [144, 184]


def test_a_random_order_of_nodes_does_not_gain() -> None:
    """Pencils on a slab: rows and columns on near nodes beat the same nodes in random order."""
    times = {
        (grid, order): run(
            *("--nodes", "23x6x24", "--ranks-per-node", "2", "--grid", grid),
            *("--order", order, *GEMINI_TRANSPOSE),
        )[0]["seconds"]
        for grid in ("72x92", "276x24")
        for order in ("blocks", "random:1")
    }
    for grid, ratio in (("72x92", 1.213), ("276x24", 1.199)):
        assert times[grid, "random:1"] / times[grid, "blocks"] == pytest.approx(ratio, abs=2e-3)


def test_rows_on_a_node_leave_the_network_alone() -> None:
    text = "torus:4x4,bw=10,injection=10,loopback=100"
    found = run("--machine", text, "--ranks-per-node", "8", "--bytes", "128G", "--grid", "16x8")[0]
    rows = {kind["name"]: kind for kind in found["exchanges"][0]["at_once"]["kinds"]}
    assert rows["loopback"]["most_bytes"] == pytest.approx(128e9 / 16 * 7 / 8)
    assert rows["x"]["total_bytes"] == rows["injection"]["total_bytes"] == 0
    assert found["exchanges"][0]["at_once"]["worst"].startswith("loopback")


def test_all_grids_come_cheapest_first() -> None:
    found = run("--machine", "fat_tree:4x4,up=1x2,bw=10", "--bytes", "1G")
    assert sorted(tuple(one["grid"]) for one in found) == [(2, 8), (4, 4), (8, 2), (16, 1)]
    seconds = [one["seconds"] for one in found]
    assert seconds == sorted(seconds)
    small = run("--machine", "fat_tree:4x4,bw=1", "--points", "8")
    assert all(16 not in one["grid"] for one in small)


def test_rounds_are_no_faster_than_all_at_once() -> None:
    words = ["--machine", "dragonfly:4x1x4x2,host=10,local=5,global=5", "--bytes", "1G"]
    words += ["--grid", "8x4"]
    at_once, in_rounds = run(*words)[0], run(*words, "--rounds")[0]
    assert at_once["exchanges"][0]["in_rounds"] is None
    assert in_rounds["exchanges"][0]["in_rounds"]["rounds"] == 3
    assert in_rounds["seconds"] >= at_once["seconds"] * (1 - 1e-9)


def test_table_names_the_best() -> None:
    done = CliRunner().invoke(
        app, ["plan", "transposes", "--nodes", "6x24x24", "--nodes", "23x6x24", *GEMINI_TRANSPOSE]
    )
    assert done.exit_code == 0, done.output
    assert "Shortest: 0.6357 s with 3312x1 ranks on 23x6x24" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bytes", "1G", "--points", "8"], "give either --points"),
        ([], "give either --points"),
        (["--bytes", "1G", "--machine", "ring:4"], "machine ring:4"),
        (["--bytes", "1G", "--machine", "torus:4x4,speed=1"], "bw=... is missing"),
        (["--bytes", "1G", "--machine", "torus:4,bw=1,speed=1"], 'knows no "speed"'),
        (["--bytes", "1G", "--nodes", "99x1x1"], "no box"),
        (["--bytes", "1G", "--machine", "torus:4,bw=1", "--grid", "3x2"], "the product must be 4"),
        (["--bytes", "1G", "--grid", "3by2"], "expected ROWSxCOLUMNS"),
        (["--machine", "torus:16,bw=1", "--points", "3"], "no grid of 16 ranks"),
    ],
)
def test_refusals_say_what_would_be_right(words: list[str], message: str) -> None:
    with pytest.raises(TailraceError, match=message.replace("(", r"\(")) as caught:
        run(*words)
    assert caught.value.status == 2


def test_grids() -> None:
    assert parse_grid("64x128") == (64, 128)
    assert all_grids(1, 0) == [(1, 1)]
    assert all_grids(7, 0) == [(7, 1)]
