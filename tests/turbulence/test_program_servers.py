# SPDX-License-Identifier: BSD-3-Clause
"""The program with I/O servers: the same files, products, faults, signals."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from turbulence_program import (
    CASES,
    ENVIRONMENT,
    ROOT,
    TINY,
    WATCH,
    command,
    needs_program,
    program_processes,
    refused,
    start,
    statistics,
    succeed,
    words,
)

pytestmark = needs_program

CASE = CASES / "taylor_green.toml"
CANNOT_BE = 77  # status of bench/fake_cluster.sh where nodes cannot be made up
CHECKPOINTS = ("checkpoint.every=4", "checkpoint.at_end=true")
PRODUCTS = """
[[output.products]]
name = "energy_spectrum"
variables = ["u", "v", "w"]
stages = ["spectrum energy=yes"]
path = "products/{name}.csv"

[[output.products]]
name = "coarse"
stages = ["coarsen factor=2", "convert type=float32"]

[[output.products]]
name = "time_mean"
variables = ["u"]
stages = ["time what=mean"]
"""


def by(servers: str) -> tuple[str, str]:
    """The settings of a run by these servers, with little memory."""
    return f"output.servers={servers}", "output.memory=32M"


def files_of(run: Path) -> dict[str, bytes]:
    """What a reader sees of a run: field files and checkpoints, byte by byte."""
    paths = [*sorted((run / "fields").iterdir()), *sorted(run.glob("checkpoint_*.h5"))]
    return {path.name: path.read_bytes() for path in paths}


def data_of(path: Path) -> dict[str, np.ndarray]:
    with h5py.File(path) as file:
        return {name: file[name][()] for name in file if isinstance(file[name], h5py.Dataset)}


def summary_of(run: Path) -> dict[str, object]:
    values: dict[str, object] = json.loads((run / "summary.json").read_text())
    return values


@pytest.mark.parametrize(
    ("servers", "ranks"),
    [("none", 2), ("thread", 2), ("thread", 1), ("auto", 2), ("1", 3), ("1 per node", 3)],
)
def test_files_are_the_same_byte_for_byte(tmp_path: Path, servers: str, ranks: int) -> None:
    """With and without servers; two ranks compute, or one."""
    compute = ranks - 1 if servers[0] == "1" else ranks
    settings = (*TINY, *CHECKPOINTS, "scalars.schmidt=[1]", 'output.fields=["u", "scalars"]')
    plain = succeed(compute, CASE, tmp_path / "plain", *settings)
    served = succeed(ranks, CASE, tmp_path / "served", *settings, *by(servers))
    assert served == plain
    expected = files_of(tmp_path / "plain")
    assert len(expected) == 4 + 2
    assert files_of(tmp_path / "served") == expected
    one, other = ((tmp_path / run / "fields.xdmf").read_bytes() for run in ("plain", "served"))
    assert one == other
    assert not list(tmp_path.rglob("*.partial"))


def test_two_servers_hold_the_same_fields(tmp_path: Path) -> None:
    """Several servers write one file; its data is the same, its pieces are not."""
    succeed(2, CASE, tmp_path / "plain", *TINY)
    succeed(4, CASE, tmp_path / "served", *TINY, *by("2"), "output.precision=double")
    for path in sorted((tmp_path / "plain/fields").iterdir()):
        expected, found = data_of(path), data_of(tmp_path / "served/fields" / path.name)
        assert expected.keys() == found.keys()
        for name in expected:
            np.testing.assert_array_equal(expected[name], found[name])


def test_a_server_process_writes_the_same_files(tmp_path: Path) -> None:
    succeed(2, CASE, tmp_path / "plain", *TINY)
    succeed(2, CASE, tmp_path / "served", *TINY, *by("process"))
    assert files_of(tmp_path / "served") == files_of(tmp_path / "plain")


@pytest.mark.parametrize("nodes", ["nodea:1,nodeb:1", "nodea:2,nodeb:1", "nodea:1,nodeb:1,nodec:1"])
def test_threads_on_several_nodes_write_the_same_fields(tmp_path: Path, nodes: str) -> None:
    """And leave MPI to the main threads: the watch would end the run."""
    assert WATCH.exists() or "TAILRACE_BIN_DIR" not in os.environ
    cluster = ROOT / "bench/fake_cluster.sh"
    settings = (*TINY, *CHECKPOINTS, "output.precision=double", "output.every=1")
    succeed(nodes.count(",") + 1, CASE, tmp_path / "plain", *settings)
    done = subprocess.run(
        [cluster, "--nodes", nodes, *words(CASE, tmp_path / "served", *settings, *by("thread"))],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode == CANNOT_BE:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    paths = sorted((tmp_path / "plain/fields").iterdir())
    assert len(paths) == 11
    for path in paths:
        expected, found = data_of(path), data_of(tmp_path / "served/fields" / path.name)
        assert expected.keys() == found.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], atol=1e-13)


@pytest.mark.parametrize(("servers", "ranks"), [("none", 2), ("thread", 2), ("2", 4)])
def test_products(tmp_path: Path, servers: str, ranks: int) -> None:
    """Spectrum, coarse fields and time mean are those of the fields themselves."""
    case = tmp_path / "taylor_green.toml"
    case.write_text(CASE.read_text() + PRODUCTS.replace("[[output", "\n[[output"))
    run = tmp_path / "run"
    succeed(ranks, case, run, *TINY, *by(servers))
    steps = (0, 4, 8, 10)
    whole = [data_of(run / f"fields/taylor_green_{step:06d}.h5") for step in steps]
    for step, fields in zip(steps, whole, strict=True):
        coarse = data_of(run / f"fields/taylor_green_{step:06d}_coarse.h5")
        for name in ("u", "v", "w"):
            blocks = fields[name].reshape(8, 2, 8, 2, 8, 2).mean(axis=(1, 3, 5))
            assert coarse[name].dtype == np.float32
            np.testing.assert_allclose(coarse[name], blocks, atol=1e-6)
    means = sorted((run / "fields").glob("*_time_mean.h5"))
    last = data_of(means[-1])
    mean = next(value for name, value in last.items() if value.ndim == 3)
    np.testing.assert_allclose(mean, np.mean([f["u"] for f in whole], axis=0), atol=1e-12)
    with (run / "products/energy_spectrum.csv").open() as file:
        lines = list(csv.DictReader(file))
    energy = {int(line["step"]): line["energy"] for line in statistics(run)}
    for step in steps:
        total = sum(float(line["energy_spectrum"]) for line in lines if int(line["step"]) == step)
        assert total == pytest.approx(energy[step], rel=1e-6)


def test_only_products(tmp_path: Path) -> None:
    case = tmp_path / "taylor_green.toml"
    case.write_text(CASE.read_text() + PRODUCTS)
    run = tmp_path / "run"
    succeed(2, case, run, *TINY, *by("thread"), "output.whole_fields=false")
    names = {path.name for path in (run / "fields").iterdir()}
    assert "taylor_green_000004_coarse.h5" in names
    assert "taylor_green_000004.h5" not in names
    assert not (run / "fields.xdmf").exists()


def test_summary_tells_what_the_simulation_saw(run: Path) -> None:
    succeed(3, CASE, run, *TINY, *by("1"))
    summary = summary_of(run)
    output, times = summary["output"], summary["times_s"]
    assert isinstance(output, dict)
    assert "1 server rank" in output["servers"]
    assert output["steps"] == output["complete"] == 4
    assert output["bytes"] == 4 * 3 * 16**3 * 8
    assert output["written_bytes"] >= output["bytes"]
    assert summary["stall_s"] == output["stall_s"]
    assert output["writer_cpu_s"] > 0
    cost = summary["output_cost"]
    assert isinstance(cost, dict)
    assert cost["steps_with_output"] > 0
    assert cost["run_s"] == summary["wall_s"]
    assert 0 <= summary["hidden_fraction"] <= 1
    assert summary["ranks"] == 2
    assert isinstance(times, dict)
    assert output["mode"] == "servers"
    assert times["servers"] == summary["wall_s"]
    trace = json.loads((run / "trace.json").read_text())
    ranks = {event["pid"] for event in trace["traceEvents"] if event["ph"] == "X"}
    assert {0, 1} <= ranks <= {0, 1, 2}


def test_processor_time_of_several_servers_is_not_known(run: Path) -> None:
    succeed(4, CASE, run, *TINY, *by("2"))
    summary = summary_of(run)
    output, cost = summary["output"], summary["output_cost"]
    assert isinstance(output, dict) and isinstance(cost, dict)
    assert output["complete"] == 4
    assert output["writer_cpu_s"] is None
    assert cost["writer_cpu_s"] is None


def test_restart_goes_on_from_a_checkpoint_of_servers(tmp_path: Path) -> None:
    settings = (*TINY, *by("1"), *CHECKPOINTS)
    whole = succeed(3, CASE, tmp_path / "whole", *settings)
    succeed(3, CASE, tmp_path / "part", *settings, "time.max_steps=5")
    parts = succeed(3, CASE, tmp_path / "part", *settings, "restart.file=latest")
    assert parts == whole
    assert len(list((tmp_path / "part").glob("checkpoint_*.h5"))) >= 2


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (("output.servers=2",), "at most 1 can serve"),
        (("output.servers=many",), 'servers = "many"'),
        (("output.servers=thread", "output.stall_budget=0.1"), 'with when_full "wait"'),
        (("output.servers=1", "grid.ranks=[2, 1]"), "needs 2 ranks, but the run has 1"),
        (("output.servers=1", "output.transport=pigeon"), "pigeon"),
    ],
)
def test_what_cannot_be_is_refused_by_all_ranks(
    run: Path, settings: tuple[str, ...], text: str
) -> None:
    assert text in refused(start(2, CASE, run, *TINY, *settings))


def test_a_file_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    for servers in ("thread", "1"):
        run = tmp_path / servers
        (run / "fields/taylor_green_000004.h5").mkdir(parents=True)  # a folder has its name
        message = refused(start(2, CASE, run, *TINY, *by(servers)))
        assert "taylor_green_000004.h5" in message
        assert "step 4" in message
        assert not list(run.rglob("*.partial"))


def test_continue_goes_on_without_the_file(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "fields/taylor_green_000004.h5").mkdir(parents=True)
    done = start(2, CASE, run, *TINY, *by("thread"), "output.on_failure=continue")
    assert done.returncode == 0, done.stderr
    output = summary_of(run)["output"]
    assert isinstance(output, dict)
    assert output["failed"] == 1
    assert (run / "fields/taylor_green_000010.h5").is_file()


def test_fallback_takes_what_has_no_place(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    other.mkdir()
    (run / "fields/taylor_green_000004.h5").mkdir(parents=True)
    settings = (*TINY, *by("1"), f"output.fallback_path={other}")
    succeed(2, CASE, run, *settings)
    succeed(1, CASE, tmp_path / "plain", *TINY)
    name = "taylor_green_000004.h5"
    assert (other / name).read_bytes() == (tmp_path / "plain/fields" / name).read_bytes()


@pytest.mark.parametrize(("servers", "ranks"), [("thread", 2), ("1", 3)])
def test_sigterm_leaves_a_checkpoint_and_whole_files(run: Path, servers: str, ranks: int) -> None:
    """All ranks end cleanly, servers too; what was begun is complete."""
    settings = (*TINY, "time.end=2000", "output.every=20", *by(servers))
    with subprocess.Popen(
        command(ranks, CASE, run, *settings),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        limit = time.monotonic() + 60
        while not (run / "fields/taylor_green_000040.h5").exists():
            assert time.monotonic() < limit, "no output"
            time.sleep(0.02)
        for pid in program_processes(run):
            os.kill(pid, signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    summary = summary_of(run)
    assert summary["stopped_by"] == "SIGTERM"
    step = summary["steps"]
    assert isinstance(step, int)
    assert (run / f"checkpoint_{step:06d}.h5").is_file()
    assert len(list((run / "fields").iterdir())) == 1 + step // 20
    assert not list(run.rglob("*.partial"))
