# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace demo` with a stand-in program whose times are known, on machines as busy as we say."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import built
from typer.testing import CliRunner, Result

from tailrace.cli import app
from tailrace.cli import demo as demo_module
from tailrace.errors import TailraceError
from tailrace.launch import machine_load
from tailrace.launch.machine_load import Sample, Share
from tailrace.runs import output_modes
from tailrace.runs.output_modes import AGAIN, KINDS, NONE, Piece, cost_of, noise_text, others_used
from tailrace.runs.simulation import Job


def run_demo(
    monkeypatch: pytest.MonkeyPatch, *arguments: str, others: float = 0.0, stolen: float = 0.0
) -> Result:
    """Run the demo where, second by second, others use so many processors."""
    clock = itertools.count()

    def sample() -> Sample:
        seconds = float(next(clock))
        return Sample(seconds, (2 + others) * seconds, stolen * seconds, 0.0, 2 * seconds)

    monkeypatch.setattr(output_modes, "sample", sample)
    monkeypatch.setattr(demo_module, "num_cores", lambda: 2)
    return CliRunner().invoke(app, ["demo", "-n", "2", "--run-dir", "out", *arguments])


def test_demo_interleaves_all_kinds_and_reports(
    stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_demo(monkeypatch, "--repeats", "3", "--end", "1")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert (
        "Output to a shared file system, simulated (back_end = limited:200M,2ms): hidden +10.0 % "
        "(+10.0 to +10.0 %) run time, synchronous +100.0 % (+100.0 to +100.0 %)" in lines
    )
    rows = [line.split("│")[1:-1] for line in lines if "│" in line]
    costs = {(row[0].strip(), row[1].strip()): row[3].strip() for row in rows}
    assert costs["synchronous", "disk"] == "+50.0 %"
    assert costs["hidden", "disk"] == "+5.0 %"
    assert costs["synchronous", "shared"] == "+100.0 %"
    assert costs["hidden", "shared"] == costs["hidden, compressed", "shared"] == "+10.0 %"
    assert costs["server processes", "shared"] == "+15.0 %"
    assert "Noise: equal runs differ by +0.0 % (+0.0 to +0.0 %)." in lines
    summary = json.loads((stage / "out" / "summary.json").read_text())
    assert summary["times_s"]["none"] == 2.0 and summary["times_s"]["shared synchronous"] == 4.0
    assert AGAIN not in summary["times_s"]
    assert summary["times_all_s"]["synchronous"] == [3.0, 3.0, 3.0]
    assert (summary["times_limit"], summary["times_others"]) == ("200M,2ms", [])
    page = (stage / "out" / "report.html").read_text()
    first = page.index("+10.0 %")
    assert first < page.index("cost of hidden output to a shared file system (simulated) (+10.0")
    for text in ("+100.0 %", "+5.0 %", "+50.0 %", "limited:200M,2ms", "Noise: equal runs differ"):
        assert text in page
    assert not list((stage / "out" / "other").glob("*/fields"))
    folders = [path.name for path in sorted((stage / "out" / "other").iterdir())]
    assert len(folders) == 3 * 8 - 1  # three rounds, but for the run that stays
    # All pieces begin at the checkpoint that the first part has left.
    for name in ("out", "out/other/none-3"):
        words = json.loads((stage / name / "arguments-0.json").read_text())
        assert "restart.file=out/checkpoint_000001.h5" in words
        assert "time.end=1.0" in words
    assert 'output.hints=["back_end=limited:200M,2ms"]' in json.loads(
        (stage / "out" / "arguments-0.json").read_text()
    )


def test_quick_is_shorter_and_leaves_a_picture(
    stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_demo(monkeypatch, "--quick", "--repeats", "2")
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    assert "Re 140, 48^3 points" in said and "30 steps to t = 4 2 times" in said
    assert "round 2 of 2" in said and "round 3" not in said
    assert (stage / "out" / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "Picture: out/demo.png" in said


@pytest.mark.parametrize(
    ("others", "stolen", "reason"),
    [
        (1.4, 0.0, "other programs used 1.4 of its 2 processors"),
        (0.0, 0.6, "its host took 0.6 of them away"),
    ],
)
def test_a_busy_machine_gives_figures_and_says_so(
    stage: Path, monkeypatch: pytest.MonkeyPatch, others: float, stolen: float, reason: str
) -> None:
    done = run_demo(monkeypatch, "--repeats", "2", others=others, stolen=stolen)
    assert done.exit_code == 0, done.output
    assert f"meanwhile {reason}: an idle machine gives narrower ranges." in done.stdout
    page = (stage / "out" / "report.html").read_text()
    assert f"Meanwhile {reason}: an idle machine gives narrower ranges" in page
    assert "+10.0 %" in page and "+100.0 %" in page
    assert "too busy" not in page and ">?<" not in page


def test_costs_within_the_runs_are_kept(stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs differ by more than output costs; steps within a run can be compared."""
    program = stage / "tools" / "tailrace-turbulence"
    costs = {"cost_fraction": 0.012, "cost_spread_s": 0.02, "run_s": 2.0, "steps_with_output": 9}
    costs |= {"call_s": 0.01, "capture_s": 0.002, "slower_s": 0.012}
    text = program.read_text()
    plain = '"hidden_fraction": 0.9}'
    assert plain in text
    more = f'"hidden_fraction": 0.9, "output": {{"mode": asked_for[-1]}}, "output_cost": {costs}}}'
    program.write_text(text.replace(plain, more))
    done = run_demo(monkeypatch, "--repeats", "2", others=1.4)
    assert done.exit_code == 0, done.output
    summary = json.loads((stage / "out" / "summary.json").read_text())
    assert summary["costs_within"]["hidden"] == pytest.approx(
        {"fraction": 0.012, "low": 0.002, "high": 0.022}
    )
    assert set(summary["costs_within"]) == set(summary["times_s"]) - {"none"}
    page = (stage / "out" / "report.html").read_text()
    assert "Output cost 1.2 % of the run (0.2 to 2.2 %): 10 ms in output calls, 2 ms of" in page


def test_what_others_used_follows_from_what_was_measured() -> None:
    quiet, busy = Share(0.02, 0.0, 0.0), Share(0.5, 0.0, 0.3)

    def rounds(share: Share | None) -> list[dict[str, Piece]]:
        return [{name: Piece(1.0, share) for name in KINDS} for _ in range(2)]

    assert others_used(rounds(quiet), 2, 2) == []
    assert others_used(rounds(None), 2, 2) == []  # not known on this system
    assert "other programs used 0.5" in others_used(rounds(busy), 2, 2)[0]
    assert others_used(rounds(busy), 8, 2) == []  # there was room for them


def test_cost_is_the_median_of_pairs() -> None:
    times = [(1.0, 1.1), (2.0, 2.2), (1.0, 2.0)]
    found = cost_of([{NONE: Piece(a, None), "hidden": Piece(b, None)} for a, b in times], "hidden")
    assert found.median == pytest.approx(0.1)
    assert (found.low, found.high) == (pytest.approx(0.1), pytest.approx(1.0))


def test_two_runs_without_output_are_the_base_and_give_the_noise() -> None:
    pieces = {NONE: 1.0, AGAIN: 1.2, "hidden": 1.1}
    rounds = [{name: Piece(seconds, None) for name, seconds in pieces.items()}]
    assert cost_of(rounds, "hidden").median == pytest.approx(0.0)
    times = {name: [seconds] for name, seconds in pieces.items()}
    assert noise_text(times) == "noise: equal runs differ by +20.0 % (+20.0 to +20.0 %)"
    assert noise_text({NONE: [1.0]}) == ""


def test_a_stopped_run_ends_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a run well, with status 0; the demo must not go on to the next one."""
    monkeypatch.setattr(output_modes, "run_job", lambda _: (0, tmp_path))
    (tmp_path / "summary.json").write_text('{"stopped_by": "SIGINT"}')
    with pytest.raises(
        TailraceError, match=r"the run \(no output\) was stopped by SIGINT"
    ) as caught:
        output_modes.run_to_end(Job("x"), tmp_path, [], "no output")
    assert caught.value.status == 130


def test_share_is_what_is_neither_ours_nor_idle(tmp_path: Path) -> None:
    ticks = machine_load.os.sysconf("SC_CLK_TCK")
    stat = tmp_path / "stat"
    stat.write_text(f"cpu  {7 * ticks} 0 {ticks} 99 {2 * ticks} 0 0 {3 * ticks} 0 0\ncpu0 1\n")
    found = machine_load.sample(stat)
    assert found is not None
    assert (found.busy, found.stolen, found.waiting_for_disks) == (8.0, 3.0, 2.0)
    earlier = Sample(found.clock - 4, 2.0, 1.0, 2.0, found.own - 2)
    assert machine_load.between(earlier, found) == pytest.approx(Share(1.0, 0.5, 0.0))
    assert machine_load.sample(tmp_path / "absent") is None


def test_demo_ends_with_the_status_and_words_of_a_failed_run(stage: Path) -> None:
    program = stage / "tools" / "tailrace-turbulence"
    program.write_text(
        "#!/bin/sh\ncase $* in *--check*) exit 0;; esac\n"
        "echo 'tailrace-turbulence: no space left' >&2\nexit 4\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "demo", "--run-dir", "out"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 4
    assert "no space left" in done.stderr
    assert not (stage / "out" / "report.html").exists()


def test_demo_refuses_a_limit_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built("tailrace-turbulence")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo", "--limit", "fast", "--run-dir", "out"])
    assert isinstance(done.exception, TailraceError) and done.exception.status == 2
    words = str(done.exception)
    assert words.startswith("--limit fast: ") and "limited:200M,2ms" in words
    assert not Path("out").exists()


def test_demo_refuses_a_used_folder(stage: Path) -> None:
    (stage / "out").mkdir()
    (stage / "out" / "summary.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "demo", "--run-dir", "out"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "--run-dir out holds the results of a run" in done.stderr
