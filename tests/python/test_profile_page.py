# SPDX-License-Identifier: BSD-3-Clause
"""The page of a profile, its file's schema, and what is done with files that are none."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_profile import write_rank

from tailrace.errors import TailraceError
from tailrace.placement.traffic import read_traffic
from tailrace.profile.load import load_profile
from tailrace.profile.record import ALL, read_records
from tailrace.profile.schema import first_fault, load_schema
from tailrace.profile.summary import efficiencies, imbalance, summarize
from tailrace.report.efficiency import efficiency_tree
from tailrace.report.profile_figures import folded, window_shares
from tailrace.report.profile_page import byte_matrix, node_matrix, render_profile

SECTIONS = {"groups", "efficiency", "ranks", "calls", "sizes", "matrix", "usage"}


def tailrace(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tailrace", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def sections(page: str) -> set[str]:
    return set(re.findall(r'<section id="([a-z]+)">', page))


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Three ranks, of which rank 1 comes 100 us late to an allreduce of 150 us."""
    folder = tmp_path / "records"
    folder.mkdir()
    for rank, late in enumerate((0, 100, 40)):
        usage = {"user_s": 0.5, "max_memory_kib": 1000 + rank}
        write_rank(folder, rank, [(100 + late, 250, 0, 0, ALL, -1, 0)], usage=usage)
    return folder


def large_profile(ranks: int, ranks_of_node: int) -> dict[str, Any]:
    """A job whose ranks send to both neighbours of a ring; rank 7 computes longest."""
    user = [2.0 if rank == 7 else 1.0 + rank % 5 / 50 for rank in range(ranks)]
    by_rank = [
        {"rank": r, "user_s": u, "mpi_s": 0.5, "sync_s": 2.5 - u, "wall_s": 3.0}
        for r, u in enumerate(user)
    ]
    names = ("user_s", "mpi_s", "sync_s")
    call = {"name": "MPI_Wait", "count": 5 * ranks, "bytes": 0, "time_s": 9.0, "wait_s": 4.0}
    return {
        "version": 1,
        "ranks": ranks,
        "wall_s": 3.0,
        "groups": {n: sum(g[n] for g in by_rank) / ranks for n in names},
        "imbalance": {n: imbalance([g[n] for g in by_rank]) for n in names},
        "efficiency": efficiencies(user, 3.0),
        "by_rank": by_rank,
        "calls": [{**call, "where": f"ring.c:{line} <b>&"} for line in range(300)],
        "sizes": [
            {"from_bytes": 1 << k, "below_bytes": 2 << k, "count": 9, "bytes": 9, "time_s": 0.1}
            for k in range(3, 20)
        ],
        "matrix": [
            {"from": r, "to": (r + step) % ranks, "bytes": 10 * step, "messages": 1}
            for r in range(ranks)
            for step in (1, ranks - 1)
        ],
        "usage": [
            {"rank": r, "host": f"node{r // ranks_of_node}", "user_s": 1.0, "waits": r}
            for r in range(ranks)
        ],
        "notes": ["something is not known"],
    }


def test_page_of_records_is_self_contained_and_has_every_section(records: Path) -> None:
    done = tailrace("report", str(records))
    assert done.returncode == 0, done.stderr
    page = (records / "report.html").read_text()
    assert sections(page) == SECTIONS
    loads = re.findall(r"""(?:src|href)=["'](?!data:|\#)[^"']*|@import|url\((?!\#)[^)]*""", page)
    assert loads == []
    names = re.findall(r"\bid=\"([^\"]+)\"", page)
    assert len(names) == len(set(names))
    assert "<h1>program</h1>" in page
    assert "program+0x10" in page  # the place of the allreduce
    assert page.count("data:image/png;base64,") == 1  # the matrix


def test_page_of_json_is_that_of_the_records(records: Path, tmp_path: Path) -> None:
    written, page = tmp_path / "p.json", tmp_path / "p.html"
    both = ["--json", str(written), "--report", str(page)]
    assert tailrace("profile", "--read", str(records), *both).returncode == 0
    first = page.read_text()
    assert tailrace("report", str(written)).returncode == 0
    assert page.read_text() == first


def test_large_page_is_small_and_names_who_is_responsible() -> None:
    profile = large_profile(512, 64)
    page = render_profile(profile, "ring")
    assert len(page) < 2_000_000
    assert "rank 7 computes 2 s, the mean is 1.04 s" in page
    assert "512" in page
    assert "ranks on 8 nodes" in page
    assert "something is not known" in page
    assert "ring.c:3 &lt;b&gt;&amp;" in page
    assert "185 more of 285" in page
    assert page.count("data:image/png;base64,") == 2  # ranks x ranks, nodes x nodes


def test_matrices_keep_every_byte() -> None:
    profile = large_profile(300, 64)
    matrix = byte_matrix(profile)
    assert (matrix[0, 1], matrix[0, 299], matrix[0, 2]) == (10.0, 2990.0, 0.0)
    shown, width = folded(matrix, 256)
    assert (shown.shape, width) == ((150, 150), 2)
    assert shown.sum() == matrix.sum() == 300 * 3000
    nodes, names = node_matrix(profile)
    assert names == [f"node{i}" for i in range(5)]
    assert nodes.sum() == matrix.sum()
    assert nodes[0, 1] == 10.0
    assert nodes[0, 4] == 2990.0
    assert nodes[0, 0] == 63 * 3000


@pytest.mark.parametrize("ranks", [1, 2])
def test_page_without_calls(ranks: int) -> None:
    profile = {**large_profile(ranks, 1), "calls": [], "sizes": [], "matrix": [], "notes": []}
    page = render_profile(profile, "quiet")
    assert sections(page) == SECTIONS - {"sizes", "matrix"} - ({"ranks"} if ranks == 1 else set())
    assert "No MPI call" in page


def test_page_of_a_run_without_time() -> None:
    profile = large_profile(2, 1)
    zero = {"user_s": 0, "mpi_s": 0, "sync_s": 0}
    by_rank = [{"rank": rank, "wall_s": 0, **zero} for rank in range(2)]
    profile |= {"wall_s": 0, "groups": zero, "imbalance": zero, "by_rank": by_rank}
    assert first_fault(profile | {"efficiency": efficiencies([0, 0], 0)}) == ""
    assert "0 %" in render_profile(profile | {"efficiency": efficiencies([0, 0], 0)}, "none")


def test_windows_and_files_are_shown_when_present() -> None:
    profile = large_profile(2, 2)
    window = {"from_s": 0.0, "to_s": 1.0, "user_s": 0.75, "mpi_s": 0.25}
    profile["windows"] = [[window, {**window, "from_s": 1.0, "to_s": 3.0}], [window]]
    profile["io"] = [{"path": "/data/out", "opens": 1, "writes": 7, "written_bytes": 2048}]
    times = {"time_s": 2.0, "user_s": 1.0, "mpi_s": 0.5, "sync_s": 0.5}
    region = {"name": "a/<b>", "depth": 1, "count": 3, **times, "imbalance": 0.25}
    profile["regions"] = [{**region, "min_rank_s": 1.5, "max_rank_s": 2.5}]
    assert first_fault(profile) == ""
    page = render_profile(profile, "windows")
    assert sections(page) == SECTIONS | {"windows", "files", "regions"}
    assert "1.5 s to 2.5 s" in page
    assert "&lt;b&gt;" in page
    assert "2.0 KiB" in page
    shares, start, end = window_shares(profile["windows"], 6)
    assert (start, end) == (0.0, 3.0)
    assert shares[0, 0].tolist() == [0.75, 0.25, 0.0]
    assert shares[0, 5].tolist() == [0.375, 0.125, 0.0]
    assert not np.any(shares[1, 2:])


def test_efficiency_tree_is_as_deep_as_the_profile_knows() -> None:
    profile = large_profile(8, 8)
    assert [line["depth"] for line in efficiency_tree(profile)] == [0, 1, 1]
    profile["efficiency"] |= {"serialisation": 0.8, "transfer": 0.5}
    profile["late"] = [{"rank": 3, "caused_s": 3.0}, {"rank": 5, "caused_s": 1.0}]
    tree = efficiency_tree(profile)
    assert [line["depth"] for line in tree] == [0, 1, 1, 2, 2]
    assert tree[3]["who"].startswith("others wait for rank 3 (75 %), rank 5 (25 %)")


def test_real_profile_fits_the_schema(records: Path) -> None:
    profile = json.loads(json.dumps(summarize(read_records(records))))
    assert first_fault(profile) == ""
    named = load_schema()["properties"]
    assert set(profile) <= set(named)  # what is written is documented
    for key, items in ((key, named[key].get("items", {})) for key in profile):
        if items.get("properties") and profile[key]:
            assert set(profile[key][0]) <= set(items["properties"]), key


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda p: p.pop("groups"), "groups: is missing"),
        (lambda p: p["groups"].pop("sync_s"), "groups.sync_s: is missing"),
        (lambda p: p["calls"][1].update(count="many"), "calls[1].count: is no integer"),
        (lambda p: p["calls"][0].update(time_s=-1.0), "calls[0].time_s: -1.0 is below 0"),
        (lambda p: p.update(version=7), "version: is 7, not 1"),
        (lambda p: p["by_rank"].append([]), "by_rank[2]: is no object"),
        (lambda p: p.update(wall_s=float("nan")), "wall_s: is no number"),
        (lambda p: p["matrix"][0].update({"to": 2}), "matrix: a rank beyond ranks"),
        (lambda p: p.update(by_rank=[]), "by_rank: is empty"),
    ],
)
def test_what_is_no_profile_is_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], fault: str
) -> None:
    profile = large_profile(2, 1)
    change(profile)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(profile))
    with pytest.raises(TailraceError, match=re.escape(fault)):
        load_profile(path)


def test_other_files_give_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text.json"
    text.write_text("{")
    for path, words in ((text, "is no JSON"), (tmp_path / "absent", "no such run folder")):
        done = tailrace("report", str(path))
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert words in done.stderr


def test_matrix_of_collective_calls(tmp_path: Path) -> None:
    """All-to-alls of 0 and 2, an allgather of all; an allreduce has no pairs."""
    world = {"members": "w", "ordinal": 0, "size": 3, "loose": False}
    pair = {"members": "p", "ordinal": 0, "size": 2, "loose": False}
    for rank in range(3):
        comms = [{**world, "rank": rank}, {**pair, "rank": rank // 2}]
        rows = [
            [0, "MPI_Alltoall", "collective", 4112, 1, 4, 1, 200, 10, 10, 10],
            [1, "MPI_Iallgatherv", "collective", 4128, 0, 4, 1, 5 + rank, 10, 10, 10],
            [2, "MPI_Allreduce", "collective", 4144, 0, 4, 1, 1000, 10, 10, 10],
        ]
        mine = comms if rank != 1 else comms[:1]
        own = rows if rank != 1 else rows[1:]
        write_rank(tmp_path, rank, [], comms=mine, rows=own, traffic=[])
    found = summarize(read_records(tmp_path))
    assert first_fault(found) == ""
    cells = {(cell["from"], cell["to"]): cell["bytes"] for cell in found["collective_matrix"]}
    assert cells == {(0, 1): 5, (0, 2): 105, (1, 0): 6, (1, 2): 6, (2, 0): 107, (2, 1): 7}
    assert "all-to-alls and allgathers</h3>" in render_profile(found, "app")
    path = tmp_path / "p.json"
    path.write_text(json.dumps(found))
    traffic = read_traffic(path)
    assert traffic.bytes.sum() == sum(cells.values()) and traffic.num_ranks == 3
