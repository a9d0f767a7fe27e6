# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program with a setting and says how long it took."""

import re
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.advice.builds import Builds, run_group
from tailrace.advice.experiment import NONE, RunFailedError
from tailrace.advice.outputs import Comparison, compare
from tailrace.advice.setting import Setting
from tailrace.advice.written_files import WrittenFiles
from tailrace.errors import TailraceError
from tailrace.launch.launcher import Launch
from tailrace.launch.stderr_filter import without_noise
from tailrace.profile.job import check_program, choose_launcher

FIRST_TIMEOUT_S = 3600.0
COMPARED_WITH = 2  # outputs of equal runs


@dataclass
class Runner:
    """A program on so many ranks. `metric` finds a number in its output to use for the time.

    With `builds`, settings may be built otherwise; such a one fails if it prints other results.
    A setting that changes how files are written fails if the program writes other ones.
    """

    ranks: int
    program: Path
    arguments: list[str]
    launch: Launch
    metric: str = ""
    timeout_s: float = FIRST_TIMEOUT_S
    builds: Builds | None = None
    compared: dict[str, Comparison] = field(default_factory=dict)  # by the setting's name
    files: WrittenFiles | None = None  # if settings that change the writing are tried
    _plain: list[str] = field(default_factory=list)  # outputs of equal runs

    def words(self, setting: Setting) -> list[str]:
        """Return the command line with a setting, variables set by env for the ranks alone."""
        variables = [f"{name}={value}" for name, value in setting.environment.items()]
        env = ["env", *variables] if variables else []
        program = self.builds.program(setting.build) if self.builds else self.program
        words = [*setting.launched_by(self.launch), *env, *setting.wrapper]
        return [*words, str(program), *self.arguments]

    def __call__(self, setting: Setting) -> float:
        """Run the program once; return the seconds of the launcher, or what `metric` finds."""
        if self.files and setting.changes_writing:
            while self.files.needs_plain:
                self._run_compared(NONE, self.files)
        output, seconds = (
            self._run_compared(setting, self.files) if self.files else self.run_once(setting)
        )
        if self.builds:
            self._compare(setting, output)
        return self._measured(output, seconds)

    def _run_compared(self, setting: Setting, files: WrittenFiles) -> tuple[str, float]:
        """Run the program once and look at its files; raise if a setting changed them."""
        plain = not setting.changes_the_run and not setting.build
        if not setting.changes_writing and not (plain and files.needs_plain):
            return self.run_once(setting)
        files.begin()
        done = self.run_once(setting)
        if plain:
            files.end_plain()
            return done
        wrong = files.end_changed()
        if wrong:
            raise RunFailedError(wrong)
        return done

    def _compare(self, setting: Setting, output: str) -> None:
        """Compare what a build prints with two runs of the plain one; raise if it is wrong."""
        if not (setting.changes_the_run or setting.build):
            self._plain.append(self._without_metric(output))
        if not setting.build:
            return
        if setting.name not in self.compared:
            plain = self._plain
            while len(plain) < COMPARED_WITH:
                plain.append(self._without_metric(self.run_once(NONE)[0]))
            found = compare(plain[0], plain[1], self._without_metric(output))
            self.compared[setting.name] = found
        if self.compared[setting.name].wrong:
            raise RunFailedError(self.compared[setting.name].wrong)

    def _without_metric(self, output: str) -> str:
        return re.sub(self.metric, "", output) if self.metric else output

    def run_once(self, setting: Setting) -> tuple[str, float]:
        """Run the program once; return its output and the seconds of the launcher."""
        words = self.words(setting)
        begin = time.monotonic()
        done = run_group(words, self.launch.environment, self.timeout_s)
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            text = done.stderr.decode(errors="replace").splitlines(keepends=True)
            lines = [line.strip() for line in without_noise(text) if line.strip("-\n ")]
            why = f": {lines[-1][:120]}" if lines else ""
            raise RunFailedError(f"exit status {done.returncode}{why}")
        return done.stdout.decode(errors="replace"), seconds

    def _measured(self, output: str, seconds: float) -> float:
        if not self.metric:
            return seconds
        found = re.findall(self.metric, output)
        try:
            value = float(found[-1])
        except (IndexError, ValueError, TypeError) as error:
            raise TailraceError(
                f"--metric {self.metric}: finds no number in the program's output; expected an "
                r"expression with one group, e.g. 'Loop time of (\S+)'",
                status=2,
            ) from error
        return value


def make_runner(
    ranks: int, command: list[str], metric: str = "", builds: Builds | None = None
) -> Runner:
    """Return the runner of a command line; complains about a program that cannot be run."""
    if metric:
        try:
            groups = re.compile(metric).groups
        except re.error as error:
            raise TailraceError(f"--metric {metric}: {error}", status=2) from error
        if groups != 1:
            raise TailraceError(f"--metric {metric}: expected one group, has {groups}", status=2)
    program = check_program(command[0])
    _, launch = choose_launcher(ranks, program)
    return Runner(ranks, program, command[1:], launch, metric, builds=builds)


def command_text(command: list[str]) -> str:
    """Return a command line as one would type it."""
    return shlex.join(command)
