# SPDX-License-Identifier: BSD-3-Clause
"""Time to archive and to restore a run, compared with tar, restic, zstash and archivetar.

`archive_speed.py FOLDER [--files 2000] [--bytes 1000000] [--rounds 3] [--warm] [--checksum NAME]`

Makes a run of files with random bytes in FOLDER. Each round runs all tools, one after the other, so
that other work on the machine meets all of them. Sources and archives are not in the system's
cache; with `--warm` they are. Every time includes the flush to the disk, so `tar` and `cp` are
followed by `sync`. Only `tailrace archive` reads back what it wrote. Tools that are not installed
are left out; `--restic`, `--zstash` and `--archivetar` name programs that are not on the PATH. What
was restored is compared with the source in the first round.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

CONFIG = """\
index = "index/index.sqlite"
checksum = "{checksum}"
[targets.disk]
kind = "directory"
path = "disk"
"""
FILES_PER_FOLDER = 200


@dataclass
class Tool:
    """What archives `run` into the folder it gets, and restores it to another one."""

    name: str
    archive: Callable[[Path, Path], None]
    restore: Callable[[Path, Path], None]
    seconds: dict[str, list[float]] = field(default_factory=dict)
    processor_s: dict[str, list[float]] = field(default_factory=dict)


def call(*words: str | Path, at: Path | None = None) -> None:
    done = subprocess.run(words, cwd=at, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")


def tar(_options: argparse.Namespace) -> Tool:
    def archive(run: Path, to: Path) -> None:
        words = 'set -o pipefail; tar cf - -C "$0" run | cp /dev/stdin "$1/run.tar"'
        call("bash", "-c", words, run.parent, to)

    def restore(kept: Path, to: Path) -> None:
        call("tar", "xf", kept / "run.tar", "-C", to)

    return Tool("tar | cp", archive, restore)


def tailrace(options: argparse.Namespace) -> Tool:
    words = [sys.executable, "-m", "tailrace", "archive"]

    def archive(run: Path, to: Path) -> None:
        (to / "archive.toml").write_text(CONFIG.format(checksum=options.checksum))
        call(*words, "add", run, "--config", to / "archive.toml", "--quiet")

    def restore(kept: Path, to: Path) -> None:
        source = options.folder / "run"
        call(*words, "restore", source, "--to", to, "--config", kept / "archive.toml", "--quiet")

    return Tool("tailrace archive", archive, restore)


def restic(options: argparse.Namespace) -> Tool:
    words = [options.restic, "--no-cache", "--quiet"]
    os.environ["RESTIC_PASSWORD"] = "bench"

    def archive(run: Path, to: Path) -> None:
        call(*words, "-r", to / "repository", "init")
        call(*words, "-r", to / "repository", "backup", "run", at=run.parent)

    def restore(kept: Path, to: Path) -> None:
        call(*words, "-r", kept / "repository", "restore", "latest", "--target", to)

    return Tool("restic", archive, restore)


def zstash(options: argparse.Namespace) -> Tool:
    def archive(run: Path, to: Path) -> None:
        call(options.zstash, "create", "--hpss=none", "--cache", to / "cache", "run", at=run.parent)

    def restore(kept: Path, to: Path) -> None:
        # It unpacks into the folder where it runs.
        (to / "run").mkdir()
        call(options.zstash, "extract", "--hpss=none", "--cache", kept / "cache", at=to / "run")

    return Tool("zstash", archive, restore)


def archivetar(options: argparse.Namespace) -> Tool:
    def archive(run: Path, to: Path) -> None:
        call(options.archivetar, "--prefix", to / "run", "--tar-size", "100G", at=run)

    def restore(kept: Path, to: Path) -> None:
        (to / "run").mkdir()
        for path in sorted(kept.glob("run*.tar")):
            call("tar", "xf", path, "-C", to / "run")

    return Tool("archivetar", archive, restore)


def make_run(folder: Path, num_files: int, size: int) -> Path:
    run = folder / "run"
    if run.exists():
        return run
    chance = random.Random(1)
    for i in range(num_files):
        path = run / f"step_{i // FILES_PER_FOLDER:04d}" / f"part_{i % FILES_PER_FOLDER}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(chance.randbytes(size))
    return run


def forget(folder: Path) -> None:
    """Drop the files of a folder from the system's cache."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def keep(folder: Path) -> None:
    """Read all files of a folder, which brings them into the system's cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(8 << 20):
                    pass


def timed(tool: Tool, what: str, action: Callable[[], None]) -> None:
    def processor_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    os.sync()
    start, before = time.perf_counter(), processor_s()
    action()
    os.sync()
    tool.seconds.setdefault(what, []).append(time.perf_counter() - start)
    tool.processor_s.setdefault(what, []).append(processor_s() - before)


def same(first: Path, second: Path) -> bool:
    return subprocess.run(["diff", "-rq", first, second], check=False).returncode == 0


def one_round(options: argparse.Namespace, tool: Tool, run: Path, compare: bool) -> None:
    kept, restored = options.folder / "kept", options.folder / "restored"
    for path in (kept, restored):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    if not options.warm:
        forget(run)
    timed(tool, "archive", lambda: tool.archive(run, kept))
    (keep if options.warm else forget)(kept)
    timed(tool, "restore", lambda: tool.restore(kept, restored))
    # zstash keeps paths below the folder, the others the folder.
    if compare and not any(
        same(run, path.parent / "run") for path in restored.glob("**/run") if path.is_dir()
    ):
        sys.exit(f"{tool.name}: what was restored differs from the source")
    for path in (kept, restored):
        shutil.rmtree(path)


def report(tools: list[Tool], total_bytes: int) -> None:
    for what in ("archive", "restore"):
        base = statistics.median(tools[0].seconds[what])
        for tool in tools:
            times = tool.seconds[what]
            middle = statistics.median(times)
            print(
                f"{what:8} {tool.name:17} {middle:7.2f} s ({min(times):.2f} to {max(times):.2f})"
                f" {total_bytes / middle / 1e6:6.0f} MB/s"
                f" {statistics.median(tool.processor_s[what]):6.1f} s of processor"
                f" {base / middle:5.2f} x the speed of {tools[0].name}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm", action="store_true", help="sources stay in the system's cache")
    parser.add_argument("--checksum", default="blake3")
    for name in ("restic", "zstash", "archivetar"):
        parser.add_argument(f"--{name}", default=shutil.which(name) or "")
    options = parser.parse_args()
    options.folder = options.folder.absolute()
    run = make_run(options.folder, options.files, options.bytes)
    tools = [tar(options), tailrace(options)]
    for name, made in (("restic", restic), ("zstash", zstash), ("archivetar", archivetar)):
        if getattr(options, name):
            tools.append(made(options))
        else:
            print(f"{name} is not installed: left out")
    for number in range(options.rounds):
        for tool in tools:
            one_round(options, tool, run, compare=number == 0)
        print(f"round {number + 1}, load {os.getloadavg()[0]:.1f}", flush=True)
    report(tools, options.files * options.bytes)


if __name__ == "__main__":
    main()
