# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace map`: rank orders, their costs, the files of launchers, read back."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tailrace.benchmarks.fake_cluster import SCRIPT
from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.placement import curves
from tailrace.placement.cost import Nodes, cost_of, link_load
from tailrace.placement.graph import _scotch
from tailrace.placement.orders import ORDERS, Made, Problem, scattered
from tailrace.placement.rank_map import RankMap, make_map, read_map
from tailrace.placement.read_back import compare, compare_cores
from tailrace.placement.tiles import off_node_bytes, shapes, tile_order
from tailrace.placement.traffic import Grid, grid_traffic
from tailrace.placement.writers import WRITERS, cpu_map, launch_line

MAKE = {order.name: order.make for order in ORDERS}
WRITER = {writer.name: writer for writer in WRITERS}


def problem(extents: tuple[int, ...], per_node: int, **more: Any) -> Problem:
    """Neighbours of a grid on nodes of `per_node` ranks, the last with what is left."""
    grid = Grid(extents, bytes=(1.0,) * len(extents), **more)
    full, rest = divmod(grid.num_ranks, per_node)
    return Problem(grid_traffic(grid), Nodes((per_node,) * full + ((rest,) if rest else ())))


def run(*words: str, status: int = 0) -> Any:
    """Return what `tailrace map` prints as JSON."""
    options = ["check", "--json", *words[1:]] if words[:1] == ("check",) else [*words, "--json"]
    done = CliRunner().invoke(app, ["map", *options])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("round_robin", [0, 2, 4, 6, 1, 3, 5, 7]),
        ("consecutive", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("folded", [0, 3, 4, 7, 1, 2, 5, 6]),
    ],
)
def test_published_rank_orders(name: str, expected: list[int]) -> None:
    """8 ranks on 2 nodes of 4: methods 0, 1, 2 of MPICH_RANK_REORDER_METHOD in a site's manual."""
    assert MAKE[name](problem((8,), 4)).ranks.tolist() == expected


def test_rounds_go_on_where_nodes_have_room() -> None:
    nodes = Nodes((3, 1, 2))
    uneven = Problem(grid_traffic(Grid((6,))), nodes)
    assert MAKE["round_robin"](uneven).ranks.tolist() == [0, 3, 5, 1, 2, 4]
    assert MAKE["folded"](uneven).ranks.tolist() == [0, 4, 5, 1, 2, 3]


@pytest.mark.parametrize(
    ("extents", "per_node", "pairs", "tile", "busiest"),
    [
        ((16, 16), 16, (240, 240, 480, 96), "4x4", (32, 16)),
        ((32, 32), 64, (480, 992, 960, 192), "8x8", (64, 32)),
        ((16, 16, 16), 64, (4608, 7680, 7680, 2304), "4x4x4", (160, 96)),
        ((16, 16, 16), 128, (4096, 7680, 7680, 1792), "4x4x8", (272, 144)),
    ],
)
def test_table_of_grids(
    extents: tuple[int, ...], per_node: int, pairs: Any, tile: str, busiest: Any
) -> None:
    """Pairs of neighbours on different nodes, as computed independently."""
    given = problem(extents, per_node)
    made = [MAKE[name](given) for name in ("consecutive", "round_robin", "folded", "tiles")]
    costs = [cost_of(given.traffic, one.ranks, given.nodes) for one in made]
    assert tuple(cost.off_node_pairs for cost in costs) == pairs
    assert [cost.off_node_bytes for cost in costs] == [2 * number for number in pairs]
    assert made[-1].detail == tile
    assert (costs[0].busiest_node_pairs, costs[-1].busiest_node_pairs) == busiest
    assert (costs[0].busiest_node_bytes, costs[-1].busiest_node_bytes) == busiest


@pytest.mark.parametrize("name", list(MAKE))
@pytest.mark.parametrize(
    ("extents", "per_node"), [((7, 8, 9), 8), ((5,), 2), ((3, 4), 12), ((1, 1), 1), ((6, 4), 7)]
)
def test_every_order_places_each_rank_once(
    name: str, extents: tuple[int, ...], per_node: int
) -> None:
    given = problem(extents, per_node)
    if name == "graph":
        require_scotch()
    if name == "tiles" and (given.nodes.uniform is None or not shapes(extents, per_node)):
        return
    made = MAKE[name](given)
    assert sorted(made.ranks.tolist()) == list(range(given.traffic.num_ranks))


def require_scotch() -> None:
    """Skip where Scotch's library is not installed."""
    try:
        _scotch()
    except ImportError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("pattern", ["neighbours", "lines"])
def test_best_tile_is_the_cheapest_of_all(periodic: bool, pattern: str) -> None:
    """The formula that picks a tile against the messages themselves, with uneven sizes."""
    grid = Grid((4, 6, 3), periodic, pattern, (5.0, 1.0, 3.0))
    given = Problem(grid_traffic(grid), Nodes((6,) * 12))
    costs = {}
    for shape in shapes(grid.extents, 6):
        costs[shape] = cost_of(given.traffic, tile_order(grid, shape), given.nodes).off_node_bytes
        assert off_node_bytes(grid, shape) == costs[shape], shape
    assert len(set(costs.values())) > 1
    best = MAKE["tiles"](given).detail
    assert costs[tuple(map(int, best.split("x")))] == min(costs.values())


@pytest.mark.parametrize(
    ("key", "base"), [(curves.hilbert_key, 2), (curves.peano_key, 3)], ids=["hilbert", "peano"]
)
@pytest.mark.parametrize(("axes", "levels"), [(1, 3), (2, 3), (3, 2), (4, 1), (5, 1)])
def test_curves_go_from_neighbour_to_neighbour(key: Any, base: int, axes: int, levels: int) -> None:
    points = Grid((base**levels,) * axes).coordinates()
    keys = key(points)
    assert sorted(keys.tolist()) == list(range(len(points)))
    along = points[np.argsort(keys)]
    assert (np.abs(np.diff(along, axis=0)).sum(axis=1) == 1).all()


def test_z_curve_interleaves_bits() -> None:
    points = Grid((4, 4)).coordinates()
    assert curves.z_key(points).reshape(4, 4)[:2].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_graph_finds_the_groups_of_irregular_messages() -> None:
    """Ranks that talk with each other share a node, although their numbers are mixed."""
    require_scotch()
    mixed = np.random.default_rng(7).permutation(24)
    lines = grid_traffic(Grid((6, 4), pattern="lines", bytes=(0.0, 9.0)))
    sender, receiver = mixed[lines.sender], mixed[lines.receiver]
    given = Problem(type(lines)(24, sender, receiver, lines.bytes), Nodes((4,) * 6))
    assert cost_of(given.traffic, MAKE["graph"](given).ranks, given.nodes).off_node_bytes == 0


def test_scattered_ranks_share_no_node() -> None:
    given = problem((4, 8), 8)
    made = MAKE["tiles"](given)
    chosen = [0, 1, 2, 3]
    spread = scattered(given, made, chosen)
    node = make_map("x", spread.ranks, given.nodes, ["a", "b", "c", "d"], 8).node
    assert sorted(node[rank] for rank in chosen) == [0, 1, 2, 3]
    assert sorted(spread.ranks.tolist()) == list(range(32))
    assert scattered(given, Made(made.ranks), list(range(32))).ranks.tolist() == list(made.ranks)


@pytest.mark.parametrize(
    ("row_bytes", "folded", "round_robin"), [(0.0, 8 / 15, 0.0), (1 / 63, 0.870, 0.568)]
)
def test_folded_order_of_strided_groups(
    row_bytes: float, folded: float, round_robin: float
) -> None:
    """All-to-alls among ranks whose numbers are 64 apart, as of a column of 16x64 ranks.

    Consecutive ranks have none of them on a node. Folding puts half of a column on each of two
    nodes, so 7 of 15 partners are near; what goes in rows, that stay on 4 nodes otherwise, is lost.
    """
    grid = Grid((16, 64), pattern="lines", bytes=(1 / 15, row_bytes))
    given = Problem(grid_traffic(grid), Nodes((16,) * 64))
    off = {
        name: cost_of(given.traffic, MAKE[name](given).ranks, given.nodes).off_node_bytes
        for name in ("consecutive", "folded", "round_robin")
    }
    assert off["folded"] / off["consecutive"] == pytest.approx(folded, abs=5e-4)
    assert off["round_robin"] / off["consecutive"] == pytest.approx(round_robin, abs=5e-4)


def test_links_carry_what_leaves_nodes() -> None:
    """One message of 1 MB over a link of 1 GB/s; inside a node, its memory."""
    words = ["--grid", "2", "--bytes", "1M", "--machine", "torus:2,bw=1,loopback=10"]
    apart = run(*words, "--ranks-per-node", "1")["orders"]
    assert [row["links"]["seconds"] for row in apart] == [pytest.approx(5e-4)] * len(apart)
    together = run(*words, "--ranks-per-node", "2")["orders"][0]
    assert together["links"]["seconds"] == pytest.approx(2e6 / 10e9)
    assert together["links"]["worst"].startswith("loopback")
    assert together["off_node_bytes"] == 0


@pytest.mark.parametrize(
    "machine",
    ["torus:4x4,bw=10", "dragonfly:4x1x4x1,host=10,local=5,global=5", "fat_tree:4x4,bw=1"],
)
def test_tiles_load_links_least_or_equal_on_every_machine(machine: str) -> None:
    words = ["--grid", "16x16", "--ranks-per-node", "16", "--bytes", "1M", "--machine", machine]
    rows = {row["order"]: row for row in run(*words)["orders"]}
    assert rows["tiles"]["links"]["seconds"] < rows["folded"]["links"]["seconds"]
    assert rows["tiles"]["links"]["seconds"] <= rows["consecutive"]["links"]["seconds"] + 1e-12


def test_tiles_follow_the_axes_of_the_machine() -> None:
    """4 x 2 tiles on a torus whose first axis runs fastest: neighbours are neighbours."""
    words = ["--grid", "8x4", "--ranks-per-node", "4", "--bytes", "1M"]
    found = run(*words, "--machine", "torus:4x2,bw=1")["orders"]
    tiles = next(row for row in found if row["order"] == "tiles")
    assert tiles["detail"] == "2x2" and tiles["off_node_pairs"] == 20
    assert tiles["links"]["seconds"] == pytest.approx(2e-3)  # two messages over one hop
    given = problem((8, 4), 4)
    plain = link_load(
        "torus:4x2,bw=1", list(range(8)), given.traffic, MAKE["tiles"](given).ranks, given.nodes
    )
    assert plain["seconds"] * 1e6 > tiles["links"]["seconds"]  # of 1 byte a message


def test_tiles_follow_the_groups_of_a_tree() -> None:
    """Four tiles that touch share a switch: a node sends 8 MB, and no link carries more."""
    words = ["--grid", "8x8", "--ranks-per-node", "4", "--bytes", "1M"]
    found = run(*words, "--machine", "fat_tree:4x4,bw=1")["orders"]
    tiles = next(row for row in found if row["order"] == "tiles")
    hilbert = next(row for row in found if row["order"] == "hilbert")
    assert tiles["links"]["seconds"] == pytest.approx(hilbert["links"]["seconds"])
    assert tiles["links"]["seconds"] == pytest.approx(8e-3)


def test_profile_is_the_matrix(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    matrix = [{"from": a, "to": (a + 2) % 4, "bytes": 100 + a, "messages": 1} for a in range(4)]
    path.write_text(json.dumps({"ranks": 4, "matrix": matrix}))
    found = run("--profile", str(path), "--ranks-per-node", "2")
    rows = {row["order"]: row for row in found["orders"]}
    assert rows["consecutive"]["off_node_bytes"] == 406
    assert rows["round_robin"]["off_node_bytes"] == 0
    assert found["chosen"] == "round_robin" and found["left_out"]["tiles"] == "needs --grid"
    both = run("--profile", str(path), "--grid", "2x2", "--ranks-per-node", "2")
    assert "tiles" in [row["order"] for row in both["orders"]]


def folded_map(tmp_path: Path, cores: int = 2) -> Path:
    """Write the map of 6 ranks on 3 nodes, and return its folder."""
    folder = tmp_path / "map"
    words = ["--grid", "2x3", "--hosts", "nodea:2,nodeb:2,nodec:2", "--order", "folded"]
    done = CliRunner().invoke(
        app, ["map", *words, "--cores", str(cores), "-o", str(folder), "--json"]
    )
    assert done.exit_code == 0, done.output
    return folder


def test_files_of_launchers(tmp_path: Path) -> None:
    folder = folded_map(tmp_path, cores=8)
    text = {path.name: path.read_text() for path in folder.iterdir()}
    assert text["openmpi.rankfile"].splitlines()[:2] == [
        "rank 0=nodea slot=0-3",
        "rank 1=nodeb slot=0-3",
    ]
    assert text["openmpi.rankfile"].splitlines()[5] == "rank 5=nodea slot=4-7"
    assert text["openmpi5.rankfile"] == text["openmpi.rankfile"]
    assert text["MPICH_RANK_ORDER"].splitlines()[1:] == ["0,5", "1,4", "2,3"]
    assert text["hydra.hosts"].split() == ["nodea:1", "nodeb:1", "nodec:2", "nodeb:1", "nodea:1"]
    names = ["nodea", "nodeb", "nodec", "nodec", "nodeb", "nodea"]
    assert text["slurm.hosts"].split() == text["pbs.nodes"].split() == names
    found = read_map(folder / "map.json")
    assert cpu_map(found) == "0,4"
    assert "--distribution=arbitrary --cpu-bind=map_cpu:0,4 -n 6" in launch_line(
        WRITER["slurm"], found, "F"
    )
    assert "network" in WRITER["hydra"].caveat(found)


@pytest.mark.parametrize(
    ("order", "capacities", "lines"),
    [
        ([0, 1, 2, 3], (2, 2), ["a:2", "b:2"]),
        ([0, 2, 1, 3], (2, 2), ["a:1", "b:1"]),  # in turn
        ([0, 3, 6, 1, 4, 7, 2, 5], (3, 3, 2), ["a:1", "b:1", "c:1"]),
        ([0, 2, 4, 1, 3], (3, 2), ["a:1", "b:1"]),  # the last turn in part
        ([0, 1, 4, 5, 2, 3, 6, 7], (4, 4), ["a:2", "b:2"]),
        ([0, 1, 5, 2, 3, 4], (3, 3), ["a:2", "b:3"]),
        ([0, 3, 1, 2], (2, 2), ["a:1", "b:2"]),
        ([0, 5, 1, 4, 2, 3], (2, 2, 2), ["a:1", "b:1", "c:2", "b:1", "a:1"]),
        ([0, 1, 3, 2, 4, 5], (3, 3), ["a:2", "b:1", "a:1", "b:2"]),
        ([0], (1,), ["a:1"]),
    ],
)
def test_hydra_names_nodes_in_turn_once(
    order: list[int], capacities: tuple[int, ...], lines: list[str]
) -> None:
    """`order` lists ranks as the slots take them; hydra begins again behind the last line."""
    found = make_map("x", np.array(order), Nodes(capacities), ["a", "b", "c"], 2)
    text = WRITER["hydra"].text(found).split()
    assert text == lines
    hosts = [line.split(":")[0] for line in text for _ in range(int(line.split(":")[1]))]
    assert all(found.host_of(rank) == hosts[rank % len(hosts)] for rank in range(found.num_ranks))
    named = [line.split(":")[0] for line in text]
    assert ("Slurm" in WRITER["hydra"].caveat(found)) == (len(named) > len(set(named)))


def test_slots_that_differ_have_no_cpu_map() -> None:
    found = make_map("x", np.array([1, 0, 2, 3]), Nodes((2, 2)), ["a", "b"], 2)
    assert cpu_map(found) == "" and WRITER["slurm"].caveat(found)


def test_hosts_are_compared_by_name_and_by_group() -> None:
    found = make_map("x", np.array([0, 2, 1, 3]), Nodes((2, 2)), ["a", "b"], 2)
    assert compare(found, {0: "a", 2: "a", 1: "b", 3: "b"}) == []
    assert compare(found, {0: "a.site", 2: "a.site", 1: "b", 3: "b"}) == []
    assert compare(found, {0: "n7", 2: "n7", 1: "n9", 3: "n9"}) == []  # aliases
    assert compare(found, {0: "a", 1: "a", 2: "b", 3: "b"}) == [
        "rank 1 is on a, planned on b",
        "rank 2 is on b, planned on a",
    ]
    assert compare(found, {0: "n7", 2: "n8", 1: "b", 3: "b"}) == ["rank 2 is on n8, planned on a"]
    assert compare(found, {0: "a", 2: "a", 1: "b"}) == ["ranks 3 did not start"]
    assert compare(found, {0: "a", 2: "a", 1: "b", 3: "b", 4: "b"}) == [
        "ranks 4 are not in the map of 4"
    ]


def launched(words: list[str]) -> list[str]:
    """Return the words with the launcher's nodes made up on this machine; skip if impossible."""
    probe = subprocess.run([SCRIPT, "--check"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(probe.stderr.strip())
    return [str(SCRIPT), "--with", *words]


@pytest.mark.parametrize("name", ["openmpi4", "pbs", "slurm", "hydra"])
def test_launchers_place_ranks_as_their_files_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open MPI reads PBS's and Slurm's lists (a host for each rank) by its sequential mapper."""
    monkeypatch.delenv("OMPI_MCA_hwloc_base_binding_policy", raising=False)  # a rankfile binds
    folder = folded_map(tmp_path, cores=min(2, os.cpu_count() or 1))
    found = read_map(folder / "map.json")
    writer = WRITER["pbs" if name == "slurm" else name]
    words = shlex.split(launch_line(writer, found, str(folder / WRITER[name].file)))
    program = {"hydra": "mpiexec.mpich"}.get(name, "mpirun.openmpi")
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = run("check", str(folder / "map.json"), "--", *launched([program, *words[1:]]))
    assert done["wrong"] == []
    assert done["host_of_rank"]["5"] == "nodea" and done["host_of_rank"]["4"] == "nodeb"


def test_read_back_of_cores() -> None:
    """As Slurm's cpu map or a rank file should bind: two cores for each of two ranks a node."""
    found = RankMap("x", ["a", "b"], 4, [0, 1, 0, 1], [0, 0, 1, 1])
    host = {0: "a", 2: "a", 1: "b", 3: "b"}
    one_each = {0: {0}, 1: {0, 1}, 2: {2}, 3: {2, 3}}  # a cpu map names the first of them
    assert compare_cores(found, host, one_each) == ([], [])
    wrong, notes = compare_cores(found, host, one_each | {2: {0}})
    assert wrong == ["ranks 0 and 2 share core 0 of a"] and "ranks 2 are bound" in notes[0]
    wrong, notes = compare_cores(found, host, {rank: {0, 1, 2, 3} for rank in host})
    assert wrong == [] and notes == ["ranks 0, 1, 2, 3 are not bound to their cores"]
    assert compare_cores(found, host, {}) == ([], [])


def test_read_back_says_what_is_elsewhere(tmp_path: Path) -> None:
    folder = folded_map(tmp_path)
    if shutil.which("mpirun.openmpi") is None:
        pytest.skip("mpirun.openmpi is not installed")
    hosts = ["-H", "nodea:2,nodeb:2,nodec:2", "-n", "6"]
    words = launched(["mpirun.openmpi", "--bind-to", "none", *hosts])
    done = CliRunner().invoke(app, ["map", "check", str(folder / "map.json"), "--", *words])
    assert done.exit_code == 1
    assert "rank 5 is on nodec, planned on nodea" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give the messages"),
        (["--grid", "4x"], "expected 1 to 5 extents"),
        (["--grid", "4x4"], "the number of ranks per node"),
        (["--grid", "4x4", "--hosts", "a:4,b:4"], "2 nodes take 8 ranks, but there are 16"),
        (["--grid", "4x4", "--hosts", "a,a", "--ranks-per-node", "8"], "node a is named twice"),
        (["--grid", "4x4", "--hosts", "a b;c", "--ranks-per-node", "8"], "names of nodes"),
        (
            ["--grid", "4", "--ranks-per-node", "2", "--order", "best"],
            "expected one of consecutive",
        ),
        (
            ["--grid", "4x4", "--ranks-per-node", "3", "--order", "tiles"],
            "the same number of ranks on each",
        ),
        (["--grid", "4", "--ranks-per-node", "2", "--pattern", "all"], "neighbours or lines"),
        (["--grid", "4x4", "--ranks-per-node", "4", "--bytes", "1:2:3"], "names 3 sizes"),
        (["--grid", "4", "--ranks-per-node", "2", "--scatter", "4"], "ranks below 4"),
        (["--grid", "4", "--ranks-per-node", "2", "-o", "x"], "give them with --hosts"),
        (["--grid", "4", "--ranks-per-node", "1", "--machine", "torus:2,bw=1"], "2 nodes of torus"),
        (["--profile", "/nosuch", "--ranks-per-node", "2"], "No such file"),
        (["check", "/nosuch", "--", "mpirun"], "No such file"),
    ],
)
def test_refusals_say_what_would_be_right(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    monkeypatch.delenv("PBS_NODEFILE", raising=False)
    with pytest.raises(TailraceError, match=message):
        run(*words)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ("{", "[]", '{"ranks": 2}', '{"ranks": 2, "matrix": []}'):
        path.write_text(text)
        with pytest.raises(TailraceError, match=r"x\.json"):
            run("--profile", str(path), "--ranks-per-node", "1")
        with pytest.raises(TailraceError, match="not a rank map"):
            run("check", str(path), "--", "mpirun")


def test_nodes_of_a_pbs_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    file = tmp_path / "nodes"
    file.write_text("n1\nn1\nn2\nn2\n")
    monkeypatch.setenv("PBS_NODEFILE", str(file))
    assert run("--grid", "4", "--ranks-per-node", "2")["hosts"] == ["n1", "n2"]
