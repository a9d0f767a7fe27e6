# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace map nodes`: boxes of a torus, nodes that are down, a given list."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.placement.node_choice import boxes


def nodes(*words: str) -> Any:
    """Return what `tailrace map nodes` prints as JSON, by name."""
    done = CliRunner().invoke(app, ["map", "nodes", *words, "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return {row["name"]: row for row in json.loads(done.stdout)}


def test_slabs_across_the_slow_axis_exchange_twice_as_fast() -> None:
    """Gemini's y links have half the bandwidth: a slab should be thin in y (published, too)."""
    found = nodes("--machine", "gemini:12x12x12", "--count", "432")
    assert next(iter(found)) == "12x3x12"
    assert found["12x3x12"]["gb_per_s"] / found["3x12x12"]["gb_per_s"] == pytest.approx(2, rel=0.01)
    assert found["12x3x12"]["alone"] and not found["spread"]["alone"]
    assert all(len(row["nodes"]) == 432 for row in found.values())


def test_boxes_avoid_nodes_that_are_down(tmp_path: Path) -> None:
    down = tmp_path / "down"
    down.write_text("0, 1\n6")
    found = nodes("--machine", "torus:4x4,bw=1", "--count", "4", "--down", str(down))
    assert all(not {0, 1, 6} & set(row["nodes"]) for row in found.values())
    square = next(row for name, row in found.items() if name.startswith("2x2"))
    assert len(square["nodes"]) == 4
    assert boxes((4, 4, 4), 7) == [] and boxes((3, 3), 9) == [(3, 3)]
    assert boxes((10,), 5) == [(5,)] and boxes((10,), 6) == []  # some pairs go round outside


def test_a_given_list_is_scored(tmp_path: Path) -> None:
    given, best = tmp_path / "given", tmp_path / "best"
    given.write_text("0 2 8 10")
    found = nodes("--machine", "torus:4x4,bw=1", "--given", str(given), "-o", str(best))
    assert found["given"]["nodes"] == [0, 2, 8, 10]
    first = next(iter(found.values()))
    assert best.read_text().split() == [str(node) for node in first["nodes"]]
    for text, message in (("0 99", "contains '99'"), ("1 1", "twice"), ("a", "contains 'a'")):
        given.write_text(text)
        with pytest.raises(TailraceError, match=message):
            nodes("--machine", "torus:4x4,bw=1", "--given", str(given))
    with pytest.raises(TailraceError, match="the number of nodes"):
        nodes("--machine", "torus:4x4,bw=1")
    with pytest.raises(TailraceError, match="has 16 nodes"):
        nodes("--machine", "torus:4x4,bw=1", "--count", "17")
    table = CliRunner().invoke(
        app, ["map", "nodes", "--machine", "fat_tree:4x4,bw=1", "--count", "4"]
    )
    assert "the first" in table.output
