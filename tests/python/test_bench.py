# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `tailrace bench`: how rounds become rows, and a tiny bench from end to end."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from stand_ins import is_built
from typer.main import get_command
from typer.testing import CliRunner

from bench.studies.drivers import find_driver, need_driver
from tailrace.benchmarks import BENCHES, clone, load, output
from tailrace.benchmarks.bus_load import occupied_bus
from tailrace.benchmarks.drivers import Command
from tailrace.benchmarks.options import Options
from tailrace.benchmarks.report import show
from tailrace.benchmarks.rounds import Entry, Measured, measure, run_once
from tailrace.cli import app
from tailrace.cli.console import make_console
from tailrace.errors import TailraceError

KEYS = {"problem", "entry", "ours", "median_s", "min_s", "max_s", "runs"}


def fake(name: str, ours: bool = False, reference: bool = False) -> Entry:
    return Entry(name, "cube", ours, Command([name]), reference)


def test_rounds_are_interleaved_and_ratios_come_from_pairs() -> None:
    order: list[str] = []
    times = {"a": iter([1.0, 2.0, 4.0]), "b": iter([3.0, 4.0, 12.0])}

    def run(command: Command) -> list[dict[str, object]]:
        name = command.words[0]
        order.append(name)
        return [{"entry": name, "seconds": [next(times[name])], "error": 1e-16}]

    measured = measure([fake("a", True, True), fake("b")], 3, run=run)
    assert order == ["a", "b"] * 3
    a, b = measured.rows
    assert a.keys() >= KEYS
    assert (a["median_s"], a["min_s"], a["max_s"], a["runs"]) == (2.0, 1.0, 4.0, 3)
    assert a["ours"] and a["ratio"] == 1.0
    # ratios of the rounds are 3, 2, 3: their median is not the ratio of the medians
    assert not b["ours"] and b["ratio"] == 3.0 and b["ratio_min"] == 2.0
    assert b["median_s"] / a["median_s"] == 2.0


def test_the_worst_error_of_all_rounds_is_kept() -> None:
    errors = iter([1e-3, 1e-16])
    measured = measure(
        [fake("a", True)], 2, run=lambda _: [{"seconds": [1.0], "error": next(errors)}]
    )
    assert measured.rows[0]["error"] == 1e-3


def test_a_peer_that_fails_is_left_out_with_its_reason() -> None:
    def run(command: Command) -> list[dict[str, object]]:
        if command.words[0] == "peer":
            raise TailraceError("exit status 139: segmentation fault")
        return [{"seconds": [1.0]}]

    measured = measure([fake("mine", True, True), fake("peer")], 2, run=run)
    assert [row["entry"] for row in measured.rows] == ["mine"]
    assert "139" in measured.failures["peer (cube)"]
    with pytest.raises(TailraceError, match="139"):
        measure([fake("peer", ours=True)], 1, run=run)


def test_a_driver_that_fails_or_says_nothing_is_an_error() -> None:
    with pytest.raises(TailraceError, match=r"exit status 3: .*broken"):
        run_once(
            Command([sys.executable, "-c", "import sys; sys.stderr.write('broken'); sys.exit(3)"])
        )
    with pytest.raises(TailraceError, match="exit status 0"):
        run_once(Command([sys.executable, "-c", "print('no figures')"]))
    with pytest.raises(TailraceError, match="No such file"):
        run_once(Command(["/nonexistent/driver"]))


def test_a_wrong_transform_is_reported() -> None:
    row = {"problem": "64^3 r2c double, 1 rank", "entry": "tailrace", "ours": True}
    record = {**row, "seconds": [0.1], "error": 1e-3}
    entry = Entry("tailrace", row["problem"], True, Command(["x"]), True)
    measured = measure([entry], 1, run=lambda _: [dict(record)])
    load("fft").finish(measured, Options())
    assert any(reason.startswith("wrong result") for reason in measured.failures.values())


def test_stages_stand_beside_their_model_without_a_round_trip() -> None:
    problem = "64^3 r2c double, 1 rank: stages of tailrace"
    record = {"entry": "z forward", "problem": problem, "seconds": [0.1], "model_s": 0.05}
    entry = Entry("tailrace", "64^3 r2c double, 1 rank", True, Command(["x"]), True)
    measured = measure([entry], 1, run=lambda _: [dict(record)])
    load("fft").finish(measured, Options())
    assert measured.failures == {}
    assert [row["problem"] for row in measured.rows] == [problem]
    assert "ns_per_point" not in measured.rows[0]


def test_transforms_of_other_kinds_have_the_peers_that_know_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tailrace-bench").touch(mode=0o755)
    for name in ("fftw_mpi", "fftw_mpi_single", "accfft", "fftw_serial", "mkl"):
        (tmp_path / f"bench_{name}").touch(mode=0o755)
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(tmp_path))
    plain = load("fft").entries(Options(sizes=[64], ranks=[1]))
    assert {"accfft", "mkl", "FFTW in", "fftw_mpi in"} <= {entry.name for entry in plain}
    asked = Options(sizes=[60], ranks=[3], precision="single", kind="c2c", fields=3, grid="pencils")
    found = {entry.name: entry for entry in load("fft").entries(asked)}
    assert set(found) == {
        *("tailrace", "tailrace, 2/3 truncation"),
        *("fftw_mpi in", "fftw_mpi out", "mkl"),
    }
    for entry in found.values():
        assert entry.problem == "60^3 c2c single, 3 fields, 3 ranks in pencils"
        text = " ".join(entry.command.words)
        assert "--kind c2c" in text and "--fields 3" in text
    ours = " ".join(found["tailrace"].command.words)
    assert "--grid-z 1 --grid-y 3" in ours and "--precision single" in ours
    assert "bench_fftw_mpi_single" in " ".join(found["fftw_mpi in"].command.words)
    four = Options(sizes=[64], ranks=[4], grid="pencils", other_libraries=False)
    assert "--grid-z 2 --grid-y 2" in " ".join(load("fft").entries(four)[0].command.words)


def test_shapes_have_the_libraries_that_know_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tailrace-bench").touch(mode=0o755)
    for name in ("fftw_arrays", "fftw_mpi", "mkl", "ducc", "accfft"):
        (tmp_path / f"bench_{name}").touch(mode=0o755)
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(tmp_path))
    python = {name for name in ("scipy", "mpi4py_fft") if importlib.util.find_spec(name)}
    python = {{"scipy": "scipy.fft"}.get(name, "mpi4py-fft") for name in python}

    def found(shape: str, ranks: int, **more: Any) -> dict[str, Entry]:
        asked = Options(shapes=[shape], sizes=[16], ranks=[ranks], **more)
        return {entry.name: entry for entry in load("fft").entries(asked)}

    assert set(found("2d", 1)) == {"tailrace", "FFTW", "mkl", "ducc", *python}
    over_ranks = {"tailrace", "fftw_mpi in", "fftw_mpi out", "ducc", *python}
    assert set(found("cosine", 2)) == over_ranks  # MKL has no cosine transforms
    assert set(found("channel", 2)) == over_ranks - {"fftw_mpi in", "fftw_mpi out"}
    assert set(found("batches", 1, precision="single")) == {"tailrace", "mkl", "ducc", *python}
    assert set(found("lines", 1, other_libraries=False)) == {"tailrace"}
    channel = found("channel", 2)["tailrace"]
    assert channel.reference and channel.problem == "channel, 16^3 r2c double, 2 ranks"
    text = " ".join(channel.command.words)
    assert "--extents 16x16x16 --axes 0,1,2 --kinds fourier,dct2,fourier" in text
    kernels = load("fft").entries(Options(shapes=["4d"], ranks=[1], kernels=["ducc0", "wide"]))
    assert [entry.reference for entry in kernels[:2]] == [True, False]
    both = load("fft").entries(Options(shapes=["lines", "cube"], ranks=[1], other_libraries=False))
    assert {entry.problem for entry in both} == {
        "lines, 128^3 r2c double, 1 rank",
        "256^3 r2c double, 1 rank",
    }
    for wrong in (Options(shapes=["cubes"]), Options(shapes=["2d"], grid="slabs")):
        with pytest.raises(TailraceError) as refused:
            load("fft").entries(wrong)
        assert refused.value.status == 2


def test_the_fastest_other_library_of_a_shape_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    problem = "2d, 16^2 r2c double, 1 rank"
    seconds = {"tailrace": (1.0, 2.0), "FFTW": (1.5, 2.6), "scipy.fft": (3.0, 3.0)}
    times = {name: iter(values) for name, values in seconds.items()}

    def run(command: Command) -> list[dict[str, object]]:
        name = command.words[0]
        return [{"entry": name, "seconds": [next(times[name])], "error": 0.0, "points": 256.0}]

    listed = [
        Entry(name, problem, name == "tailrace", Command([name]), name == "tailrace")
        for name in seconds
    ]
    measured = measure(listed, 2, run=run)
    load("fft").finish(measured, Options())
    assert measured.rows[0]["ns_per_point"] == pytest.approx(1.5e9 / 256)
    load("fft").show(make_console(), measured)
    assert (
        f"{problem}: Tailrace is 1.40 (1.30 to 1.50) times as fast as FFTW, the fastest other "
        "library" in capsys.readouterr().out
    )


@pytest.mark.skipif(not is_built("tailrace-bench"), reason="the drivers are not built")
def test_a_tiny_bench_of_shapes(tmp_path: Path) -> None:
    """Every shape, by every library that is here, gives what it was given."""
    path = tmp_path / "fft.json"
    words = ["--shapes", "2d,4d,batches,lines,cosine,sine,channel", "--points", "8"]
    words += ["--ranks", "1,2", "--rounds", "1", "--repeats", "1", "--json", str(path)]
    result = CliRunner().invoke(app, ["bench", "fft", *words])
    assert result.exit_code == 0, result.output
    content = json.loads(path.read_text())
    assert not content["failures"]
    problems = {row["problem"] for row in content["rows"]}
    assert len(problems) == 14
    for problem in problems:
        rows = {row["entry"]: row for row in content["rows"] if row["problem"] == problem}
        assert {"tailrace", "tailrace, fft::transform"} <= set(rows)
        assert ("FFTW" in rows) == (find_driver("fftw_arrays") is not None and "1 rank" in problem)
        assert rows["tailrace"]["ratio"] == 1.0
        assert all(row["error"] < 1e-13 for row in rows.values())


def test_a_busy_bus_needs_a_processor_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with pytest.raises(TailraceError, match="two processors"), occupied_bus(1e9):
        pass
    with occupied_bus(0) as load_of_bus:
        assert load_of_bus is None


@pytest.mark.skipif(
    not is_built("tailrace-bench") or len(os.sched_getaffinity(0)) < 2,
    reason="the driver is not built, or there is one processor",
)
def test_a_busy_bus_is_no_busier_than_asked() -> None:
    allowed = os.sched_getaffinity(0)
    with occupied_bus(1e8) as bus:
        assert bus is not None
        assert os.sched_getaffinity(0) == allowed - {bus.cpu}
        time.sleep(1)  # of which, beside other tests, the driver may have little
    assert os.sched_getaffinity(0) == allowed
    assert 0 < bus.bytes_per_s < 1.2e8


def test_every_bench_of_the_table_loads() -> None:
    for name in (*BENCHES, *clone.STUDIES):
        module = load(name)
        assert module.SUMMARY and callable(module.entries) and callable(module.finish)


def test_every_bench_is_a_subcommand_with_its_own_options() -> None:
    commands = get_command(app).get_command(None, "bench").commands  # type: ignore[attr-defined]
    assert set(commands) == {*BENCHES, *clone.STUDIES}
    options = {name: {one.name for one in command.params} for name, command in commands.items()}
    assert "kernel" in options["fft"] and "dirs" not in options["fft"]
    assert "dirs" in options["io"] and "kernel" not in options["io"]
    assert all({"rounds", "json"} <= names for names in options.values())
    assert {name for name, names in options.items() if "ranks" not in names} == {
        "blas",
        "dense",
        "sparse",
    }
    drawing = {name for name in commands if hasattr(load(name), "draw")}
    assert {name for name, names in options.items() if "picture" in names} == drawing


def test_unknown_names_and_numbers_are_refused() -> None:
    for words, text in (
        (["bench", "fft", "--points", "-4"], "--points"),
        (["bench", "allreduce", "--sizes", "8q"], "--sizes"),
    ):
        result = CliRunner().invoke(app, words)
        assert isinstance(result.exception, TailraceError)
        assert text in str(result.exception) and result.exception.status == 2


def test_absent_drivers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(tmp_path))
    assert find_driver("accfft") is None
    with pytest.raises(
        TailraceError, match="bench_dense_ours was not found; run `make build TARGETS"
    ):
        need_driver("dense_ours")


@pytest.mark.skipif(
    not is_built("tailrace-bench"),
    reason="the drivers are not built",
)
def test_a_tiny_bench_writes_the_agreed_file(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "exchange.json"
    words = [
        "--points",
        "32",
        "--ranks",
        "2",
        "--rounds",
        "2",
        "--repeats",
        "2",
        "--no-other-libraries",
    ]
    line = ["bench", "exchange", "--patterns", "kept", *words, "--json", str(path)]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output
    content = json.loads(path.read_text())
    assert content["bench"] == "exchange"
    assert {"machine", "date", "rows"} <= content.keys()
    assert not content["failures"]
    entries = {row["entry"] for row in content["rows"]}
    assert {"alltoallv", "alltoallw", "pairwise", "memcpy of as many bytes"} <= entries
    for row in content["rows"]:
        assert row.keys() >= KEYS
        assert row["runs"] == 2 and not row.get("error")
        middle = (row["min_s"] + row["max_s"]) / 2  # of two rounds
        assert row["min_s"] > 0 and row["median_s"] == pytest.approx(middle)
        assert row["ours"] is (row["family"] == "ours")


@pytest.mark.skipif(
    not is_built("tailrace-bench"),
    reason="the drivers are not built",
)
def test_a_tiny_bench_of_output(tmp_path: Path) -> None:
    path = tmp_path / "output.json"
    words = [
        "--points",
        "16",
        "--ranks",
        "1",
        "--rounds",
        "2",
        "--steps",
        "3",
        "--compute-s",
        "0.02",
    ]
    words += ["--folder", str(tmp_path / "files"), "--json", str(path)]
    result = CliRunner().invoke(app, ["bench", "output", *words])
    assert result.exit_code == 0, result.output
    rows = json.loads(path.read_text())["rows"]
    assert len(rows) == 8  # of two shapes
    for row in rows:
        with_output = row["entry"] != "no output"
        assert ("cost_fraction" in row) is with_output
        assert ("over_limit" in row) is (with_output and row["ours"])
        if "over_limit" in row:
            assert row["copy_and_write_s"] > 0 and row["limit_s"] > 0 and row["writer_cpu_s"] > 0
    assert not list((tmp_path / "files").glob("bench_raw*"))


def test_output_says_the_readers_own_number(capsys: pytest.CaptureFixture[str]) -> None:
    def row(entry: str, ratio: float) -> dict[str, object]:
        ratios = {"ratio": ratio, "ratio_min": ratio - 0.02, "ratio_max": ratio + 0.03}
        times = {"median_s": 2 * ratio, "min_s": 1.0, "max_s": 4.0, "drain_s": 0.0, "ours": True}
        return {"problem": "128^3", "entry": entry, **ratios, **times}

    rows = [row("no output", 1.0), row("tailrace, hidden", 1.04), row("MPI-IO", 1.5)]
    measured = Measured(rows, {})
    output.finish(measured, Options(folder=Path("/scratch")))
    output.show(make_console(), measured)
    assert (
        "Cost of output in /scratch, 128^3: tailrace, hidden +4.0 % (+2.0 to +7.0 %); MPI-IO "
        "+50.0 % (+48.0 to +53.0 %) of the run time." in capsys.readouterr().out
    )


@pytest.mark.skipif(
    find_driver("dense_ours") is None and "TAILRACE_BIN_DIR" not in os.environ,
    reason="the drivers are not built",
)
def test_a_tiny_bench_of_dense_systems(tmp_path: Path) -> None:
    path = tmp_path / "dense.json"
    words = ["--points", "128", "--rounds", "2", "--repeats", "2"]
    result = CliRunner().invoke(app, ["bench", "dense", *words, "--json", str(path)])
    assert result.exit_code == 0, result.output
    content = json.loads(path.read_text())
    assert not content["failures"]
    rows = content["rows"]
    assert len({row["problem"] for row in rows}) == 4  # a condition number each; least squares
    assert {row["entry"] for row in rows} == {"tailrace", "dgesv", "dsgesv", "dgels"}
    for row in rows:
        assert row["runs"] == 2 and row["error"] < 1e-14
        assert row["ours"] is (row["entry"] == "tailrace")
        assert not row["ours"] or row["gain"] == 1 / row["ratio"]


@pytest.mark.skipif(
    find_driver("sparse_ours") is None and "TAILRACE_BIN_DIR" not in os.environ,
    reason="the drivers are not built",
)
@pytest.mark.parametrize(
    ("banner", "last", "items"),
    [
        ("real symmetric", "4 3 -1.5", 10),
        ("integer general", "4 3 -2", 7),
        ("real skew-symmetric", "4 3 0.5", 10),
    ],
)
def test_a_sparse_bench_of_a_matrix_market_file(
    tmp_path: Path, banner: str, last: str, items: int
) -> None:
    file, path = tmp_path / "a.mtx", tmp_path / "sparse.json"
    rows = ["1 1 4", "2 2 4", "3 3 4", "4 4 4", "2 1 -1", "3 2 -1", last]
    file.write_text(
        "\n".join([f"%%MatrixMarket matrix coordinate {banner}", "% made here", "4 4 7", *rows])
    )
    words = ["--matrices", str(file), "--rounds", "1", "--repeats", "2", "--json", str(path)]
    done = CliRunner().invoke(app, ["bench", "sparse", *words])
    assert done.exit_code == 0, done.output
    content = json.loads(path.read_text())
    assert not content["failures"]
    assert {row["items"] for row in content["rows"]} == {items}
    assert len({row["problem"] for row in content["rows"]}) == 2  # products, and solves
    has_scipy = importlib.util.find_spec("scipy") is not None
    assert sum(row["entry"] == "SciPy" for row in content["rows"]) == has_scipy  # of products
    plain = [row for row in content["rows"] if row["entry"] == "plain CSR"]
    assert {row["bytes_moved"] for row in plain} == {12 * items + 4 * 4 + 16 * 4}
    picture = tmp_path / "roofline.svg"
    drawn = [*words[:-2], "--operations", "multiply", "--picture", str(picture)]
    done = CliRunner().invoke(app, ["bench", "sparse", *drawn])
    assert done.exit_code == 0, done.output
    drawn_entries = {"tailrace", "plain CSR", "Eigen", "PETSc AIJ", "SciPy"}
    found = drawn_entries & {row["entry"] for row in content["rows"]}
    assert picture.read_text().count('<g id="PathCollection') == 2 * len(found) >= 4  # and legend
    file.write_text("%%MatrixMarket matrix array real general\n4 4\n")
    done = CliRunner().invoke(app, ["bench", "sparse", *words])
    assert done.exit_code != 0
    words[1] = str(tmp_path / "none.mtx")
    assert "no such file" in str(CliRunner().invoke(app, ["bench", "sparse", *words]).exception)


@pytest.mark.skipif(
    find_driver("sparse_cg") is None and "TAILRACE_BIN_DIR" not in os.environ,
    reason="the drivers are not built",
)
def test_a_sparse_bench_of_conjugate_gradients_and_all_formats(tmp_path: Path) -> None:
    path = tmp_path / "sparse.json"
    words = ["--matrices", "stencil7,short", "--points", "8", "--rounds", "1", "--repeats", "2"]
    words += ["--operations", "cg-jacobi,cg-icc0,formats", "--json", str(path)]
    done = CliRunner().invoke(app, ["bench", "sparse", *words])
    assert done.exit_code == 0, done.output
    content = json.loads(path.read_text())
    assert not content["failures"]
    rows = [row for row in content["rows"] if row["ours"] and row["entry"] == "tailrace"]
    iterations = {row["preconditioner"]: row["iterations"] for row in rows if "iterations" in row}
    assert 0 < iterations["icc0"] < iterations["jacobi"]
    assert sum("of_best" in row for row in rows) == 2  # both matrices; cg has the one
    entries = {row["entry"].removeprefix("tailrace, ") for row in content["rows"]}
    entries |= {row["storage"].split(",")[0] for row in rows if "storage" in row}  # chosen: once
    assert {"sell", "csr_wide", "dia"} <= entries


def test_tables_keep_what_stands_in_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    """rich takes "[s]" for a style, strike-through, and "[node]" for an unknown one."""
    row = {"problem": "cube [b]", "entry": "way [i]", "ours": True, "ratio": 1.0}
    row |= {"median_s": 1.0, "min_s": 0.5, "max_s": 2.0}
    show(make_console(), Measured([row], {"peer [u]": "exit status 1: [node:17] no memory"}))
    printed = capsys.readouterr().out
    for text in ("cube [b]", "way [i]", "median [s]", "not measured: peer [u]: exit status 1: "):
        assert text in printed
    assert "[node:17] no memory" in printed


def test_old_names_are_accepted_with_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    for words, told in (
        (["faces", "--ranks", "0"], "faces is now bindings"),
        (["fft", "--no-peers", "--ranks", "0"], "--no-peers is now --no-other-libraries"),
    ):
        result = CliRunner().invoke(app, ["bench", *words])
        assert isinstance(result.exception, TailraceError)  # of --ranks, which is looked at later
        assert "--ranks 0" in str(result.exception)
        assert told in result.output + capfd.readouterr().err


def test_an_installed_package_offers_what_it_can_measure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A copy of the package elsewhere: four benchmarks, and a line about each study."""
    shutil.copytree(clone.SOURCE_ROOT / "tailrace", tmp_path / "tailrace")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    # The editable installation comes before PYTHONPATH.
    start = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
    start += "sys.meta_path = [m for m in sys.meta_path if 'ditable' not in repr(m)"
    start += " and 'Scikit' not in repr(m)]; from tailrace.cli import main; main()"

    def bench(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", start, "bench", *words]
        return subprocess.run(
            line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    shown = bench("--help")
    assert shown.returncode == 0, shown.stderr
    assert re.findall(r"^  ([a-z-]+)  ", shown.stdout, re.MULTILINE) == list(BENCHES)
    assert "need a clone of the repository" in shown.stdout
    assert "--nodes" not in bench("exchange", "--help").stdout
    assert "--throttle" not in bench("output", "--help").stdout
    for words in (["exchange", "--nodes", "2"], ["output", "--throttle", "1000"]):
        assert "needs a script in bench/" in bench(*words).stderr
    for study in clone.STUDIES:
        refused = bench(study, "--rounds", "1")
        assert refused.returncode == 2 and refused.stdout == ""
        assert refused.stderr.count("\n") == 1
        assert f"bench {study}: this study is in the repository" in refused.stderr
