# SPDX-License-Identifier: BSD-3-Clause
"""Memory and time of `tailrace archive` for many small files, and of one look-up in its index.

`archive_small_files.py FOLDER [--files 20000] [--bytes 300]`; half a million files need 5 GB.

Makes the files in FOLDER, archives, verifies and restores them, and makes the index again from the
bundle. Prints the largest memory of each command, and the time to find one path in the index.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tailrace.archive.index import Index

CONFIG = """\
index = "index/index.sqlite"
[targets.disk]
kind = "directory"
path = "disk"
"""
FILES_PER_FOLDER = 500
LOOK_UPS = 200


def make_files(folder: Path, num_files: int, size: int) -> Path:
    top, chance = folder / "small", random.Random(1)
    shutil.rmtree(top, ignore_errors=True)
    for i in range(num_files):
        path = top / f"step_{i // FILES_PER_FOLDER:05d}" / f"part_{i % FILES_PER_FOLDER}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chance.randbytes(size))
    return top


def measured(folder: Path, *words: str | Path) -> None:
    """Run a subcommand, and print its time and its largest memory."""
    line = [sys.executable, "-m", "tailrace", "archive", *map(str, words)]
    start_s = time.perf_counter()
    child = subprocess.Popen([*line, "--config", str(folder / "archive.toml"), "--quiet"])
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(line)}: status {os.waitstatus_to_exitcode(status)}")
    print(
        f"{words[0]:14} {time.perf_counter() - start_s:8.1f} s"
        f" {used.ru_utime + used.ru_stime:8.1f} s of processor {used.ru_maxrss / 1000:6.0f} MB",
        flush=True,
    )


def look_up(folder: Path, num_files: int, top: Path) -> None:
    index, chance = Index(folder / "index" / "index.sqlite"), random.Random(2)
    times = []
    for _ in range(LOOK_UPS):
        i = chance.randrange(num_files)
        path = f"{top}/step_{i // FILES_PER_FOLDER:05d}/part_{i % FILES_PER_FOLDER}"
        start_s = time.perf_counter()
        found = index.newest(path)
        times.append(time.perf_counter() - start_s)
        if found is None:
            sys.exit(f"{path}: is not in the index")
    index.close()
    size = (folder / "index" / "index.sqlite").stat().st_size
    print(
        f"index of {size / 1e6:.0f} MB; one path: median {statistics.median(times) * 1e3:.2f} ms,"
        f" longest {max(times) * 1e3:.2f} ms"
    )


def same(first: Path, second: Path) -> bool:
    return subprocess.run(["diff", "-rq", first, second], check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--bytes", type=int, default=300)
    options = parser.parse_args()
    folder: Path = options.folder.absolute()
    for name in ("index", "disk", "restored"):
        shutil.rmtree(folder / name, ignore_errors=True)
    top = make_files(folder, options.files, options.bytes)
    (folder / "archive.toml").write_text(CONFIG)
    measured(folder, "add", top)
    look_up(folder, options.files, top)
    measured(folder, "verify")
    measured(folder, "restore", top, "--to", folder / "restored")
    if not same(top, folder / "restored" / "small"):
        sys.exit("what was restored differs from the files")
    shutil.rmtree(folder / "index")
    measured(folder, "rebuild-index")
    for name in ("small", "index", "disk", "restored"):
        shutil.rmtree(folder / name)


if __name__ == "__main__":
    main()
