# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the model of striped storage: by hand, at its limits, and files that are wrong."""

import json
import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins import is_built
from storage_events import simulate
from typer.testing import CliRunner

from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.planning import model
from tailrace.planning.file_system import (
    KEYS,
    Clients,
    FileSystem,
    Load,
    Locks,
    Metadata,
    Network,
    Targets,
    find_file_system,
    shipped,
    two_numbers,
)
from tailrace.planning.model import Job
from tailrace.planning.writing import Cost, Pattern, cost, links_s

MIB = 1 << 20
# 8 targets of 100 MB/s; a request takes 1 ms, a lock transfer 2 ms.
SYSTEM = FileSystem(
    targets=Targets(count=8, bytes_per_s=100e6, request_s=1e-3),
    metadata=Metadata(creates_per_s=1000, opens_per_s=2000, object_s=1e-3),
    locks=Locks(transfer_s=2e-3),
    clients=Clients(node_bytes_per_s=1e9, process_bytes_per_s=500e6, network_bytes_per_s=1e9),
)
PATTERN = Pattern(ranks=64, ranks_per_node=8, bytes=64.0 * 16 * MIB)
DATA_S = 128 * MIB / 100e6  # of a target


def test_a_file_per_process_by_hand() -> None:
    found = cost(SYSTEM, replace(PATTERN, strategy="file_per_process"))
    # 64 creates, a stripe each; 8 files of 16 requests on each target
    assert found.metadata_s == pytest.approx(64 / 1000 + 1e-3)
    assert found.requests_s == pytest.approx(8 * 16 * 1e-3)
    assert found.bytes_s == pytest.approx(DATA_S)
    assert found.locks_s == 0 and found.gather_s == 0
    assert found.clients_s == pytest.approx(8 * 16 * MIB / 1e9)  # of a node
    assert found.seconds == pytest.approx(found.metadata_s + DATA_S + 0.128)
    assert found.low_s == found.seconds == found.high_s  # nobody else
    assert found.limit() == "targets"
    # 65 files: one target has nine
    more = cost(SYSTEM, replace(PATTERN, ranks=65, bytes=65 * 16.0 * MIB, strategy=found.strategy))
    assert more.bytes_s == pytest.approx(9 * 16 * MIB / 100e6)


def test_pieces_of_a_shared_file_transfer_locks() -> None:
    found = cost(SYSTEM, replace(PATTERN, piece_bytes=MIB))
    # 1,024 pieces of a stripe, 128 on each object, 7 of 8 after one of another node
    assert found.locks_s == pytest.approx(128 * 7 / 8 * 2e-3)
    assert found.requests_s == pytest.approx(128 * 1e-3)
    assert found.metadata_s == pytest.approx(1 / 1000 + 63 / 2000 + 8e-3)
    small = cost(SYSTEM, replace(PATTERN, piece_bytes=10_000))
    assert small.locks_s > 50 * found.locks_s and small.limit() == "locks"
    whole = cost(SYSTEM, PATTERN)  # a rank's 16 MiB are one extent on each object
    assert whole.locks_s == pytest.approx(64 * 7 / 8 * 2e-3)
    one_node = cost(SYSTEM, replace(PATTERN, ranks_per_node=64, piece_bytes=MIB))
    assert one_node.locks_s == 0
    asked = replace(SYSTEM, metadata=replace(SYSTEM.metadata, stats_per_s=100))
    reading = cost(asked, replace(PATTERN, piece_bytes=MIB, reading=True, calls=3))
    assert reading.locks_s == 0 and reading.bytes_s == found.bytes_s
    assert reading.metadata_s == pytest.approx(3 * (64 / 2000 + 64 / 100 + 8e-3))


def test_stripes_with_one_writer_need_no_locks() -> None:
    found = cost(SYSTEM, replace(PATTERN, strategy="aggregated", piece_bytes=10_000))
    assert found.writers == 8 and found.locks_s == 0
    assert found.gather_s == pytest.approx(PATTERN.bytes * 7 / 8 / 8 / 1e9)
    assert found.metadata_s == pytest.approx(1 / 1000 + 7 / 2000 + 8e-3)
    unaligned = cost(SYSTEM, replace(PATTERN, strategy="aggregated", aligned=False))
    assert unaligned.locks_s > 0 and unaligned.seconds > found.seconds
    served = cost(SYSTEM, replace(PATTERN, strategy="servers", writers=4))
    assert served.gather_s == 0  # they receive while the ranks compute
    assert served.clients_s == pytest.approx(PATTERN.bytes / 4 / 500e6)


def test_more_stripes_help_until_all_targets_are_used() -> None:
    seconds = [cost(SYSTEM, replace(PATTERN, stripes=n)).bytes_s for n in (1, 2, 4, 8, 16)]
    assert seconds[:4] == pytest.approx([8 * DATA_S, 4 * DATA_S, 2 * DATA_S, DATA_S])
    assert seconds[4] == seconds[3]
    narrow = replace(SYSTEM, targets=replace(SYSTEM.targets, most_stripes=2))
    assert cost(narrow, PATTERN).bytes_s == pytest.approx(4 * DATA_S)


def test_two_bandwidths_are_a_file_system_without_other_costs() -> None:
    system = two_numbers(writer=0.5e9, whole=4e9)
    pattern = Pattern(32, 8, 10e9, "aggregated", writers=16)
    assert cost(system, pattern).seconds == pytest.approx(2.5)
    assert cost(system, replace(pattern, writers=2)).seconds == pytest.approx(10.0)
    assert cost(two_numbers(0.5e9, 4e9, 0.5), pattern).seconds == pytest.approx(5.0)


def test_the_load_of_others_is_a_distribution() -> None:
    steady = cost(replace(SYSTEM, load=Load(mean=0.5)), PATTERN)
    uneven = cost(replace(SYSTEM, load=Load(mean=0.5, spread=0.2)), PATTERN)
    free = cost(SYSTEM, PATTERN)
    busy = free.bytes_s + free.requests_s
    assert steady.seconds == pytest.approx(free.seconds + busy)
    # The slowest target counts.
    assert steady.seconds < uneven.low_s < uneven.seconds < uneven.high_s
    wide = replace(SYSTEM, targets=replace(SYSTEM.targets, count=160))
    one = cost(replace(wide, load=Load(0.5, 0.1)), replace(PATTERN, stripes=1))
    many = cost(replace(wide, load=Load(0.5, 0.1)), replace(PATTERN, stripes=160))
    assert many.seconds / many.bytes_s > one.seconds / one.bytes_s
    assert cost(replace(wide, load=Load(0.5, 0.1)), PATTERN) == cost(
        replace(wide, load=Load(0.5, 0.1)), PATTERN
    )


def test_routers_and_links_limit_what_leaves_the_machine() -> None:
    system = replace(SYSTEM, network=Network(routers=2, router_bytes_per_s=0.1e9))
    assert cost(system, PATTERN).routers_s == pytest.approx(PATTERN.bytes / 0.2e9)
    assert cost(system, PATTERN).limit() == "routers"


@pytest.mark.skipif(not is_built("tailrace-price"), reason="the program is not built")
def test_links_to_the_routers_by_hand() -> None:
    # Node 0 of a ring of four writes to node 2: half each way round.
    assert links_s("torus:4,bw=1", [0], 2, 4e9) == pytest.approx(1.0, rel=1e-6)
    system = replace(
        SYSTEM, network=Network(routers=2, router_bytes_per_s=1e9, machine="torus:4x4,bw=0.01")
    )
    found = cost(system, replace(PATTERN, strategy="file_per_process"))
    assert found.links_s > found.routers_s and found.limit() == "links"
    with pytest.raises(TailraceError, match="has 16 nodes"):
        cost(system, replace(PATTERN, ranks=8 * 17))


@pytest.mark.parametrize("strategy", ["file_per_process", "shared", "aggregated", "servers"])
@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_file_systems_go_to_a_million_ranks(name: str, strategy: str) -> None:
    system = find_file_system(name)
    assert system.source
    start = time.process_time()
    previous = 0.0
    for ranks in (1, 1000, 31_000, 1_000_000):
        pattern = Pattern(ranks, 32, ranks * 50e6, strategy)
        found = cost(system, pattern)
        # No faster than all targets together, and more data takes longer.
        assert found.seconds >= pattern.bytes / system.bandwidth()
        assert found.seconds > previous
        previous = found.seconds
    assert time.process_time() - start < 60  # seconds at most, whatever the machine does besides


PIECES = [(16 * MIB, 0), (4 * MIB, MIB), (4_000_000, 1_000_000), (1_000_000, 50_000)]


@pytest.mark.parametrize(("share", "piece"), PIECES)
@pytest.mark.parametrize("ranks", [64, 256, 1024, 2048])
@pytest.mark.parametrize("name", ["eight targets", "hopper"])
def test_queues_agree_with_a_simulation_of_each_request(
    name: str, ranks: int, share: int, piece: int
) -> None:
    system = find_file_system(name) if name in shipped() else SYSTEM
    model, simulated = {}, {}
    for strategy in ("file_per_process", "shared", "aggregated"):
        pattern = Pattern(ranks, 16, float(ranks * share), strategy, piece_bytes=piece)
        model[strategy] = cost(system, pattern).seconds
        simulated[strategy] = simulate(system, pattern)
        # The way through process and node of the first request, some ms, is not in the model.
        assert model[strategy] == pytest.approx(simulated[strategy], rel=0.2, abs=0.015)
    winner = min(model, key=lambda one: model[one])
    # The same winner, or one that is as good.
    assert simulated[winner] < 1.05 * min(simulated.values())


def test_creates_of_a_million_files_take_longer_than_one_file() -> None:
    system = find_file_system("hopper")
    few, many = (cost(system, Pattern(n, 8, 1e12, "file_per_process")) for n in (1000, 1_000_000))
    assert many.metadata_s == pytest.approx(1_000_000 / 5e3, rel=1e-3)
    assert many.limit() == "metadata" and few.limit() == "targets"
    gathered = cost(system, Pattern(1_000_000, 32, 1e12, "aggregated"))
    assert gathered.seconds < many.seconds


def test_plan_takes_the_fastest_strategy() -> None:
    machine = model.on_machine(find_file_system("hopper"))
    job = Job(ranks=4096, ranks_per_node=32, bytes_per_output=4096 * 50e6, interval=1, step_s=600)
    found: list[Cost] = model.strategies(job, machine)
    assert [one.seconds for one in found] == sorted(one.seconds for one in found)
    assert model.synchronous(job, machine).write_s == found[0].seconds
    assert model.synchronous(job, machine).note == found[0].strategy.replace("_", " ")
    needed = model.servers_to_hide(job, machine)
    assert needed is not None and model.servers(job, machine, needed).hidden
    assert needed > 1 and not model.servers(job, machine, needed - 1).hidden
    assert "more servers" in model.servers(job, machine, 1).note


def test_servers_cannot_use_more_targets_than_a_file_has_stripes() -> None:
    machine = model.on_machine(find_file_system("blue_waters"))
    job = Job(500_000, 32, 500_000 * 50e6, interval=1, step_s=60)
    found = model.servers(job, machine, 5000)
    assert found.write_s > 160 * model.synchronous(job, machine).write_s / 1440
    assert found.write_s >= job.bytes_per_output / (160 * 680e6)
    assert found.note.startswith("the file system cannot keep up")


PLAN = ["plan", "--ranks", "64,1k", "--ranks-per-node", "8", "--bytes", "16M", "--step-s", "60"]


def run(*words: str) -> str:
    result = CliRunner().invoke(app, [*PLAN, *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_takes_a_description(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[targets]\ncount = 8\nbytes_per_s = 1e8\n[load]\nmean = 0.2\nspread = 0.1\n")
    text = run("--storage", str(path))
    assert "file system mine" in text and "aggregated" in text and "limit" in text
    data = json.loads(run("--storage", str(path), "--json"))
    first = data["cases"][0]["strategies"]
    assert {one["strategy"] for one in first} == {"file_per_process", "shared", "aggregated"}
    assert data["cases"][0]["outcomes"][0]["write_s"] == first[0]["seconds"]
    assert first[0]["low_s"] < first[0]["seconds"] < first[0]["high_s"]
    assert data["machine"]["storage"]["targets"]["count"] == 8
    assert data["machine"]["file_system"] == pytest.approx(8e8)
    loaded = json.loads(run("--storage", str(path), "--load", "0.8", "--json"))
    assert loaded["cases"][0]["strategies"][0]["seconds"] > 2 * first[0]["seconds"]
    refused = CliRunner().invoke(app, [*PLAN, "--storage", str(path), "--load", "0.005"])
    assert isinstance(refused.exception, TailraceError)
    assert "cannot have this mean" in str(refused.exception)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[targets]\ncount = 0\n", "targets.count = 0: expected a whole number of at least 1"),
        ("[targets]\ncount = 1.5\n", "targets.count = 1.5: expected a whole number"),
        ("[targets]\ncount = true\n", "targets.count = True"),
        ("[targets]\nbytes_per_s = nan\n", "targets.bytes_per_s = nan"),
        ("[targets]\nbytes = 1\n", "targets.bytes: no such key; did you mean targets.bytes_per_s"),
        ("[target]\ncount = 1\n", "did you mean targets"),
        ("[locks]\ntransfer_s = -1\n", "locks.transfer_s = -1: expected a number of at least 0"),
        ("[network]\nmachine = 3\n", "network.machine = 3: expected a text"),
        ("[load]\nmean = 1.0\n", "load.mean = 1"),
        ("[load]\nmean = 0.1\nspread = 0.4\n", "load.spread = 0.4"),
        ("[load]\nmean = 0.5\nspread = 0.5\n", "load.spread = 0.5"),
        ("[load]\nspread = 0.1\n", "load.mean = 0,"),
        ("targets = 3\n", "targets: expected tables"),
        ("count = \n", "no TOML"),
    ],
)
def test_wrong_descriptions_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(TailraceError, match=r"--storage .*wrong.toml") as error:
        find_file_system(str(path))
    assert message in str(error.value) and error.value.status == 2


def test_wrong_words_of_the_command_are_named() -> None:
    for words, message in (
        (["--storage", "hopperr"], "did you mean hopper"),
        (["--storage", "hopper", "--writer", "1G"], "omit --writer"),
        (["--storage", "hopper", "--load", "1"], "load by others = 1"),
        (["--storage", "hopper", "--piece", "0"], "--piece 0"),
    ):
        result = CliRunner().invoke(app, [*PLAN, *words])
        assert isinstance(result.exception, TailraceError), (words, result.output)
        assert message in str(result.exception) and result.exception.status == 2


def test_every_key_is_documented() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how" / "storage_model.md"
    lines = page.read_text().splitlines()
    for key, (default, text) in KEYS.items():
        shown = "unlimited" if default == math.inf else f"{default}" or '""'
        shown = "1048576" if key == "targets.stripe_bytes" else shown
        assert f"| `{key}` | {shown} | {text} |" in lines, (key, shown, text)
    for name in shipped():
        assert f"`{name}`" in page.read_text()
