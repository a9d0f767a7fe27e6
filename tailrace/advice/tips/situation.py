# SPDX-License-Identifier: BSD-3-Clause
"""What tips know: the launch as it was found, and the libraries that are installed."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tailrace.advice.launch import Launch
from tailrace.advice.setting import Setting
from tailrace.tools import run_tool


class DoesNotApplyError(Exception):
    """A tip has nothing to try here; the text says why."""


@dataclass(frozen=True)
class Compiler:
    """An installed compiler; "" for a language that it does not have."""

    family: str
    version: str  # the first number of it, "" if it does not say
    words: tuple[str, str, str]  # of C, C++, Fortran


@dataclass(frozen=True)
class Situation:
    """The program's launch, and the paths of installed libraries by file name."""

    launch: Launch
    kind: str  # of the launcher, as `tailrace.launch.launcher` calls it
    installed: dict[str, str] = field(default_factory=dict)
    napping: str = ""  # path of our library whose waits sleep, for this MPI
    collectives: str = ""  # path of the one with our methods of collective calls
    products: str = ""  # path of the one with our matrix products
    io: str = ""  # path of the one with our reads and writes of MPI-IO
    numactl: str = ""  # path of the program, where it is installed
    build: str = ""  # the command that builds the program
    made_by: tuple[str, str] = ("", "")  # the compiler of it, and the first number of its version
    compilers: Sequence[Compiler] = ()  # that are installed

    @property
    def family(self) -> str:
        """Return "Open MPI" or "MPICH"."""
        return self.launch.family

    @property
    def oversubscribed(self) -> bool:
        """Tell whether more threads want to run than there are processors."""
        return any(node.busy > node.room for node in self.launch.nodes)

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that the first rank has."""
        return self.launch.ranks[0].environment

    def loaded(self, pattern: str) -> str:
        """Return the path of a library that the program has loaded, "" if none matches."""
        return self.launch.ranks[0].library(pattern)

    def preloaded(self, path: str) -> str:
        """Return LD_PRELOAD with a library before what the user has there."""
        own = [word for word in self.environment.get("LD_PRELOAD", "").split(":") if word]
        return ":".join([path, *(word for word in own if "libtailrace_mpi" not in word)])


@dataclass(frozen=True)
class Tip:
    """One entry of the table."""

    name: str
    propose: Callable[[Situation], list[Setting]]
    summary: str
    findings: tuple[str, ...] = ()  # of the launch, that make it worth trying first


def installed_libraries() -> dict[str, str]:
    """Return the libraries that the loader finds, by file name."""
    for program in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):
        done = run_tool(program, "-p")
        if done is None:
            continue
        lines = re.findall(r"^\s+(\S+) .*=> (\S+)$", done.stdout, re.MULTILINE)
        return {name: path for name, path in reversed(lines)}
    return {}
