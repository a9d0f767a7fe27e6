# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace advise`: statistics and experiments on a simulated clock, settings, real runs."""

import json
import math
import random
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailrace.advice.advise import Advice, as_data, left_out, summary, table, was_tried
from tailrace.advice.experiment import (
    Experiment,
    Outcome,
    Proposal,
    RunFailedError,
)
from tailrace.advice.remembered import file_of, remember
from tailrace.advice.runner import make_runner
from tailrace.advice.setting import Setting, combined, read_settings, settings_text
from tailrace.advice.statistics import LOOKS, interval, is_hopeless, rank_of_interval
from tailrace.cli import app
from tailrace.errors import TailraceError
from tailrace.launch.launcher import Launch as Launcher


class Machine:
    """A simulated machine: runs take `run_s` times the setting's factor, with noise and drift."""

    def __init__(
        self, seed: int, factors: dict[str, float], noise: float, run_s: float = 1
    ) -> None:
        self.random = random.Random(seed)
        self.factors = factors
        self.noise = noise
        self.run_s = run_s
        self.now = 0.0
        self.seen: list[str] = []

    def run(self, setting: Setting) -> float:
        """Return the seconds of one run; every tenth is disturbed, and the machine drifts."""
        self.seen.append(setting.name)
        factor = self.factors.get(setting.name, 1.0)
        if factor < 0:
            raise RunFailedError("exit status 3")
        drift = 1 + 0.2 * math.sin(self.now / 17)
        seconds = self.run_s * factor * drift * math.exp(self.random.gauss(0, self.noise))
        if self.random.random() < 0.1:
            seconds *= 1 + self.random.random()
        self.now += seconds
        return seconds


def find(machine: Machine, budget_s: float = 200, names: str = "ab", seed: int = 1) -> Outcome:
    """Try settings of these names, each of a tip of its own."""
    experiment = Experiment(machine.run, budget_s, lambda: machine.now, seed)
    return experiment.find([Proposal(name, Setting(name)) for name in names])


@pytest.fixture(autouse=True)
def _no_record_of_the_tuner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_TUNE_FILE", str(tmp_path / "none.json"))


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5])
def test_equal_settings_find_no_winner_in_20_runs(noise: float) -> None:
    won = [find(Machine(seed, {}, noise), seed=seed).winners for seed in range(20)]
    assert sum(map(len, won)) <= 1


@pytest.mark.parametrize(("gain", "noise"), [(1.2, 0.02), (1.5, 0.1)])
def test_a_true_gain_is_found(gain: float, noise: float) -> None:
    found = [find(Machine(s, {"b": 1 / gain}, noise), seed=s) for s in range(20)]
    won = [one for one in found if [w.proposal.tip for w in one.winners] == ["b"]]
    assert len(won) >= 17
    covered = [
        w.together for w in won if w.together and w.together.low <= 1 / gain <= w.together.high
    ]
    assert len(covered) >= len(won) - 1


def test_interval_of_the_median_holds_it_as_often_as_it_says() -> None:
    """Of all ways that n pairs can lie about the true median, too few miss it."""
    for pairs in LOOKS[:2]:
        k = rank_of_interval(pairs)
        missed = sum(
            1 for signs in product((0, 1), repeat=pairs) if sum(signs) < k or pairs - sum(signs) < k
        )
        assert 0 < missed / 2**pairs <= 0.01
        worse = sum(1 for s in product((0, 1), repeat=pairs) if not k < sum(s) < pairs - k)
        assert worse / 2**pairs > 0.01  # no narrower one would do


def test_intervals_of_few_pairs_say_nothing() -> None:
    assert not interval([0.1] * (LOOKS[0] - 1)).wins
    assert interval([0.5] * LOOKS[0]).wins
    assert not interval([0.5] * (LOOKS[0] - 1) + [1.1]).wins
    assert not interval([0.999] * LOOKS[0]).wins  # too small to care
    assert interval([0.5, 0.8, *[0.6] * 6]).text == "1.67x (1.25 to 2.00)"
    assert is_hopeless([1.0, 1.2, 1.1]) and not is_hopeless([1.2, 1.1] + [0.9] * 10)


def test_it_stops_early_where_nothing_can_be_gained() -> None:
    machine = Machine(3, dict.fromkeys("abcdef", 1.3), 0.02)
    found = find(machine, 1000, "abcdef")
    assert [one.outcome for one in found.verdicts] == ["no effect"] * 6
    assert found.runs == len(machine.seen) <= 1 + 3 * 2 + 2 * 6
    assert found.setting is None and found.winners == []


def test_the_budget_holds_and_what_it_left_out_is_said() -> None:
    machine = Machine(4, {"a": 0.5}, 0.05, run_s=5)
    found = find(machine, 60, "abcdef")
    assert machine.now < 60 + 2 * 10
    left = [one for one in found.verdicts if one.outcome == "not tried"]
    assert left and all("budget" in one.why for one in left)
    assert any("--budget" in note for note in found.notes)
    nothing = find(Machine(4, {}, 0.05, run_s=50), 60, "ab")
    assert [one.outcome for one in nothing.verdicts] == ["not tried"] * 2 and nothing.runs == 1


def test_runs_that_become_slower_than_the_first_still_get_a_budget_named() -> None:
    """The first run says that all can be screened, and the machine becomes busy afterwards."""
    machine = Machine(4, {"a": 0.5}, 0.01, run_s=1)

    def run(setting: Setting) -> float:
        seconds = machine.run(setting)
        machine.run_s = 20
        return seconds

    experiment = Experiment(run, 60, lambda: machine.now, 1)
    found = experiment.find([Proposal(name, Setting(name)) for name in "abc"])
    assert [one.outcome for one in found.verdicts] == ["not tried"] * 3
    assert len(found.notes) == 1 and "give --budget" in found.notes[0]
    assert int(found.notes[0].split()[-1]) > 2 * 3 * 3 * 10


@pytest.mark.parametrize("noise", [0.05, 1.7])
def test_a_busy_machine_is_named_where_nothing_is_found(noise: float) -> None:
    advice = Advice(find(Machine(8, {}, 0.01), 400), {}, 1.0)
    advice.outcome.noise = noise
    text = " ".join(summary(advice))
    assert "No setting was found" in text
    assert ("Measurement noise (170 %) exceeds most gains" in text) == (noise > 1), text


def test_settings_that_fail_are_left_out() -> None:
    machine = Machine(5, {"a": -1, "b": 0.5}, 0.02)
    found = find(machine)
    assert [(one.outcome, one.why) for one in found.verdicts[:1]] == [("fails", "exit status 3")]
    assert machine.seen.count("a") == 1
    assert [one.proposal.tip for one in found.winners] == ["b"]
    with pytest.raises(RunFailedError):
        find(Machine(5, {"as it is": -1}, 0.02))


def test_winners_are_confirmed_together() -> None:
    found = find(Machine(6, {"a": 0.7, "b": 0.6, "all": 0.42}, 0.02), 500)
    assert [one.proposal.tip for one in found.winners] == ["b", "a"]
    assert found.setting is not None and found.setting.name == "all"
    against = find(Machine(6, {"a": 0.7, "b": 0.6, "all": 0.66}, 0.02), 500)
    assert against.setting is not None and against.setting.name == "b"
    assert "less than the best alone" in " ".join(against.notes)


def test_of_one_tip_the_best_setting_is_taken() -> None:
    machine = Machine(7, {"a": 0.8, "b": 0.6}, 0.02)
    experiment = Experiment(machine.run, 500, lambda: machine.now)
    found = experiment.find([Proposal("same", Setting(name)) for name in "ab"])
    assert [one.proposal.setting.name for one in found.winners] == ["b"]


def test_settings_are_written_and_read(tmp_path: Path) -> None:
    setting = Setting(
        "x",
        {"A": 'b "c"\\', "LD_PRELOAD": "/x:/y"},
        (("--bind-to", "core"),),
        wrapper=("numactl", "-i", "all"),
    )
    path = tmp_path / "x.toml"
    path.write_text(settings_text(setting, "two\nlines", {"gain": 1.5, "low": 1.0}))
    assert read_settings(path) == setting
    for text in (
        "[",
        "x = 1",
        "[environment]\nA = 1",
        "[launcher]\noptions = [1]",
        "[launcher]\nwrapper = [1]",
    ):
        path.write_text(text)
        with pytest.raises(TailraceError, match="no settings"):
            read_settings(path)
    with pytest.raises(TailraceError, match="No such file"):
        read_settings(tmp_path / "none")


def test_settings_join_and_replace_options() -> None:
    a = Setting("a", {"LD_PRELOAD": "/a", "X": "1"}, (("--bind-to", "core"),))
    b = Setting("b", {"LD_PRELOAD": "/b", "X": "2"}, (("--map-by", "slot"),))
    both = combined("all", [a, b])
    assert both.environment == {"LD_PRELOAD": "/a:/b", "X": "2"}
    launch = Launcher("Open MPI", ["mpirun", "-n", "2", "--bind-to", "none"])
    assert both.launched_by(launch) == [
        *("mpirun", "-n", "2", "--bind-to", "core"),
        *("--map-by", "slot"),
    ]


def test_runs_of_programs(plain_launcher: Path) -> None:
    runner = make_runner(
        3, ["sh", "-c", 'test "$X" = "1 2" && echo "time $RANKS s"'], r"time (\S+)"
    )
    assert runner(Setting("x", {"X": "1 2"})) == 3.0
    with pytest.raises(RunFailedError, match="exit status 1"):
        runner(Setting("none"))
    wrapped = Setting("wrapped", {"X": "no"}, wrapper=("env", "X=1 2"))
    assert runner(wrapped) == 3.0 and wrapped.text == "X=no env 'X=1 2'"
    with pytest.raises(TailraceError, match="finds no number"):
        make_runner(1, ["echo", "no"], r"time (\S+)")(Setting("none"))
    failing = make_runner(1, ["sh", "-c", "echo bad luck >&2; exit 4"])
    with pytest.raises(RunFailedError, match="exit status 4: bad luck"):
        failing(Setting("none"))
    slow = make_runner(1, ["sleep", "60"])
    slow.timeout_s = 0.05
    with pytest.raises(RunFailedError, match="had not ended"):
        slow(Setting("none"))
    for metric in ("(", "x", "(a)(b)"):
        with pytest.raises(TailraceError, match="--metric"):
            make_runner(1, ["true"], metric)


def test_run_with_settings(plain_launcher: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = plain_launcher / "s.toml"
    file.write_text(settings_text(Setting("s", {"X": "seen"}), "", {}))
    words = ["exec", "--with", str(file), "-n", "2", "--", "sh", "-c", "echo $X $RANKS; exit 5"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 5
    assert "seen 2" in capfd.readouterr().out
    done = CliRunner().invoke(app, ["run", "taylor_green", "decaying"])
    assert "one case" in str(done.exception)


def test_winners_are_remembered_by_build(
    plain_launcher: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAILRACE_CACHE", str(plain_launcher / "cache"))
    program = plain_launcher / "app"
    program.write_text("#!/bin/sh\necho $X\n")
    program.chmod(0o755)
    words = ["exec", "--with", "remembered", "-n", "2", "--", str(program)]
    assert "there are no stored settings" in str(CliRunner().invoke(app, words).exception)
    remember(program, [], 2, settings_text(Setting("s", {"X": "seen"}), "", {}))
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "seen" in capfd.readouterr().out
    program.write_text("#!/bin/sh\necho another\n")
    assert "there are no stored settings" in str(CliRunner().invoke(app, words).exception)
    python, script = Path("/usr/bin/python3"), plain_launcher / "a.py"
    script.write_text("1")
    if python.is_file():
        before = file_of(python, ["a.py"], 2)
        script.write_text("2")
        assert file_of(python, ["a.py"], 2) != before


def test_run_with_sparse_asks_petsc_for_the_plugin(
    plain_launcher: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["exec", "--with", "sparse", "--", "sh", "-c", "echo $PETSC_OPTIONS; exit 5"]
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(plain_launcher))
    monkeypatch.setenv("PETSC_OPTIONS", "-ksp_type cg")
    assert "petsc-dev" in str(CliRunner().invoke(app, words).exception)
    library = plain_launcher / "libtailrace_petsc.so"
    library.touch()
    assert CliRunner().invoke(app, words).exit_code == 5
    options = f"-dll_append {library} -mat_seqaij_type tailrace -ksp_type cg"
    assert options in capfd.readouterr().out


def test_sparse_serves_what_a_program_is_linked_with(
    plain_launcher: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script = 'echo "[$PETSC_OPTIONS] [$LD_PRELOAD]"'
    words = ["exec", "--with", "sparse", "--", "sh", "-c", script]
    monkeypatch.setenv("TAILRACE_BIN_DIR", str(plain_launcher))
    monkeypatch.delenv("PETSC_OPTIONS", raising=False)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    petsc = plain_launcher / "libtailrace_petsc.so"
    epetra = plain_launcher / "libtailrace_trilinos.so"
    epetra.touch()
    by_petsc, by_epetra = f"[-dll_append {petsc} -mat_seqaij_type tailrace]", f"[{epetra}]"

    def printed(*libraries: str) -> tuple[str, str]:
        linked = {"libc.so.6", *libraries}
        monkeypatch.setattr("tailrace.advice.sparse_libraries.linked_libraries", lambda _: linked)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0
        found = capfd.readouterr().out.splitlines()
        return next(line for line in found if line[:1] == "["), done.output

    unseen = printed()
    assert unseen[0] == f"[] {by_epetra}"
    assert "petsc-dev" in unseen[1]
    petsc.touch()
    assert printed()[0] == f"{by_petsc} {by_epetra}"
    assert printed("libpetsc_real.so.3.18")[0] == f"{by_petsc} []"
    assert printed("libtrilinos_epetra.so.13.2")[0] == f"[] {by_epetra}"
    assert printed("libepetra.so.12", "libpetsc.so.3.20")[0] == f"{by_petsc} {by_epetra}"
    nothing, line = printed("libtrilinos_tpetra.so.13.2")
    assert nothing == "[] []"
    assert "uses Tpetra" in line
    epetra.unlink()
    monkeypatch.setattr(
        "tailrace.advice.sparse_libraries.linked_libraries", lambda _: {"libepetra.so.12"}
    )
    assert "libtailrace_trilinos.so" in str(CliRunner().invoke(app, words).exception)


def test_real_runs_go_through_the_machinery(plain_launcher: Path) -> None:
    """Times are those of this machine, so only what must hold for any is asserted."""
    import time  # noqa: PLC0415

    runner = make_runner(1, ["true"])
    found = Experiment(runner, 3, time.monotonic).find(
        [Proposal(name, Setting(name, {"NOTHING": name})) for name in "ab"]
    )
    assert found.run_s > 0 and found.runs > 2
    assert all(one.outcome in ("wins", "no effect", "not tried") for one in found.verdicts)


def test_table_says_what_was_and_what_was_not() -> None:
    found = find(Machine(8, {"a": 0.5, "c": -1}, 0.02), 300, "abc")
    advice = Advice(found, {"blas": "the program loads no BLAS"}, 12.0)
    cells = [list(column.cells) for column in table(advice).columns]
    assert cells[0] == ["a", "b", "c"]
    assert "x (" in cells[2][0] and "no effect here" in cells[2][1]
    assert cells[2][2] == "fails: exit status 3"
    nothing = Advice(find(Machine(4, {}, 0.05, run_s=50), 60), {}, 50.0)
    assert summary(nothing)[0].endswith("no setting was tried.") and not was_tried(nothing)
    assert left_out(advice) == ["blas: does not apply, the program loads no BLAS."]
    assert f"{found.runs} runs in 12 s" in " ".join(summary(advice))
    data = json.loads(json.dumps(as_data(advice)))
    assert data["tips"][0]["outcome"] == "wins" and data["winner"]["name"] == "a"
    assert data["tips"][0]["confirmed"]["low"] > 1
