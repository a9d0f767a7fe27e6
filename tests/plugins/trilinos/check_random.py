# SPDX-License-Identifier: BSD-3-Clause
"""Runs random_epetra by itself and with the plug-in, and compares what it prints.

usage: check_random.py PLUGIN SEEDS MPIEXEC... PROGRAM; SEEDS is FIRST:END
"""

import os
import subprocess
import sys

plugin, seeds, *command = sys.argv[1:]
first, end = (int(number) for number in seeds.split(":"))
WORDS = {"forced, bit for bit": "always,bit_for_bit,least=1", "forced": "always,least=1", "": ""}


def run(seed: int, words: str | None) -> tuple[str, str]:
    """Return what the program prints on stdout and stderr, with TAILRACE_SPARSE=words."""
    environment = {**os.environ, "TAILRACE_REPORT": "", "OMP_NUM_THREADS": "1"}
    environment.pop("LD_PRELOAD", None)
    ranks = command
    if words is not None:
        # Only the ranks get the plug-in, not the launcher.
        ranks = [*command[:-1], "env", f"LD_PRELOAD={plugin}", command[-1]]
        environment["TAILRACE_SPARSE"] = words
    done = subprocess.run(
        [*ranks, str(seed)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or not done.stdout.endswith("all is right\n"):
        sys.exit(f"seed {seed}, {words}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


taken = 0
for seed in range(first, end):
    alone, _ = run(seed, None)
    for what, words in WORDS.items():
        printed, lines = run(seed, words)
        if "cannot report writes" in lines:
            print("skipped: this system cannot report writes")
            sys.exit(0)
        taken += " replaced" in lines and "0 of 0 inspected operations" not in lines
        # Sums in another order may end a solve an iteration earlier: those are checked by `run`.
        if "bit for bit" in what and printed != alone:
            different = [
                f"{a} | {b}"
                for a, b in zip(alone.splitlines(), printed.splitlines(), strict=False)
                if a != b
            ]
            sys.exit(f"seed {seed}, {what}: " + "\n".join(different[:5]))
if not taken:
    sys.exit("the plug-in has taken nothing over")
print(f"{end - first} seeds: all is right")
