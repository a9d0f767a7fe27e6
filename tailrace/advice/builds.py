# SPDX-License-Identifier: BSD-3-Clause
"""Builds of one program by the user's own command, with other variables (CFLAGS, OMPI_CC, ...).

The command runs in the shell, in the user's folder, once for each set of variables; the program
that it makes is kept in a file beside its own, so that `$ORIGIN` in its paths of libraries stays
right. In the end it is built once more as it was.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from tailrace.advice.experiment import Proposal, RunFailedError
from tailrace.errors import TailraceError
from tailrace.files import tick_ns, time_of_files
from tailrace.profile.job import check_program

BUILD_TIMEOUT_S = 3600.0
CLOCKS_DIFFER_S = 86400.0  # at most, of a node and a file server
# How compilers sign what they make, most particular first: clang links gcc's start files.
SIGNATURES = {
    "clang": re.compile(rb"clang version (\d+)"),
    "gcc": re.compile(rb"GCC: \([^)]*\) (\d+)"),
}


def run_group(
    words: list[str], variables: dict[str, str], timeout_s: float, stderr: int = subprocess.PIPE
) -> "subprocess.CompletedProcess[bytes]":
    """Run a command in its own process group; raise `RunFailedError` if it takes longer."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise RunFailedError(f"had not ended after {timeout_s:.0f} s") from error
        raise
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def run_build(command: str, variables: dict[str, str]) -> str:
    """Run a build command in the shell; return what it prints, or raise `RunFailedError`."""
    words = ["/bin/sh", "-c", command]
    done = run_group(words, variables, BUILD_TIMEOUT_S, stderr=subprocess.STDOUT)
    output = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        errors = [line for line in lines if re.search(r"\berror\b|not found", line)]
        why = (errors or lines[-1:] or [f"exit status {done.returncode}"])[0]
        raise RunFailedError(f"the build fails: {why[:160]}")
    return output


class Builds:
    """The builds of a program, made when they are asked for; a context that tidies up."""

    def __init__(
        self, command: str, name: str, tell: Callable[[str], None] = lambda _text: None
    ) -> None:
        """Build the program `name` as it is; raises `TailraceError` if that makes no program."""
        self.command = command
        self._tell = tell
        self._kept: dict[tuple[tuple[str, str], ...], Path | str] = {}
        self._outputs: dict[tuple[tuple[str, str], ...], str] = {}
        self._count = 0
        found = shutil.which(name)
        before = _written(Path(found)) if found else None
        self.begin_s = time.time()
        try:
            tell("build")
            run_build(command, {})
            self.original = check_program(name)
        except RunFailedError as error:
            raise TailraceError(f"--build '{command}': {error}", status=2) from error
        except TailraceError as error:
            raise TailraceError(f"--build '{command}': succeeds, but {error}", status=2) from error
        if _written(self.original) == before:
            raise TailraceError(
                f"--build '{command}': did not write {name}; expected a command that rebuilds the "
                "program from scratch each time, e.g. 'make -B'",
                status=2,
            )
        self._plain = self._keep()
        self._kept[()] = self._plain

    def _keep(self) -> Path:
        """Copy the program that was just built beside itself."""
        path = self.original.with_name(f".{self.original.name}.tailrace-{self._count}")
        self._count += 1
        try:
            return Path(shutil.copy2(self.original, path))
        except OSError as error:
            raise TailraceError(f"{path}: {error.strerror}") from error

    @property
    def made_by(self) -> tuple[str, str]:
        """Return the family and the version of the compiler that made the program, or ""."""
        return made_by(self._plain)

    def require_one_file(self, modules: list[str]) -> None:
        """Complain where the build also made a library that the program loads."""
        for path in map(Path, modules):
            is_new = path.is_file() and _written_since(path, self.begin_s)
            if is_new and not path.samefile(self.original):
                raise TailraceError(
                    f"--build '{self.command}': also builds {path.name}, which the program loads; "
                    "only programs of one file can be compared: link it statically",
                    status=2,
                )

    def program(self, variables: dict[str, str]) -> Path:
        """Return the program built with variables; raises `RunFailedError` if that fails."""
        key = tuple(variables.items())
        if key not in self._kept:
            self._tell("build")
            try:
                self._outputs[key] = run_build(self.command, variables)
                self._kept[key] = self._keep()
            except RunFailedError as error:
                self._kept[key] = str(error)
        found = self._kept[key]
        if isinstance(found, str):
            raise RunFailedError(found)
        return found

    def output(self, variables: dict[str, str]) -> str:
        """Return what the build with variables printed."""
        self.program(variables)
        return self._outputs.get(tuple(variables.items()), "")

    def prepare(self, proposals: list[Proposal]) -> tuple[list[Proposal], list[str]]:
        """Build what is proposed; return what is worth running, and in lines why others are not.

        Of settings of one tip with equal values the first is enough that makes another program.
        """
        known = {_digest(self._plain): "the plain build"}
        kept: list[Proposal] = []
        lines: dict[str, list[str]] = {}  # of each tip
        found: set[tuple[str, ...]] = set()
        for one in proposals:
            values = (one.tip, *one.setting.build.values())
            if one.setting.build and values not in found:
                why = self._why_not(one, known)
                if why:
                    lines.setdefault(one.tip, []).append(f"{one.tip} ({one.setting.name}): {why}.")
                    continue
                found.add(values)
                kept.append(one)
            elif not one.setting.build:
                kept.append(one)
        for tip, own in lines.items():
            names = [name for p in proposals if p.tip == tip for name in p.setting.build]
            unused = all(line.endswith(" the plain build.") for line in own)
            if unused and len(own) > 1 and all(one.tip != tip for one in kept):
                lines[tip] = [
                    f"{tip}: the build command does not use {', '.join(dict.fromkeys(names))}, or "
                    f'does not rebuild; expected as in make -B {names[0]}="${names[0]}".'
                ]
        return kept, [line for own in lines.values() for line in own]

    def _why_not(self, one: Proposal, known: dict[str, str]) -> str:
        """Build a proposal; return why it is not worth running, "" if it is. Adds to `known`."""
        try:
            digest = _digest(self.program(one.setting.build))
        except RunFailedError as error:
            return str(error)
        if digest in known:
            return f"builds the same program as {known[digest]}"
        known[digest] = one.setting.name
        return ""

    def __enter__(self) -> "Builds":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        try:
            if self._count > 1:
                shutil.copy2(self._plain, self.original)
                if kind is None:  # objects and libraries, too, are those of the plain build
                    self._tell("build")
                    run_build(self.command, {})
        except RunFailedError as error:
            raise TailraceError(f"--build '{self.command}': {error}") from error
        finally:
            for path in self._kept.values():
                if isinstance(path, Path):
                    path.unlink(missing_ok=True)


def made_by(program: Path) -> tuple[str, str]:
    """Return the family and the version of the compiler that made a program, or ""."""
    data = program.read_bytes()
    for family, signature in SIGNATURES.items():
        found = signature.search(data)
        if found:
            return family, found[1].decode()
    return "", ""


def _written(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _written_since(path: Path, begin_s: float) -> bool:
    """Tell whether a file was written after a time of this node's clock."""
    written_ns = path.stat().st_mtime_ns
    written_s = written_ns / 1e9
    if begin_s - written_s > CLOCKS_DIFFER_S:
        return False
    ahead_s = time_of_files(path.parent) - time.time()
    return written_s - ahead_s > begin_s - tick_ns(written_ns) / 1e9


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
