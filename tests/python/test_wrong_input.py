# SPDX-License-Identifier: BSD-3-Clause
"""Commands given what cannot be right: one line that names it, no traceback, no wait."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins import built, is_built

from tailrace.cli import COMMANDS

TAILRACE = [sys.executable, "-m", "tailrace"]

# What is wrong, and a part of what is said about it. In the folder are: `empty`, `binary`, `dir`,
# `object.json` ({}) and `list.json` ([1, 2]).
WRONG = [
    ("list --json --markdown", "either --json or --markdown"),
    ("config", "name what to print: --cflags"),
    ("config --libs --language ada", "--language ada: the languages are c, c++"),
    ("config --prefix --mpi mpich", "only a binary wheel contains several"),
    ("new nosuch x.toml", "case nosuch: neither a file nor a shipped case"),
    ("new decaying dir", "dir: exists"),
    ("run dir", "case dir is a folder"),
    ("exec --with nosuch -- true", "nosuch: neither a settings file"),
    ("exec --with empty -- true", "empty: contains no settings"),
    ("exec --with binary -- true", "binary: no settings"),
    ("exec --with dir -- true", "dir: Is a directory"),
    ("exec -- true", "give --with, e.g. --with waiting"),
    ("run taylor_green -n 99999999", "-n 99999999: too many"),
    ("run taylor_green grid.n=16", "grid.n=16: give a key of the case as --set grid.n=16"),
    ("run taylor_green decaying", "decaying: give one case only"),
    ("report nosuch", "nosuch: no such run folder"),
    ("report dir", "dir is not a run folder"),
    ("report empty", "empty: is no JSON"),
    ("report binary", "binary: is no JSON"),
    ("report list.json", "list.json: not a profile"),
    ("verify nosuch", "nosuch: no such file"),
    ("verify empty dir", "dir is a folder; give files"),
    ("diff nosuch nosuch", "nosuch: No such file"),
    ("diff dir dir", "dir: holds no records"),
    ("diff binary binary", "binary: is no JSON"),
    ("diff object.json list.json", "object.json: not a profile"),
    ("plan --ranks 1e30 --bytes 1M --writer 1G --file-system 9G", "--ranks 1e30: expected"),
    ("plan --ranks 64 --bytes 64Q --writer 1G --file-system 9G", "--bytes 64Q: expected"),
    ("plan --ranks 64 --bytes 64M --measure empty", "--measure empty: no such folder"),
    ("plan --ranks 64 --bytes 64M --from binary", "--from binary: not JSON"),
    ("plan --ranks 64 --bytes 64M --from list.json", "--from list.json: not a file of"),
    ("plan --ranks 64 --bytes 64M --storage binary", "--storage binary: no TOML"),
    ("plan --ranks 64 --bytes 64M --storage dir", "--storage dir: neither a file nor one of"),
    ("reproduce placemen", "placemen: no such figure; did you mean placement"),
    ("reproduce --list -o page.html", "give either --list or -o"),
    ("reproduce placement -o dir", "-o dir: is a folder"),
    ("map --grid 99999999x99999999 --hosts a", "are too many"),
    ("map --grid 4x4 --hosts a:8,b:8 -o empty", "no file can be created in empty"),
    ("map --profile binary --hosts a", "binary is not a profile"),
    ("map --profile dir --hosts a", "dir: Is a directory"),
    ("map nodes --machine nosuch", "machine nosuch: expected one of"),
    (
        "plan transposes --machine torus:99999x99999x99999,bw=1 --points 64",
        "more than 100000000 nodes",
    ),
    (
        "plan transposes --machine torus:4x4,bw=1 --ranks-per-node 1000000000 --points 8",
        "more than 10000000",
    ),
    ("archive status --config nosuch", "nosuch"),
    ("archive add dir --config binary", "binary"),
    ("stripe show nosuch", "nosuch: no such file or folder"),
    ("tune --file dir", "--file dir: is a folder"),
    ("tune --budget nan", "--budget"),
    ("tune --ranks 99999999", "too many"),
    ("tune show --file empty", "empty is not a results file of the tuner"),
    ("tune show --file list.json", "list.json is not a results file of the tuner"),
    ("profile -- nosuch", "program nosuch: was not found"),
    ("profile -- ./empty", "is not executable"),
    ("profile --read dir", "dir: holds no records"),
    ("profile -o empty -- true", "empty: File exists"),
    ("doctor --fail-on bad -- true", "--fail-on bad: expected one of info"),
    ("advise --tips nosuch -- true", "--tips nosuch: expected some of"),
    ("advise --metric '(' -- true", "--metric (:"),
    ("advise --apply binary -- true", "binary: no settings"),
    ("demo --end inf", "--end"),
    ("demo --set grid.n=32", "--set grid.n=32: use --grid 32"),
    ("demo --repeats 99999999999999999999", "--repeats"),
    ("demo --run-dir empty", "--run-dir empty: is a file"),
    ("diff --json=binary nosuch nosuch", "--json binary: exists and does not contain JSON"),
    ("verify --json=/proc/x.json empty", "no file can be created in /proc"),
    ("bench fft --points 99999999", "--points 99999999: an array takes"),
    ("bench dense --points 99999999", "--points 99999999: an array takes"),
    ("bench io --folder empty", "no file can be created in empty"),
    ("bench exchange --sizes x", "--sizes x: expected sizes"),
]
# These start programs of the build.
WRONG_FOR_PROGRAMS = [
    ("list nosuch", "tailrace-list", "no table nosuch"),
    ("list hnts", "tailrace-list", "did you mean hints?"),
    ("bench io --hints nosuch=3", "tailrace-list", "--hints nosuch=3: there is no hint nosuch"),
    ("bench io --hints cb_node=3", "tailrace-list", "did you mean cb_nodes?"),
    ("bench io --hints cb_nodes", "tailrace-list", "cb_nodes: expected NAME=VALUE"),
    ("run nosuch", "tailrace-turbulence", "case nosuch: neither a file"),
    ("run empty", "tailrace-turbulence", "must be given, not neither"),
    ("run binary", "tailrace-turbulence", "binary line 1: "),
    ("run taylor_green --set grid.n=1e30", "tailrace-turbulence", "must be a whole number"),
    (
        "plan transposes --machine torus:4x4 --points 8",
        "tailrace-price",
        "bw=... is missing [GB/s]",
    ),
    ("tune --problem fft:extents=99999999x99999999x99999999", "tailrace-tune", "more than 7.2e+16"),
]
WRONG_FOR_DRIVERS = [
    ("bench exchange --method nosuch --sizes 8 --ranks 2", "method nosuch: unknown"),
    ("bench allreduce --method nosuch --sizes 8 --ranks 2", "method nosuch: unknown"),
    ("bench exchange --sizes 99999999999999 --ranks 2 --patterns uniform", "nothing was measured"),
    ("bench sparse --matrices binary.mtx", "does not begin with"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dir").mkdir()
    (tmp_path / "empty").touch()
    noise = bytes((7 * i * i + 131) % 256 for i in range(5000))
    (tmp_path / "binary").write_bytes(noise)
    (tmp_path / "binary.mtx").write_bytes(noise)
    (tmp_path / "object.json").write_text("{}")
    (tmp_path / "list.json").write_text("[1, 2]")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(line: str) -> str:
    """Return the one line that the command says; it fails within a minute and leaves no file."""
    done = subprocess.run(
        [*TAILRACE, *shlex.split(line)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
    )
    assert done.returncode in (1, 2), done.stderr
    assert done.stderr.startswith("tailrace: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("line", "part"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_input_is_one_line(line: str, part: str) -> None:
    assert part in refusal(line)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "program", "part"), WRONG_FOR_PROGRAMS, ids=[line for line, *_ in WRONG_FOR_PROGRAMS]
)
def test_what_programs_refuse_is_one_line(line: str, program: str, part: str) -> None:
    built(program)
    assert part in refusal(line)


@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(not is_built("tailrace-bench"), reason="the drivers are not built")
@pytest.mark.parametrize(
    ("line", "part"), WRONG_FOR_DRIVERS, ids=[line for line, _ in WRONG_FOR_DRIVERS]
)
def test_what_drivers_refuse_is_one_line(line: str, part: str) -> None:
    assert part in refusal(line)


def test_every_command_is_tried() -> None:
    tried = {line.split()[0] for line, *_ in (*WRONG, *WRONG_FOR_PROGRAMS)}
    assert tried == set(COMMANDS)
