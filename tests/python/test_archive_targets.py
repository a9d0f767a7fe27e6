# SPDX-License-Identifier: BSD-3-Clause
"""What every kind of target promises, on real servers: objects whole, named, ranged and removed."""

import contextlib
import os
import random
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from archive_servers import (
    BUCKET,
    FAKE_LFS,
    ROOT,
    WORD,
    TapeLibrary,
    credentials,
    installed,
    make_bucket,
    rclone_remote,
    rclone_serve,
    running,
    seaweed,
)

from tailrace.archive.target import Target, TargetError
from tailrace.archive.targets import KINDS, command, hsm, rclone, s3, target_of

SERVED = ("webdav", "sftp", "s3")
KINDS_TESTED = (
    *("directory", "command", "command without read", "command with rename", "hsm"),
    *("rclone local", "rclone webdav", "rclone sftp", "s3 rclone", "s3 seaweed"),
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give the servers by name; each starts when it is first asked for."""
    started: dict[str, Any] = {}

    def server(name: str) -> Any:
        if name not in started:
            folder = tmp_path_factory.mktemp(name)
            made = seaweed(folder) if name == "seaweed" else rclone_serve(folder, name)
            started[name] = stack.enter_context(running(made)), folder
            if name == "seaweed":
                make_bucket(made)
        return started[name]

    with contextlib.ExitStack() as stack:
        yield server


def settings_of(kind: str, folder: Path, servers: Any) -> dict[str, Any]:
    """Return the table of a target of this kind, which holds nothing yet."""
    name, _, way = kind.partition(" ")
    if name == "directory":
        return {"kind": "directory", "path": str(folder / "tier")}
    if name == "hsm":
        lfs = folder / "lfs"
        lfs.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {FAKE_LFS} "$@"\n')
        lfs.chmod(0o755)
        (folder / "lustre").mkdir()
        return {"kind": "hsm", "path": str(folder / "lustre"), "lfs": str(lfs)}
    if name == "command":
        library = TapeLibrary(folder / "library")
        library.set(stays=False)
        settings = library.settings()
        if way == "without read":
            del settings["read"], settings["size"]
            settings["list_pattern"] = r"^(?P<size>\d+) (?P<key>\S+)$"
        if way == "with rename":
            words = settings["list"].removesuffix(" list")
            settings["rename"] = f"{words} rename {{from}} {{key}}"
        return settings
    if way == "local":
        rclone = installed("rclone")
        remote = str(folder / "remote")
        return {"kind": "rclone", "remote": remote, "program": rclone, "attempts": 1}
    server, place = servers(way if name == "rclone" else way.replace("rclone", "s3"))
    if name == "rclone":
        return {**rclone_remote(place, server, way), "remote": f"there:{folder.name}"}
    table = {"kind": "s3", "bucket": BUCKET, "endpoint_url": server.url, "prefix": folder.name}
    return {**table, "attempts": 2, "addressing": "path"}


@pytest.fixture(params=KINDS_TESTED)
def settings(
    request: pytest.FixtureRequest, tmp_path: Path, servers: Any, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """The table of an empty target."""
    for name, value in credentials().items():
        monkeypatch.setenv(name, value)
    made = settings_of(request.param, tmp_path, servers)
    target_of("tier", made).prepare()
    return made


def staged(target: Target, key: str) -> Target:
    """Recall an object and return the target."""
    target.stage([key])
    while not target.is_staged([key])[key]:
        pass
    return target


def test_every_kind_is_tested() -> None:
    assert {kind.split()[0] for kind in KINDS_TESTED} == set(KINDS)


def test_an_object_comes_back(settings: dict[str, Any], tmp_path: Path) -> None:
    target, data = target_of("tier", settings), random.Random(1).randbytes(3_000_001)
    source = tmp_path / "source;touch x $(id) 'q' \".tar"
    source.write_bytes(data)
    target.put("b-1.tar", source)
    target.put("b-10.tar", source)
    assert source.read_bytes() == data
    again = target_of("tier", settings)  # As another process sees it.
    assert again.size("b-1.tar") == len(data)
    assert again.size("b-2.tar") is None
    assert sorted(again.keys()) == ["b-1.tar", "b-10.tar"]
    assert set(again.is_staged(["b-1.tar", "b-10.tar"])) == {"b-1.tar", "b-10.tar"}
    staged(again, "b-1.tar").get("b-1.tar", tmp_path / "back $(id)")
    assert (tmp_path / "back $(id)").read_bytes() == data
    for offset, length in ((0, 1), (0, 0), (1_234_567, 65_537), (3_000_000, 1)):
        assert again.read("b-1.tar", offset, length) == data[offset : offset + length]
    # Fewer bytes only at the end.
    assert again.read("b-1.tar", 2_999_990, 100) == data[-11:]
    assert again.read("b-1.tar", 3_000_001, 10) == b""
    again.delete("b-1.tar")
    again.delete("b-1.tar")
    assert again.size("b-1.tar") is None
    assert list(again.keys()) == ["b-10.tar"]
    staged(again, "b-10.tar").get("b-10.tar", tmp_path / "neighbour")
    assert (tmp_path / "neighbour").read_bytes() == data
    free = again.free_bytes()
    assert free is None or free > 0


def test_what_is_absent_is_an_error_with_the_name(settings: dict[str, Any], tmp_path: Path) -> None:
    target = target_of("tier", settings)
    (tmp_path / "source").write_bytes(b"x")
    target.put("b-1.tar", tmp_path / "source")
    # One that is absent does not keep another one from being recalled.
    assert set(target.is_staged(["b-2.tar", "b-1.tar"])) == {"b-1.tar", "b-2.tar"}
    target.stage(["b-2.tar", "b-1.tar"])
    while not target.is_staged(["b-1.tar", "b-2.tar"])["b-1.tar"]:
        pass
    for call in (
        lambda: target.get("b-2.tar", tmp_path / "back"),
        lambda: target.read("b-2.tar", 0, 1),
        lambda: target.put("b-3.tar", tmp_path / "no such file"),
    ):
        with pytest.raises((TargetError, FileNotFoundError)) as caught:
            call()
        assert "tier, b-" in str(caught.value) or "no such file" in str(caught.value)
    assert target.size("b-3.tar") is None


def test_keys_are_checked(settings: dict[str, Any], tmp_path: Path) -> None:
    target = target_of("tier", settings)
    source = tmp_path / "source"
    source.write_bytes(b"x")
    calls: list[Callable[[str], Any]] = [
        lambda key: target.put(key, source),
        lambda key: target.get(key, tmp_path / "back"),
        lambda key: target.read(key, 0, 1),
        target.size,
        target.delete,
    ]
    for key in ("../b-1.tar", "/etc/passwd", "-rf", "a b", "", ".b", "b\n", "A"):
        for call in calls:
            with pytest.raises(TargetError, match="valid key"):
                call(key)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_settings_are_checked(kind: str) -> None:
    table: dict[str, dict[str, Any]] = {
        "directory": {"path": "/x"},
        "hsm": {"path": "/x"},
        "rclone": {"remote": "there:x", "program": "true"},
        "s3": {"bucket": "tests"},
        "command": {
            **{"put": "put {file} {key}", "get": "get {key} {file}", "size": "size {key}"},
            **{"list": "list", "delete": "rm {key}"},
        },
    }
    settings = {"kind": kind, **table[kind]}
    assert target_of("tier", settings).kind == kind
    with pytest.raises(TargetError, match="sice"):
        target_of("tier", {**settings, "sice": "1"})
    for name in table[kind]:
        less = {key: value for key, value in settings.items() if key != name}
        if name != "program":
            with pytest.raises(TargetError, match=name):
                target_of("tier", less)
        with pytest.raises(TargetError):
            target_of("tier", {**settings, name: 7})


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("s3", {"bucket": "tests", "secret_access_key": WORD}),
        ("s3", {"bucket": "tests", "endpoint_url": f"https://me:{WORD}@host"}),
        ("rclone", {"remote": f":webdav,user=me,pass={WORD}:x"}),
        ("rclone", {"remote": f":s3,secret_access_key='{WORD}':x"}),
        ("command", {"put": f"put --password={WORD} {{file}} {{key}}"}),
    ],
)
def test_secrets_are_refused_in_the_settings(kind: str, settings: dict[str, Any]) -> None:
    with pytest.raises(TargetError, match="secrets") as caught:
        target_of("tier", {"kind": kind, **settings})
    assert WORD not in str(caught.value)


def test_modules_of_targets_are_loaded_when_asked_for() -> None:
    code = "import sys, tailrace.archive.targets; sys.exit('boto3' in sys.modules)"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code) == 0


def test_the_page_on_targets_shows_what_is_accepted() -> None:
    page = (ROOT / "docs" / "archive_targets.md").read_text()
    shown: set[str] = set()
    for block in re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL):
        for name, table in tomllib.loads(block)["targets"].items():
            if table["kind"] == "rclone":
                table["program"] = "true"
            assert target_of(name, table).kind == table["kind"]
            shown.add(table["kind"])
    assert shown == set(KINDS)
    for module in (command, hsm, rclone, s3):
        for setting in module.SETTINGS:
            assert f"`{setting}`" in page, setting
