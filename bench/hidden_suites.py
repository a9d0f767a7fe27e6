# SPDX-License-Identifier: BSD-3-Clause
"""Runs test programs of other libraries with and without hidden writes, and compares.

``hidden_suites.py [-n RANKS] [--name] FOLDER PROGRAM...``, for example with the programs of HDF5's
``testpar``, PnetCDF's ``test`` and netCDF's ``nc_test4`` (``apt-get source hdf5 pnetcdf
netcdf-parallel``, then ``configure`` with ``mpicc`` and ``make check TESTS=``). Each program runs
alone in an empty folder, and then under ``tailrace exec --with hidden`` with both values of
TAILRACE_IO_CLOSE. The exit status, the words of the output without numbers, and the files must be
equal. Files that two plain runs write differently (dates, random data) are not compared.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SECONDS = 600  # a run that takes longer counts as a deadlock


def words_of(text: str) -> list[str]:
    """Return the words of an output without numbers, sorted, as ranks print in any order."""
    own = re.sub(r"tailrace(?: io)?: [^\n]*\n", "", text)
    return sorted(re.findall(r"[A-Za-z_]{2,}", re.sub(r"\S*/", "", own)))


def run(folder: Path, words: list[str], **more: str) -> tuple[int, list[str], dict[str, bytes]]:
    """Run a program in an empty folder; return its status, words and files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {**os.environ, "HDF5_NOCLEANUP": "1", **more}
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS,
        )
        status, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        status, text = -1, ""
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return status, words_of(text), files


def main() -> int:
    """Compare all programs; return how many differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", dest="ranks", default="4", help="number of ranks")
    parser.add_argument("--name", action="store_true", help="each program takes its file's name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", nargs="+", type=Path)
    options = parser.parse_args()
    hidden = [sys.executable, "-m", "tailrace", "exec", "--with", "hidden", "-n", options.ranks]
    num_different = 0
    for program in options.programs:
        folder = options.folder.resolve() / program.name
        words = [str(program.resolve()), *([f"{program.name}.nc"] if options.name else [])]
        plain = ["mpirun", "-n", options.ranks, *words]
        status, said, files = run(folder, plain)
        again = run(folder, plain)[2]
        for close in ("later", "wait"):
            found = run(folder, [*hidden, "--", *words], TAILRACE_IO_CLOSE=close)
            wrong = [] if found[0] == status else [f"status {found[0]} instead of {status}"]
            if found[1] != said:
                wrong.append("other output")
            for one in sorted({*files, *found[2]}):
                is_steady = files.get(one) == again.get(one)
                if is_steady and files.get(one) != found[2].get(one):
                    wrong.append(f"other file {one}")
            print(f"{program.name} {close}: {', '.join(wrong) or 'equal'}", flush=True)
            num_different += 1 if wrong else 0
    return num_different


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
