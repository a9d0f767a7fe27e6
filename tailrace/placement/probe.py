# SPDX-License-Identifier: BSD-3-Clause
"""Finds slow nodes of a job: each rank times a piece of computing and of writing memory.

The probe needs `sh`, `awk` and `dd`, no MPI. It takes about two seconds, on all ranks at once, so
that nodes with as many ranks are compared under the same load.
"""

import re
import subprocess
from dataclasses import dataclass
from statistics import median

from tailrace.errors import TailraceError

MARK = "tailrace-probe"
TIMEOUT_S = 300
SHOWN = 5

# The fastest of three counts: a node that is disturbed once is not slow.
SCRIPT = f"""
fastest() {{
  best=
  for i in 1 2 3; do
    a=$(date +%s%N); "$@" > /dev/null 2>&1 || exit 3; b=$(date +%s%N)
    t=$((b - a)); [ -z "$best" ] || [ $t -lt $best ] && best=$t
  done
  echo $best
}}
c=$(fastest awk 'BEGIN {{ for (i = 0; i < 2000000; i++) s += i * i; print s }}')
m=$(fastest dd if=/dev/zero of=/dev/null bs=64M count=8)
echo "{MARK} $(uname -n) $c $m"
"""


@dataclass(frozen=True)
class Speed:
    """How long the probes of a host took over the median of all hosts."""

    host: str
    ranks: int
    compute: float
    memory: float

    @property
    def worst(self) -> float:
        """Return the larger of both."""
        return max(self.compute, self.memory)


def speeds(lines: list[tuple[str, int, int]]) -> list[Speed]:
    """Return the speeds of hosts, the slowest first; lines have host and nanoseconds of a rank."""
    of_host: dict[str, list[tuple[int, int]]] = {}
    for host, compute, memory in lines:
        of_host.setdefault(host, []).append((compute, memory))
    times = {h: tuple(median(t) for t in zip(*ts, strict=True)) for h, ts in of_host.items()}
    usual = [median(one[i] for one in times.values()) for i in range(2)]
    found = [
        Speed(host, len(of_host[host]), compute / usual[0], memory / usual[1])
        for host, (compute, memory) in times.items()
    ]
    return sorted(found, key=lambda one: (-one.worst, one.host))


def lines_of_ranks(
    command: list[str], words: list[str], pattern: str, trouble: str, timeout_s: int
) -> list[tuple[str, ...]]:
    """Run `words` on the ranks that `command` (a launcher with its options) starts.

    Return the groups of `pattern` in what they print; that there are none is the error `trouble`.
    """
    try:
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, check=False, timeout=timeout_s
        )
    except OSError as error:
        raise TailraceError(f"{command[0]}: {error.strerror}", status=2) from error
    except subprocess.TimeoutExpired as error:
        raise TailraceError(f"{command[0]}: has not ended after {timeout_s} s") from error
    lines = re.findall(pattern, done.stdout)
    if not lines:
        said = done.stderr.strip().splitlines()[:SHOWN] or ["(it said nothing)"]
        raise TailraceError(
            f"{' '.join(command)}: {trouble} (status {done.returncode}): " + "\n  ".join(said)
        )
    return lines


def probe(command: list[str]) -> list[Speed]:
    """Run `command` (a launcher with its options) with the probe; return what `speeds` does."""
    lines = lines_of_ranks(
        command,
        ["sh", "-c", SCRIPT],
        rf"{MARK} (\S+) (\d+) (\d+)",
        "no rank completed the probe (sh, awk and dd)",
        TIMEOUT_S,
    )
    return speeds([(host, int(compute), int(memory)) for host, compute, memory in lines])
