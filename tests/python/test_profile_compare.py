# SPDX-License-Identifier: BSD-3-Clause
"""What two profiles differ in: which places are the same, and when a difference is noise."""

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from test_profile_page import large_profile, tailrace

from tailrace.errors import TailraceError
from tailrace.profile.comparison import (
    Comparison,
    Row,
    chance,
    compare_sides,
    make_side,
    paired,
    split_paths,
)


def with_times(
    wait_s: list[float], where: str = "ring.c:7 main", **changes: Any
) -> list[dict[str, Any]]:
    """Return runs of 4 ranks that have one call each, of these seconds."""
    profile = large_profile(4, 4)
    call = {**profile["calls"][0], "where": where}
    return [
        {**copy.deepcopy(profile), "calls": [{**call, "time_s": s, "wait_s": s / 2}], **changes}
        for s in wait_s
    ]


def compared(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> Comparison:
    sides = [
        make_side(runs, [f"{name}{i}" for i in range(len(runs))])
        for runs, name in ((a, "a"), (b, "b"))
    ]
    return compare_sides(*sides)


def test_verdicts() -> None:
    three = (1.0, 2.0, 3.0)
    assert Row("x", three, (4.0, 5.0, 6.0)).verdict() == "changed"
    assert Row("x", (4.0, 5.0, 6.0), three).verdict() == "changed"
    assert Row("x", three, (3.0, 5.0, 6.0)).verdict() == "noise"
    assert Row("x", (2.0, 2.0), (2.0,)).verdict() == "same"
    assert Row("x", (1.0, 2.0), (4.0, 5.0)).verdict() == "unknown"
    assert Row("x", (1.0,), (4.0,)).verdict() == "unknown"
    assert Row("x", three, (3.0, 5.0, 6.0)).change() == 1.5
    assert Row("x", (0.0,), (1.0,)).change() is None


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 2), (3, 3), (2, 5)])
def test_chance_is_the_part_of_orders_that_sets_sides_apart(a: int, b: int) -> None:
    orders = [set(first) for first in itertools.combinations(range(a + b), a)]
    apart = [o for o in orders if max(o) == a - 1 or min(o) == b]
    assert chance(a, b) == pytest.approx(len(apart) / len(orders))


def test_places_are_paired_though_lines_were_added() -> None:
    def keys(*lines: int, function: str = "main", name: str = "MPI_Send") -> set[tuple[str, str]]:
        return {(name, f"a.c:{line} {function}") for line in lines}

    both = paired(keys(10, 20) | keys(5, function="f"), keys(20, 30) | keys(5, function="g"))
    assert set(both) == {
        (("MPI_Send", "a.c:10 main"), ("MPI_Send", "a.c:20 main")),
        (("MPI_Send", "a.c:20 main"), ("MPI_Send", "a.c:30 main")),
        (("MPI_Send", "a.c:5 f"), None),
        (None, ("MPI_Send", "a.c:5 g")),
    }
    one_more = paired(keys(10, 20), keys(10, 15, 20))
    assert (None, ("MPI_Send", "a.c:15 main")) in one_more
    assert len(one_more) == 3
    offset = paired({("MPI_Wait", "app+0x10")}, {("MPI_Wait", "app+0x22")})
    assert offset == [(("MPI_Wait", "app+0x10"), ("MPI_Wait", "app+0x22"))]


def test_times_are_means_over_ranks_and_counts_are_sums() -> None:
    found = compared(with_times([4.0, 4.4, 4.8]), with_times([8.0, 8.4, 8.8], "ring.c:9 main"))
    (place,) = found.places
    assert (place.where, place.before) == ("ring.c:9 main", "ring.c:7 main")
    assert place.rows["time_s"].a == (1.0, 1.1, 1.2)
    assert place.rows["wait_s"].b == (1.0, 1.05, 1.1)
    assert place.rows["time_s"].verdict() == "changed"
    assert place.rows["count"].a == (20.0, 20.0, 20.0)
    assert place.rows["count"].verdict() == "same"
    assert found.notes() == ["chance alone would call 10% of unchanged values changed"]
    assert {row.verdict() for row in found.groups} == {"same"}


def test_single_runs_say_that_noise_is_not_known() -> None:
    found = compared(with_times([4.0]), with_times([9.0]))
    assert found.places[0].rows["time_s"].verdict() == "unknown"
    assert "does not show the noise" in found.notes()[0]
    assert "too few" in compared(with_times([4.0, 5.0]), with_times([9.0, 9.0])).notes()[0]


def test_a_place_that_only_some_runs_have() -> None:
    less = with_times([4.0, 4.0, 4.0])
    less[1]["calls"] = []
    rows = compared(less, with_times([4.0, 4.0, 4.0])).places[0].rows
    assert rows["time_s"].a == (1.0, 0.0, 1.0)
    assert rows["count"].verdict() == "noise"


def test_messages_of_all_sizes_are_compared() -> None:
    other = large_profile(4, 4)
    other["sizes"] = [{**other["sizes"][0], "from_bytes": 0, "count": 4}]
    other["matrix"] = other["matrix"][1:]
    found = {row.name: row for row in compared([large_profile(4, 4)] * 3, [other] * 3).messages}
    assert found["calls of 0 B"].b == (4.0, 4.0, 4.0)
    assert found["calls of 8 B to < 16 B"].change() == -1.0
    assert found["bytes between ranks"].a == (160.0, 160.0, 160.0)
    assert found["messages between ranks"].verdict() == "changed"


def test_runs_of_a_side_are_alike() -> None:
    with pytest.raises(TailraceError, match="b: 2 ranks, but a has 4"):
        make_side([large_profile(4, 4), large_profile(2, 2)], ["a", "b"])
    found = compared([large_profile(4, 4)], [large_profile(2, 2)])
    assert "A has 4 ranks, B 2" in found.notes()[1]


def test_command_prints_tables_and_json(tmp_path: Path) -> None:
    words = []
    for side, times in (("a", [4.0, 4.2, 4.4]), ("b", [8.0, 8.2, 8.4])):
        paths = [tmp_path / f"{side}{i}.json" for i in range(3)]
        for path, profile in zip(paths, with_times(times), strict=True):
            path.write_text(json.dumps(profile))
        words.append(",".join(map(str, paths)))
    done = tailrace("diff", *words)
    assert done.returncode == 0, done.stderr
    assert "1.05 s (1 s to 1.1 s)" in done.stdout
    assert "+95.2 %" in done.stdout
    done = tailrace("diff", *words, "--json")
    found = json.loads(done.stdout)
    assert found["calls"][0]["time_s"]["verdict"] == "changed"
    assert found["a"] == {"profiles": words[0].split(","), "ranks": 4}
    done = tailrace("diff", words[0], str(tmp_path / "absent"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "absent: No such file" in done.stderr


def test_a_comma_in_a_name(tmp_path: Path) -> None:
    odd = tmp_path / "a,b"
    assert split_paths(f"{odd},c") == [tmp_path / "a", Path("b"), Path("c")]
    odd.mkdir()
    assert split_paths(str(odd)) == [odd]


def test_files_are_compared_where_both_sides_know_them() -> None:
    file = {"path": "x", "reads": 3, "writes": 1, "read_bytes": 10, "time_s": 2.0}
    a = with_times([1.0], io=[file])
    b = with_times([1.0], io=[{**file, "reads": 7, "path": "y"}, file])
    rows = {row.name: (row.a, row.b) for row in compared(a, b).files}
    assert rows == {
        "time in calls on files": ((0.5,), (1.0,)),  # means over 4 ranks
        "bytes read": ((10.0,), (20.0,)),
        "reads and writes": ((4.0,), (12.0,)),
    }
    assert compared(a, with_times([1.0])).files == []


def test_regions_of_all_runs_are_compared() -> None:
    solve, halo = {"name": "solve", "time_s": 2.0}, {"name": "solve/halo", "time_s": 1.0}
    a = with_times([1.0], regions=[solve, halo])
    b = with_times([1.0], regions=[{**solve, "time_s": 3.0}])
    rows = [row for row in compared(a, b).groups if row.name.startswith("region")]
    assert [(row.name, row.a, row.b) for row in rows] == [("region solve", (2.0,), (3.0,))]
