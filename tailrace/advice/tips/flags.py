# SPDX-License-Identifier: BSD-3-Clause
"""Flags of the compiler: more optimisation, the instructions of this processor, looser arithmetic.

Each goes behind what CFLAGS and the like hold already. -Ofast may change results, and so may the
fused multiplications that come with a processor's instructions: outputs are compared.
"""

import os

from tailrace.advice.program import processor_level
from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation

VARIABLES = ("CFLAGS", "CXXFLAGS", "FFLAGS", "FCFLAGS")
FLAGS = (
    "-O3 -march=native",
    "-O2",
    "-O3",
    "-Ofast -march=native",
    "-O3 -march=native -flto",
)
WIDE = "-O3 -march=native -mprefer-vector-width=512"


def propose(situation: Situation) -> list[Setting]:
    """Propose each line of the table; with full vectors where the processor has them."""
    if not situation.build:
        raise DoesNotApplyError("no build command was given, e.g. --build 'make -B'")
    level = processor_level(situation.launch.nodes[0].file("/proc/cpuinfo"))
    wide = (WIDE,) if level == "AVX-512" else ()
    return [Setting(flags, build=variables(flags)) for flags in (*FLAGS, *wide)]


def variables(flags: str) -> dict[str, str]:
    """Return the variables of a build with flags behind those that are set."""
    return {name: f"{os.environ.get(name, '')} {flags}".strip() for name in VARIABLES}
