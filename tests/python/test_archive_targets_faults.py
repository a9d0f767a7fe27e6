# SPDX-License-Identifier: BSD-3-Clause
"""`tailrace archive` when a target fails: a clear error, untouched sources, and a next run.

The targets are the simulated tape library and real servers that are stopped and started.
"""

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest
from archive_common import fill, tree
from archive_servers import (
    BUCKET,
    WORD,
    TapeLibrary,
    TieredArchive,
    credentials,
    installed,
    make_bucket,
    moto,
    rclone_remote,
    rclone_serve,
    running,
)


@pytest.fixture(autouse=True)
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in credentials().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    fill(tmp_path / "src")
    return tmp_path / "src"


@pytest.fixture
def library(tmp_path: Path) -> TapeLibrary:
    return TapeLibrary(tmp_path / "library")


def s3_settings(url: str, **more: Any) -> dict[str, Any]:
    table = {"kind": "s3", "bucket": BUCKET, "endpoint_url": url, "prefix": "results"}
    return {**table, "attempts": 2, "timeout_s": 20, **more}


def holds(folder: Path, secret: str) -> list[Path]:
    """Return the files below a folder that contain a text."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in files if secret.encode() in path.read_bytes()]


def test_a_restore_mounts_each_tape_once(
    library: TapeLibrary, source: Path, tmp_path: Path
) -> None:
    library.set(stays=False, tape_bytes=1_500_000)
    archive = TieredArchive(tmp_path, "700k..800k", {"tape": library.settings()})
    archive.run("add", source)
    bundles = json.loads((library.folder / "library.json").read_text())["objects"]
    tapes = {entry["tape"] for entry in bundles.values()}
    assert len(bundles) >= 3 and len(tapes) >= 2
    library.counts()
    library.run("drop")
    plan = archive.json("restore", source, "--to", tmp_path / "out", "--dry-run")[0]
    assert plan["bundles"] == plan["mounts"] == len(bundles)
    assert library.counts()["mounts"] == 0 and not (tmp_path / "out").exists()
    archive.run("restore", source, "--to", tmp_path / "out")
    assert tree(tmp_path / "out" / "src") == tree(source)
    counts = library.counts()
    assert (counts["mounts"], counts["recalls"]) == (len(tapes), 1)
    assert counts["objects"] == len(bundles)
    # One file needs the one tape on which it lies.
    library.run("drop")
    archive.run("restore", source / "f10", "--to", tmp_path / "one")
    assert (tmp_path / "one" / "f10").read_bytes() == (source / "f10").read_bytes()
    counts = library.counts()
    assert (counts["mounts"], counts["objects"]) == (1, 1)
    # All that was staged in advance is read without a mount.
    library.run("drop")
    archive.run("stage", source, "--wait")
    assert library.counts()["mounts"] == len(tapes)
    archive.run("restore", source, "--to", tmp_path / "again")
    assert library.counts()["mounts"] == 0
    # A second restore needs only the tape of what is missing.
    library.run("drop")
    (tmp_path / "out" / "src" / "f10").unlink()
    words = ["restore", source, "--to", tmp_path / "out"]
    plan = archive.json(*words, "--dry-run")[0]
    assert plan["bundles"] == plan["mounts"] == 1 and library.counts()["mounts"] == 0
    done = archive.json(*words)[0]
    assert (done["files"], done["bundles"]) == (1, 1) and done["bytes_read"] < 800_000
    assert tree(tmp_path / "out" / "src") == tree(source)
    counts = library.counts()
    assert (counts["mounts"], counts["objects"]) == (1, 1)
    library.run("drop")
    assert archive.json(*words)[0]["bytes_read"] == 0
    assert archive.json(*words, "--dry-run")[0]["mounts"] == library.counts()["mounts"] == 0


@pytest.mark.parametrize(
    ("fault", "healed", "said"),
    [
        ({"keep_of_put": 0.9}, {"keep_of_put": 1.0}, "bytes are stored, although put succeeded"),
        ({"lose_put": True}, {"lose_put": False}, "bytes are stored, although put succeeded"),
        ({"flip_in_put": 3_000_001}, {"flip_in_put": -1}, "the stored copy is damaged"),
        ({"exit_status": 70}, {"exit_status": None}, "exit status 70"),
        ({"free_bytes": 800_000}, {"free_bytes": 1 << 50}, "are free"),
        ({"offline": True}, {"offline": False}, "the library is offline"),
        ({"fail_recall": True}, {"fail_recall": False}, "a tape cannot be read"),
    ],
)
def test_a_target_that_lies_or_fails(
    library: TapeLibrary,
    source: Path,
    tmp_path: Path,
    fault: dict[str, Any],
    healed: dict[str, Any],
    said: str,
) -> None:
    library.set(stays=False, **fault)
    disk = {"kind": "directory", "path": str(tmp_path / "disk")}
    archive = TieredArchive(tmp_path, "1G..2G", {"disk": disk, "tape": library.settings()})
    words = ["nightly"] if "exit_status" in fault else ["add", source, "--move"]
    before = tree(source)
    text = archive.run(*words, status=1)
    assert said in text and "target tape" in text
    assert tree(source) == before
    rows = archive.json("list")
    assert {row["copies"] for row in rows} <= {0, 1}
    # The next run ends it: the faulty copies are replaced, and then the sources go.
    library.set(**healed)
    archive.run(*words)
    assert {row["copies"] for row in archive.json("list")} == {2}
    assert not [path for path in source.rglob("*") if path.is_file()]
    library.run("drop")
    (tmp_path / "disk").rename(tmp_path / "lost")
    archive.run("restore", source, "--to", tmp_path / "out")
    assert tree(tmp_path / "out" / "src") == before


def test_damage_on_tape_is_named(library: TapeLibrary, tmp_path: Path) -> None:
    library.set(stays=False)
    source = tmp_path / "src"
    source.mkdir()
    for number in range(4):
        (source / f"f{number}").write_bytes(random.Random(number).randbytes(50_000))
    archive = TieredArchive(tmp_path, "60k..120k", {"tape": library.settings()})
    archive.run("add", source)
    rows = [row for row in archive.json("list") if row["size"] == 50_000]
    chance = random.Random(11)
    for row in chance.sample(rows, 2):
        tape, first = library.tape_of(row["bundle"])
        at = first + row["offset"] + chance.randrange(row["size"])
        good = tape.read_bytes()
        tape.write_bytes(good[:at] + bytes([good[at] ^ 1 << chance.randrange(8)]) + good[at + 1 :])
        library.run("drop")
        found = [each for each in archive.json("verify", status=1) if each.get("problems")]
        assert [each["bundle"] for each in found] == [row["bundle"]]
        assert [row["path"] in problem for problem in found[0]["problems"]] == [True]
        tape.write_bytes(good)
    library.run("drop")
    archive.run("verify")


def test_a_server_that_stops_and_starts_again(source: Path, tmp_path: Path) -> None:
    before = tree(source)
    with running(rclone_serve(tmp_path, "s3")) as server:
        archive = TieredArchive(tmp_path, "1M..4M", {"cloud": s3_settings(server.url)})
        server.stop()
        text = archive.run("add", source, "--move", status=1)
        assert "target cloud" in text and "does not answer" in text
        assert tree(source) == before
        server.start()
        archive.run("add", source, "--move")
        assert not [path for path in source.rglob("*") if path.is_file()]
        archive.run("verify")
        server.stop()
        text = archive.run("restore", source, "--to", tmp_path / "out", status=1)
        assert "does not answer" in text
        assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
        assert "does not answer" in archive.run("verify", status=4)
        # A copy that could not be read is not forgotten.
        assert {row["copies"] for row in archive.json("list")} == {1}
        server.start()
        archive.run("restore", source, "--to", tmp_path / "out")
        assert tree(tmp_path / "out" / "src") == before


@pytest.mark.parametrize("kind", ["s3", "rclone"])
def test_wrong_credentials(
    source: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, before = "wrong" + WORD, tree(source)
    place = tmp_path / "server"
    place.mkdir()
    with running(rclone_serve(place, "s3" if kind == "s3" else "webdav")) as server:
        if kind == "s3":
            settings, right = s3_settings(server.url), {}
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", wrong)
        else:
            settings = rclone_remote(place, server, "webdav", wrong)
            right = {"config": rclone_remote(place, server, "webdav")["config"]}
        archive = TieredArchive(tmp_path / "a", "1M..4M", {"cloud": settings})
        text = archive.run("add", source, "--move", status=1)
        assert "refused the credentials" in text or "401 Unauthorized" in text
        assert tree(source) == before
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WORD)
        archive = TieredArchive(tmp_path / "a", "1M..4M", {"cloud": {**settings, **right}})
        text += archive.run("add", source, "--move")
        text += archive.run("status", "--json") + archive.run("list", "--json")
        archive.run("restore", source, "--to", tmp_path / "out")
        assert tree(tmp_path / "out" / "src") == before
    # No secret lies in what was printed, in the index or in a bundle.
    assert WORD not in text
    assert holds(tmp_path / "a", WORD) == holds(place / "served", WORD) == []


def test_an_archive_class_is_restored_before_it_is_compared(source: Path, tmp_path: Path) -> None:
    with running(moto(tmp_path)) as server:
        make_bucket(server)
        cold = s3_settings(server.url, storage_class="DEEP_ARCHIVE")
        archive = TieredArchive(tmp_path, "1M..4M", {"cold": cold})
        before = tree(source)
        archive.run("add", source, "--move")
        assert {row["copies"] for row in archive.json("list")} == {1}
        archive.run("restore", source, "--to", tmp_path / "out")
        assert tree(tmp_path / "out" / "src") == before


def test_names_of_a_centres_own_commands(library: TapeLibrary, tmp_path: Path) -> None:
    """Files with names that a shell would run, in a folder with such a name."""
    source = tmp_path / "src;touch x $(touch y)"
    source.mkdir()
    for name in ("a;touch x", "$(id)", "`touch z`", "-rf", "new\nline", "'q\" && touch w"):
        (source / name).write_text(name)
    archive = TieredArchive(source / "a $(touch v)", "1M..4M", {"tape": library.settings()})
    here = set(Path.cwd().iterdir())
    archive.run("add", *sorted(path for path in source.iterdir() if path.is_file()))
    archive.run("restore", source, "--to", tmp_path / "out")
    restored = {
        path.name: path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    assert restored == {path.name: path.name for path in source.iterdir() if path.is_file()}
    assert set(Path.cwd().iterdir()) == here
    assert shlex.quote(str(library.folder)) == str(library.folder)


@pytest.mark.parametrize("first", ["tape", "there"])
def test_bundles_have_the_size_that_all_targets_take(
    library: TapeLibrary, tmp_path: Path, first: str
) -> None:
    """The ranges of commands and of rclone count as those of directories do."""
    (tmp_path / "there").mkdir()
    rclone = {"kind": "rclone", "remote": str(tmp_path / "there"), "program": installed("rclone")}
    targets = {
        "tape": {**library.settings(), "bundle": "100k..900k"},
        "there": {**rclone, "bundle": "300k..600k"},
    }
    order = sorted(targets, key=lambda name: name != first)
    archive = TieredArchive(tmp_path, "", {name: targets[name] for name in order})
    source = tmp_path / "src"
    source.mkdir()
    for i in range(60):
        (source / f"file{i}").write_bytes(random.Random(i).randbytes(500 * i))
    archive.run("add", source)
    sizes = [path.stat().st_size for path in sorted((tmp_path / "there").glob("*.tar"))]
    objects = json.loads((library.folder / "library.json").read_text())["objects"]
    assert len(objects) == len(sizes) > 1
    assert max(sizes) <= 600_000 and min(sizes[:-1]) >= 300_000
    archive.run("verify")
