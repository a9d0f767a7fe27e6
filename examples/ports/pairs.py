# SPDX-License-Identifier: BSD-3-Clause
"""Run two programs in turn and compare the times that they print.

python pairs.py 'mpirun -n 2 ./before 10 4096' 'mpirun -n 2 ./after 10 4096'

prints the median time of each with its quartiles, and how many times as fast the second is: the
median of the pairs' ratios, with quartiles. A time is the last number behind `--pattern`.
"""

import argparse
import re
import shlex
import statistics
import subprocess


def time_s(command: str, pattern: str) -> float:
    """Return the time that a program prints."""
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    found = re.findall(pattern + r"\s*([0-9.eE+-]+)", done.stdout)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{command}: no time is printed\n{done.stdout}{done.stderr}")
    return float(found[-1])


def spread(values: list[float]) -> str:
    """Return the median and the quartiles in words."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3g} ({low:.3g} .. {high:.3g})"


def main() -> None:
    """Run the pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pattern", default=r"[Tt]ime \(s\):", help="what stands before a time")
    parser.add_argument("--pairs", type=int, default=9)
    args = parser.parse_args()
    for command in (args.before, args.after):
        time_s(command, args.pattern)  # files, caches, the tuner's memory
    pairs = [
        (time_s(args.before, args.pattern), time_s(args.after, args.pattern))
        for _ in range(args.pairs)
    ]
    firsts, seconds = zip(*pairs, strict=True)
    print(f"before {spread(list(firsts))} s, after {spread(list(seconds))} s")
    print(
        f"{spread([before / after for before, after in pairs])} times as fast, {len(pairs)} pairs"
    )


if __name__ == "__main__":
    main()
