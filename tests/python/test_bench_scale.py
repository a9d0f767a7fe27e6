# SPDX-License-Identifier: BSD-3-Clause
"""Simulated machines: their texts, where ranks are on them, the bench that compares ways there."""

import math
import shutil
import stat
from pathlib import Path

import pytest

from bench.studies import scale, scale_picture, scale_run
from tailrace.benchmarks.drivers import Command
from tailrace.benchmarks.options import MovingOptions, Options
from tailrace.benchmarks.rounds import measure
from tailrace.errors import TailraceError
from tailrace.planning.file_system import KEYS, find_file_system
from tailrace.planning.machine import choose_nodes, find_machine, place_ranks


def test_machines_have_names_extents_and_settings() -> None:
    gemini = find_machine("gemini:8x4x2,cores=32")
    assert gemini.nodes == 64
    assert gemini.text.startswith("torus:8x4x2,bw=9.4:4.7:9.4,")
    assert gemini.text.endswith(",cores=32")
    assert find_machine("gemini").nodes == 23 * 24 * 24
    assert find_machine("fat_tree:16x16,up=1x8,bw=12").kind == "fat_tree"
    for wrong in ("torus", "torus:8x", "ring:8", "torus:0x4", ""):
        with pytest.raises(TailraceError, match="expected one of"):
            find_machine(wrong)


def test_boxes_of_a_torus_go_round_its_rings() -> None:
    torus = find_machine("torus:4x3x2,bw=1")
    assert choose_nodes(torus, "2x1x2") == [0, 1, 12, 13]
    assert choose_nodes(torus, "2x2x1@3,2,1") == [12 + 8 + 3, 12 + 8, 12 + 3, 12]
    assert choose_nodes(torus, "all") == list(range(24))
    assert choose_nodes(torus, "5") == [0, 1, 2, 3, 4]
    some = choose_nodes(torus, "scattered:10:3")
    assert len(set(some)) == 10
    assert some == choose_nodes(torus, "scattered:10:3") != choose_nodes(torus, "scattered:10:4")
    for wrong in ("25", "0", "5x1x1", "2x2", "1x1x1@0,0", "many", "scattered:25"):
        with pytest.raises(TailraceError, match="placement"):
            choose_nodes(torus, wrong)
    with pytest.raises(TailraceError, match="no box"):
        choose_nodes(find_machine("fat_tree:4x4,bw=1"), "2x2")


def test_ranks_are_placed_in_blocks_round_robin_tiles_or_by_chance() -> None:
    grid = (4, 4)
    nodes = [7, 3, 5, 1]
    assert place_ranks(nodes, 2, "blocks", (2, 4)) == [7, 7, 3, 3, 5, 5, 1, 1]
    assert place_ranks(nodes, 2, "round_robin", (2, 4)) == [7, 3, 5, 1] * 2
    tiles = place_ranks(nodes, 4, "tiles:2x2", grid)
    assert tiles == [7, 7, 3, 3, 7, 7, 3, 3, 5, 5, 1, 1, 5, 5, 1, 1]
    assert place_ranks(nodes, 4, "tiles:1x4", grid) == place_ranks(nodes, 4, "blocks", grid)
    mixed = place_ranks(nodes, 4, "random:1", grid)
    assert sorted(mixed) == sorted(tiles)
    assert mixed != place_ranks(nodes, 4, "random:2", grid)
    for wrong in ("tiles:2x4", "tiles:3x3", "tiles", "snake", "random:x"):
        with pytest.raises(TailraceError, match="order"):
            place_ranks(nodes, 4, wrong, grid)


def test_sizes_are_read_and_written() -> None:
    assert [scale_run.read_bytes(text) for text in ("8", "4k", "1M")] == [8, 4096, 1 << 20]
    assert [scale.size_text(size) for size in (8, 4096, 1 << 20, 1000)] == ["8", "4k", "1M", "1000"]
    with pytest.raises(TailraceError, match="bytes"):
        scale_run.read_bytes("1 MB")


def test_wrong_settings_are_named() -> None:
    nowhere = Path("/nonexistent")
    with pytest.raises(TailraceError, match="unknown setting speed"):
        scale_run.run("torus:4,bw=1", {"speed": "1"}, nowhere)
    with pytest.raises(TailraceError, match="grid=3x3: expected rows x columns of 4 ranks"):
        scale_run.run("torus:4,bw=1", {"grid": "3x3"}, nowhere)
    with pytest.raises(TailraceError, match="--patterns slabs"):
        scale.entries(Options(moving=MovingOptions(patterns=["slabs"])))
    with pytest.raises(TailraceError, match="--ranks 100"):
        scale.entries(Options(ranks=[100]))


def test_simulated_storage_has_the_numbers_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[targets]\ncount = 3\nbytes_per_s = 1e8\n[load]\nmean = 0.5\n")
    text = scale_run.storage_text(find_file_system(str(path)), seed=1)
    values = dict(word.split("=") for word in text.split(","))
    numbers = {key for key, (default, _) in KEYS.items() if not isinstance(default, str)}
    assert set(values) == numbers - {"load.mean", "load.spread"} | {"load"}
    assert values["targets.count"] == "3" and float(values["targets.bytes_per_s"]) == 1e8
    assert float(values["clients.node_bytes_per_s"]) == math.inf
    assert values["load"] == "0.500000:0.500000:0.500000"
    assert storage_load(path, "spread = 0", seed=1) == [0.5] * 3
    shares = storage_load(path, "spread = 0.2", seed=1)
    assert len(set(shares)) == 3 and all(0 < share < 1 for share in shares)
    assert shares == storage_load(path, "spread = 0.2", seed=1)
    assert shares != storage_load(path, "spread = 0.2", seed=2)
    with pytest.raises(TailraceError, match="driver=output needs storage="):
        scale_run.run("torus:4,bw=1", {"driver": "output"}, tmp_path)


def storage_load(path: Path, spread: str, seed: int) -> list[float]:
    path.write_text(f"[targets]\ncount = 3\n[load]\nmean = 0.5\n{spread}\n")
    text = scale_run.storage_text(find_file_system(str(path)), seed)
    return [float(share) for share in text.rpartition("load=")[2].split(":")]


def test_without_simgrid_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TailraceError, match="libsimgrid-dev") as caught:
        scale_run.build()
    assert caught.value.status == 77


def test_the_driver_is_told_machine_placement_and_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "smpirun"
    fake.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != -hostfile ]; do shift; done\n'
        'hosts=$(tr "\\n" " " < "$2")\n'
        'echo "{\\"hosts\\": \\"$hosts\\", \\"words\\": \\"$*\\", '
        '\\"machine\\": \\"$TAILRACE_MACHINE\\"}"\n'
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    asked = {"placement": "2", "per_node": "2", "alltoall": "mpi:ring", "bytes": "4k"}
    answer = scale_run.run("torus:4,bw=1", asked, tmp_path).answer
    assert answer["hosts"].split() == ["n0", "n0", "n1", "n1"]
    assert answer["machine"] == "torus:4,bw=1"
    assert "--cfg=smpi/alltoall:ring" in answer["words"]
    assert "--method mpi --bytes 4096" in answer["words"]
    fake.write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
    with pytest.raises(TailraceError, match=r"status 3.*\n.*no such thing"):
        scale_run.run("torus:4,bw=1", asked, tmp_path)
    fake.write_text("#!/bin/sh\nsleep 60\n")
    with pytest.raises(TailraceError, match="longer than 0 s"):
        scale_run.run("torus:4,bw=1", asked | {"limit": "0.2"}, tmp_path)


def test_winners_are_found_and_drawn(tmp_path: Path) -> None:
    options = Options(ranks=[64], moving=MovingOptions(patterns=["torus"], sizes=[1024, 65536]))
    entries = scale.entries(options)
    assert len(entries) == 2 * len(scale.METHODS)
    assert sum(entry.reference for entry in entries) == 2

    def simulate(command: Command) -> list[dict[str, object]]:
        small = "bytes=1024" in command.words
        method = next(word for word in command.words if word.startswith("alltoall="))
        quick = ("node_aware" if small else "pull") in method
        seconds = 1e-3 if quick else 2e-3
        return [{"row_s": seconds / 4, "column_s": 3 * seconds / 4, "seconds": [seconds]}]

    measured = measure(entries, 1, run=simulate)
    scale.finish(measured, options)
    winners = {row["problem"]: row["entry"] for row in measured.rows if row["wins"]}
    assert winners == {
        "torus, 64 ranks, 1k": "node_aware",
        "torus, 64 ranks, 64k": "pull, chunks of 64k",
    }
    assert {row["gain"] for row in measured.rows} == {1.0, 2.0}
    scale.draw(tmp_path / "map.svg", measured)
    text = (tmp_path / "map.svg").read_text()
    colours = dict(zip(scale.METHODS, scale_picture.COLOURS, strict=False))
    assert colours["node_aware"] in text and colours["pull, chunks of 64k"] in text
    assert colours["alltoallv (all at once)"] not in text
    with pytest.raises(TailraceError, match="no map"):
        scale_picture.draw(tmp_path / "x.svg", measured, ["dragonfly"], list(scale.METHODS))


@pytest.mark.skipif(not shutil.which("smpirun"), reason="needs SimGrid")
def test_a_simulation_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scale_run.build_folder()
    if not (folder / "scale_exchange").exists():
        pytest.skip("bench/scale is not built")
    asked = {"grid": "2x2", "alltoall": "pairwise", "bytes": "1M"}
    answer = scale_run.run("torus:4,bw=1,latency=1e-6", asked, folder).answer
    # In rows neighbours exchange a block, in columns ranks that are two links apart.
    assert answer["row_s"] == pytest.approx((1 << 20) / 1e9, rel=0.01)
    assert answer["column_s"] > answer["row_s"]
