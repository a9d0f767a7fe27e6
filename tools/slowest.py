#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/slowest.py [BUILD] [N]: the N slowest build steps and tests of a build folder.

Reads what ninja and ctest leave there: the last time of each step, whichever run that was.
"""

import re
import sys
from pathlib import Path


def build_steps(build: Path) -> dict[str, float]:
    """Seconds of each step by what it makes (.ninja_log: start, end [ms], mtime, output, hash)."""
    log = build / ".ninja_log"
    if not log.exists():
        return {}
    lines = [line.split("\t") for line in log.read_text().splitlines() if not line.startswith("#")]
    return {made: (int(end) - int(start)) / 1000 for start, end, _, made, _ in lines}


def tests(build: Path) -> dict[str, float]:
    """Seconds of each test of the last run of ctest."""
    log = build / "Testing/Temporary/LastTest.log"
    if not log.exists():
        return {}
    text = log.read_text(errors="replace")
    found = re.findall(r"^\d+/\d+ Testing: (\S+)$|^Test time = +([\d.]+) sec", text, re.MULTILINE)
    names = [name for name, _ in found if name]
    times = [float(seconds) for _, seconds in found if seconds]
    return dict(zip(names, times, strict=False))


def table(title: str, seconds: dict[str, float], count: int) -> None:
    """Prints the slowest, and what all of them take one after another."""
    if not seconds:
        return
    print(f"{title}: {len(seconds)}, {sum(seconds.values()):.0f} s one after another; the slowest:")
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[:count]:
        print(f"  {seconds[name]:7.1f} s  {re.sub(r'CMakeFiles/[^/]*[.]dir/', '', name)}")


def main() -> None:
    build = Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    if not build.is_dir():
        sys.exit(f"{build} is not a folder of a build; usage: tools/slowest.py [BUILD] [N]")
    table("Build steps", build_steps(build), count)
    table("Tests", tests(build), count)


if __name__ == "__main__":
    main()
