# SPDX-License-Identifier: BSD-3-Clause
"""The tips tried on a program, and the table of what they gained."""

import datetime
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.table import Table

from tailrace.advice import loops
from tailrace.advice.experiment import Experiment, Outcome, Proposal, RunFailedError, Verdict
from tailrace.advice.launch import Launch, launch_of_run, launcher_name
from tailrace.advice.launch_report import find_all
from tailrace.advice.runner import Runner, command_text
from tailrace.advice.setting import settings_text
from tailrace.advice.statistics import Interval
from tailrace.advice.tips import TIPS
from tailrace.advice.tips.compilers import installed_compilers
from tailrace.advice.tips.situation import DoesNotApplyError, Situation, installed_libraries
from tailrace.advice.written_files import WrittenFiles
from tailrace.errors import TailraceError
from tailrace.profile.job import find_dense_library, find_library, run_recorded
from tailrace.profile.records import records_folder

BUILD_TIPS = ("flags", "compiler")
MOST_NOISE = 1.0  # of equal runs: more than one disturbed run makes
LAUNCH_SETTINGS = ("TAILRACE_PROFILE=launch,events=0",)


@dataclass
class Advice:
    """What a program gains, and what did not apply to it."""

    outcome: Outcome
    not_applying: dict[str, str]  # tip -> why
    seconds: float  # that the experiments took
    builds: list[str] = field(default_factory=list)  # what is to be said of them, in lines
    files: WrittenFiles | None = None  # that were compared


def launch_once(runner: Runner, command: list[str]) -> Launch:
    """Run the program once with the recorder; return its launch."""
    with records_folder("check") as folder:
        output = folder / "output"
        with output.open("w") as file:
            status = run_recorded(
                runner.ranks, command[0], command[1:], folder, LAUNCH_SETTINGS, file
            )
        if status != 0:
            raise TailraceError(
                f"program {command[0]}: ends with exit status {status}", status=status
            )
        return launch_of_run(folder, runner.ranks, command[0], launcher_name(runner.launch))


def own_library(launch: Launch, what: str) -> str:
    """Return the path of our library `what` (see `find_library`), "" if none is for this MPI."""
    family = {"Open MPI": "openmpi", "MPICH": "mpich"}.get(launch.family, "")
    try:
        if what == "blas":
            return str(find_dense_library(what))
        return str(find_library(family, what)) if family else ""
    except TailraceError:
        return ""


def require_tips(names: list[str]) -> None:
    """Complain about names that are no tips."""
    known = [tip.name for tip in TIPS]
    for name in names:
        if name not in known:
            raise TailraceError(f"--tips {name}: expected some of {', '.join(known)}", status=2)


def proposals(situation: Situation, chosen: list[str]) -> tuple[list[Proposal], dict[str, str]]:
    """Return what the tips propose, likely ones first, and why others do not apply."""
    speaking = {one.id for one in find_all(situation.launch)}
    found: list[tuple[tuple[int, int], Proposal]] = []
    not_applying = {}
    for tip in TIPS:
        if chosen and tip.name not in chosen:
            continue
        try:
            settings = tip.propose(situation)
        except DoesNotApplyError as error:
            not_applying[tip.name] = str(error)
            continue
        prior = -len(speaking.intersection(tip.findings))
        found += [((i, prior), Proposal(tip.name, setting)) for i, setting in enumerate(settings)]
    return [one for _, one in sorted(found, key=lambda pair: pair[0])], not_applying


def advise(
    runner: Runner,
    launch: Launch,
    budget_s: float,
    chosen: list[str],
    tell: Callable[[str], None],
) -> Advice:
    """Try the tips on a program."""
    own = {what: own_library(launch, what) for what in ("wait", "collectives", "io", "blas")}
    situation = Situation(
        launch,
        runner.launch.kind,
        installed_libraries(),
        napping=own["wait"],
        collectives=own["collectives"],
        products=own["blas"],
        io=own["io"],
        numactl=shutil.which("numactl") or "",
        build=runner.builds.command if runner.builds else "",
        made_by=runner.builds.made_by if runner.builds else ("", ""),
        compilers=installed_compilers() if runner.builds else (),
    )
    found, not_applying = proposals(situation, chosen)
    built: list[str] = []
    if runner.builds:
        runner.builds.require_one_file([path for one in launch.ranks for path in one.modules])
        found, built = runner.builds.prepare(found)
    if any(one.setting.changes_writing for one in found):
        runner.files = WrittenFiles(Path.cwd())
    begin = time.monotonic()
    experiment = Experiment(runner, budget_s, time.monotonic, tell=tell)
    try:
        outcome = experiment.find(found)
    except RunFailedError as error:
        raise TailraceError(f"program {runner.program}: {error}") from error
    built += compared_lines(runner)
    if runner.builds and any(tip in (chosen or BUILD_TIPS) for tip in BUILD_TIPS):
        tell("loops")
        built += loops.report(runner, outcome.setting.build if outcome.setting else {})
    return Advice(outcome, not_applying, time.monotonic() - begin, built, runner.files)


def compared_lines(runner: Runner) -> list[str]:
    """Return in lines how the outputs of other builds differ from that of the plain one."""
    lines = []
    for name, one in runner.compared.items():
        if one.wrong:
            continue
        if not one.compared:
            return ["The program prints no reproducible numbers: results were not compared."]
        if one.differing:
            lines.append(
                f"{name}: {one.differing} of {one.compared} printed numbers differ, by "
                f"up to {one.largest:.1g}: {one.where}."
            )
    return lines


def _result(one: Verdict) -> str:
    if one.outcome == "wins" and one.confirmed:
        return one.confirmed.text
    if one.outcome == "no effect":
        # What was screened only is compared with the faster of two runs: no fair figure.
        return "no effect here" + (f" ({1 / one.confirmed.ratio:.2f}x)" if one.confirmed else "")
    if one.outcome == "less":
        return f"less {one.why}"
    return f"{one.outcome}: {one.why}"


def was_tried(advice: Advice) -> bool:
    """Tell whether any setting was run."""
    return any(one.outcome != "not tried" for one in advice.outcome.verdicts)


def table(advice: Advice) -> Table:
    """Return the table of gains: winners first, the largest gain first."""
    shown = Table()
    shown.add_column("tip", style="cyan", no_wrap=True)
    shown.add_column("what it changes", overflow="fold")
    shown.add_column("gain", overflow="fold", min_width=22)
    rest = [one for one in advice.outcome.verdicts if one.outcome in ("less", "no effect", "fails")]
    for one in [*advice.outcome.winners, *rest]:
        style = "green" if one.outcome == "wins" else None
        shown.add_row(one.proposal.tip, one.proposal.setting.text, _result(one), style=style)
    return shown


def left_out(advice: Advice) -> list[str]:
    """Return what was not tried, and what did not apply, in lines."""
    untried: dict[str, list[str]] = {}
    for one in advice.outcome.verdicts:
        if one.outcome == "not tried":
            names = untried.setdefault(one.why, [])
            names.append(f"{one.proposal.tip} ({one.proposal.setting.name})")
    lines = [f"Not tried: {', '.join(names)}: {why}." for why, names in untried.items()]
    lines += [f"{tip}: does not apply, {why}." for tip, why in advice.not_applying.items()]
    return lines + advice.builds


def summary(advice: Advice) -> list[str]:
    """Return how it was measured, in lines."""
    found = advice.outcome
    lines = [f"Unchanged {found.run_s:.3g} s; no setting was tried."]
    if was_tried(advice):
        lines = [
            f"Unchanged {found.run_s:.3g} s; equal runs differed by up to "
            f"{100 * found.noise:.0f} %; {found.runs} runs in {advice.seconds:.0f} s.",
            "A gain is the median of pairs with its 99 % interval; other runs chose the setting.",
        ]
    lines += [note[0].upper() + note[1:] + "." for note in found.notes]
    lines += [advice.files.text] if advice.files and advice.files.text else []
    if found.setting is None and was_tried(advice):
        lines.append("No setting was found that makes it faster on this machine.")
        if found.noise > MOST_NOISE:
            lines.append(
                f"Measurement noise ({100 * found.noise:.0f} %) exceeds most gains; rerun on an "
                "idle machine."
            )
    elif found.setting and len(found.winners) > 1 and found.setting.name != "all":
        lines.append("The best alone is taken.")
    return lines


def _interval_data(found: Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    known = found.low > 0 and found.high < float("inf")
    return {
        "gain": 1 / found.ratio,
        "low": 1 / found.high if known else None,
        "high": 1 / found.low if known else None,
        "pairs": found.pairs,
    }


def as_data(advice: Advice) -> dict[str, Any]:
    """Return all of it for JSON."""
    found = advice.outcome
    return {
        "run_s": found.run_s,
        "noise": found.noise,
        "runs": found.runs,
        "seconds": advice.seconds,
        "tips": [
            {
                "tip": one.proposal.tip,
                "setting": asdict(one.proposal.setting),
                "outcome": one.outcome,
                "why": one.why,
                "screened": 1 / one.screened if one.screened else None,
                "confirmed": _interval_data(one.confirmed),
            }
            for one in found.verdicts
        ],
        "not_applying": advice.not_applying,
        "winner": asdict(found.setting) if found.setting else None,
        "together": _interval_data(found.together),
        "notes": found.notes,
        "builds": advice.builds,
        **({"files": advice.files.data} if advice.files and advice.files.runs else {}),
    }


def build_line(advice: Advice, runner: Runner) -> str:
    """Return the command that builds the program as the winner has it, "" if as it is."""
    setting = advice.outcome.setting
    if setting is None or not setting.build or runner.builds is None:
        return ""
    return f"(export {setting.build_text}; {runner.builds.command})"


def winner_text(advice: Advice, runner: Runner, command: list[str]) -> str:
    """Return the file of settings of the winners."""
    found = advice.outcome
    assert found.setting is not None and found.together is not None
    gain = {key: round(value, 4) for key, value in (_interval_data(found.together) or {}).items()}
    build = {"build": build_line(advice, runner)} if found.setting.build else {}
    when = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    return settings_text(
        replace(found.setting, build={}),
        f"Measured by tailrace advise, {when}, on {platform.node()}:\n"
        f"{runner.ranks} ranks of {command_text(command)}",
        {**gain, "ranks": runner.ranks, "program": str(runner.program), "date": when, **build},
    )
