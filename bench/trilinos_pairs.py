# SPDX-License-Identifier: BSD-3-Clause
"""AztecOO's solves of Galeri's matrices, without and with Tailrace's products in place of Epetra's.

`trilinos_pairs.py [--pairs 15] [--edge 60] [--ranks 1,2] [--cases TEXT] [--cpu]
[--json FILE]`

Runs bench_trilinos_solve (`make build TARGETS=bench/all`; Debian: libtrilinos-galeri-dev,
libtrilinos-ifpack-dev) in pairs: without and with libtailrace_trilinos.so, one after the other, in
alternating order. The time is that of the solve on the slowest rank, by the clock on the wall, with
what the plug-in needs to choose a format. The table has the medians of both, and of the ratios
without over with within pairs: median, quartiles, smallest and largest. Iterations and the solution
are compared. `--cpu`: processor time, which other programs disturb less, but which includes waiting
for other ranks. `--cases` leaves out cases whose name does not contain the text.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_ITERATIONS = 150
# Problem, method, preconditioner.
CASES = [
    ("Laplace3D", "cg", "jacobi"),
    ("Laplace3D", "cg", "ic"),
    ("Laplace3D", "cg", "ilu0"),
    ("Stretched2D", "cg", "jacobi"),
    ("Stretched2D", "cg", "ic"),
    ("Recirc2D", "gmres", "jacobi"),
    ("Recirc2D", "bicgstab", "ilu0"),
    ("UniFlow2D", "bicgstab", "jacobi"),
    ("UniFlow2D", "gmres", "ilu0"),
]


def newest(name: str) -> Path:
    """Return the file of this name in the build that was made last."""
    found = [path for path in ROOT.glob(f"build/*/**/{name}") if path.is_file()]
    if not found:
        sys.exit(f"{name} was not found: make build TARGETS=bench/all")
    return max(found, key=lambda path: path.stat().st_mtime)


class Runner:
    """Runs one case with and without the plug-in."""

    def __init__(self, edge: int, ranks: int, *, cpu: bool) -> None:
        self.program = newest("bench_trilinos_solve")
        self.plugin = newest("libtailrace_trilinos.so")
        self.edge = edge
        self.ranks = ranks
        self.cpu = cpu
        self.lines: list[str] = []  # of the plug-in, the last run

    def time(self, case: tuple[str, str, str], *, replaced: bool) -> tuple[float, str]:
        """Return the seconds of the solve, and iterations with the norm of the solution."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        environment.pop("LD_PRELOAD", None)
        settings = [f"LD_PRELOAD={self.plugin}"] if replaced else []
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        problem, method, preconditioner = case
        done = subprocess.run(
            [
                *("mpirun", *root, "-n", str(self.ranks), "env", *settings, str(self.program)),
                *(problem, str(self.edge), method, preconditioner, str(MAX_ITERATIONS)),
            ],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"{case}: status {done.returncode}\n{done.stdout}{done.stderr}")
        if replaced:
            self.lines = [line for line in done.stderr.splitlines() if "tailrace:" in line]
        iterations, norm, wall_s, cpu_s, _ = done.stdout.split()
        return float(
            cpu_s if self.cpu else wall_s
        ), f"{iterations} iterations, norm {float(norm):.4e}"

    def pairs(self, case: tuple[str, str, str], count: int) -> dict[str, list[float]]:
        """Return the times of `count` pairs by "without" and "with"."""
        times: dict[str, list[float]] = {"without": [], "with": []}
        results = set()
        for pair in range(count):
            for replaced in (False, True) if pair % 2 == 0 else (True, False):
                taken, result = self.time(case, replaced=replaced)
                times["with" if replaced else "without"].append(taken)
                results.add(result)
        if len(results) > 1:
            print(f"  different results: {sorted(results)}")
        return times


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--edge", type=int, default=60)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--cases", default="")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print("case, ranks: without [s], with [s], ratio (quartiles; smallest .. largest)")
    for ranks in (int(number) for number in options.ranks.split(",")):
        runner = Runner(options.edge, ranks, cpu=options.cpu)
        for case in CASES:
            name = " ".join(case)
            if options.cases not in name:
                continue
            times = runner.pairs(case, options.pairs)
            without, replaced = times["without"], times["with"]
            ratios = [a / b for a, b in zip(without, replaced, strict=True)]
            ratio = statistics.median(ratios)
            low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratio] * 3
            print(
                f"{name}, {ranks}: {statistics.median(without):.3f}, "
                f"{statistics.median(replaced):.3f}, {ratio:.2f} ({low:.2f} .. {high:.2f}; "
                f"{min(ratios):.2f} .. {max(ratios):.2f})",
                flush=True,
            )
            rows.append({"case": name, "ranks": ranks, **times, "lines": runner.lines})
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    medians = [
        statistics.median(a / b for a, b in zip(row["without"], row["with"], strict=True))
        for row in rows
    ]
    if medians:
        print(
            f"{len(rows)} cases: median {statistics.median(medians):.2f}, least {min(medians):.2f}"
        )


if __name__ == "__main__":
    main()
