# SPDX-License-Identifier: BSD-3-Clause
"""Targets that run programs: a centre's commands (a simulated tape library), lfs and rclone."""

import json
import os
import random
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from archive_common import Archive
from archive_servers import (
    FAKE_LFS,
    WORD,
    Cable,
    TapeLibrary,
    rclone_remote,
    rclone_serve,
    running,
)

from tailrace.archive.target import Target, TargetError
from tailrace.archive.targets import target_of
from tailrace.archive.targets.directory import Directory
from tailrace.archive.targets.hsm import Hsm
from tailrace.archive.targets.settings import masked

DATA = random.Random(3).randbytes(1_000_003)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source").write_bytes(DATA)
    return tmp_path / "source"


@pytest.fixture
def library(tmp_path: Path) -> TapeLibrary:
    return TapeLibrary(tmp_path / "library")


def wait_staged(target: Target, keys: list[str]) -> int:
    """Wait until all can be read; return how often was asked."""
    asked = 1
    while not all(target.is_staged(keys).values()):
        asked += 1
    return asked


# Commands of a centre.


def test_one_recall_of_all_mounts_each_tape_once(library: TapeLibrary, source: Path) -> None:
    library.set(tape_bytes=3 * len(DATA), stays=False)
    tier = target_of("tape", library.settings())
    keys = [f"b-{number}.tar" for number in range(9)]
    for key in keys:
        tier.put(key, source)
    asked = [keys[i] for i in (8, 0, 5, 3, 1, 4)]  # Tapes 2, 0, 1, 1, 0, 1.
    assert not any(tier.is_staged(asked).values())
    tier.stage(asked)
    wait_staged(tier, asked)
    counts = library.counts()
    assert (counts["mounts"], counts["recalls"], counts["objects"]) == (3, 1, 6)
    assert counts["seeks"] == 1  # To the last object of the last tape.
    assert not any(tier.is_staged([keys[2], keys[6], keys[7]]).values())
    # Staged one by one in that order, the same objects take more mounts.
    library.run("drop")
    for key in asked:
        tier.stage([key])
        wait_staged(tier, [key])
    assert library.counts()["mounts"] == 5


def test_a_recall_that_lasts(library: TapeLibrary, source: Path, tmp_path: Path) -> None:
    library.set(stays=False, recall_polls=3)
    tier = target_of("tape", library.settings())
    tier.put("b-1.tar", source)
    with pytest.raises(TargetError, match=r"tape, b-1\.tar: .*on tape only"):
        tier.get("b-1.tar", tmp_path / "back")
    tier.stage(["b-1.tar"])
    assert wait_staged(tier, ["b-1.tar"]) >= 3
    assert tier.read("b-1.tar", 7, 5) == DATA[7:12]


@pytest.mark.parametrize("names", ["{keys}", "--from {keyfile}", '"{keys}"'])
@pytest.mark.parametrize("staged", [None, "{keys}", "{key}"])
def test_forms_of_stage_and_staged(
    library: TapeLibrary, source: Path, names: str, staged: str | None
) -> None:
    library.set(stays=False)
    at = shlex.join(library.words)
    stage = f"sh -c '{at} stage {names}'" if '"' in names else f"{at} stage {names}"
    settings = library.settings(stage=stage.replace('"', ""))
    del settings["staged"]
    if staged:
        settings["staged"] = f"{at} {'is_staged' if staged == '{key}' else 'staged'} {staged}"
    tier = target_of("tape", settings)
    for key in ("b-1.tar", "b-2.tar"):
        tier.put(key, source)
    assert tier.is_staged(["b-1.tar", "b-2.tar"]) == {"b-1.tar": False, "b-2.tar": False}
    tier.stage(["b-2.tar"])
    wait_staged(tier, ["b-2.tar"])
    assert tier.is_staged(["b-1.tar", "b-2.tar"]) == {"b-1.tar": False, "b-2.tar": True}
    assert library.counts()["recalls"] == 1


def test_a_recall_that_fails(library: TapeLibrary, source: Path) -> None:
    library.set(stays=False)
    tier = target_of("tape", library.settings())
    tier.put("b-1.tar", source)
    library.set(fail_recall=True)
    tier.stage(["b-1.tar"])
    with pytest.raises(TargetError, match="a tape cannot be read"):
        wait_staged(tier, ["b-1.tar"])
    library.set(fail_recall=False)
    tier.stage(["b-1.tar"])
    wait_staged(tier, ["b-1.tar"])


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"keep_of_put": 0.9}, "900002 of 1000003 bytes are stored, although put succeeded"),
        ({"keep_of_put": 0.9, "exit_status": 70}, "exit status 70"),
        ({"exit_status": 70}, "exit status 70"),
        ({"lose_put": True}, "None of 1000003 bytes"),
        ({"free_bytes": 1_000_000}, "no space left"),
        ({"offline": True}, "the library is offline"),
    ],
)
@pytest.mark.parametrize("rename", [False, True])
def test_what_put_says_is_not_trusted(
    library: TapeLibrary, source: Path, fault: dict[str, Any], message: str, rename: bool
) -> None:
    settings = library.settings()
    if rename:
        settings["rename"] = f"{shlex.join(library.words)} rename {{from}} {{key}}"
    tier = target_of("tape", settings)
    library.set(**fault)
    with pytest.raises(TargetError, match=message) as caught:
        tier.put("b-1.tar", source)
    assert str(caught.value).startswith("target tape, b-1.tar: ")
    assert source.read_bytes() == DATA
    library.set(offline=False)
    assert tier.size("b-1.tar") is None
    assert library.run("list") == ""


def test_a_library_that_fails_is_not_an_absent_object(library: TapeLibrary, source: Path) -> None:
    tier = target_of("tape", library.settings())
    tier.put("b-1.tar", source)
    library.set(offline=True)
    for call in (
        lambda: tier.size("b-1.tar"),
        lambda: tier.size("b-2.tar"),
        lambda: list(tier.keys()),
        lambda: tier.delete("b-1.tar"),
        lambda: tier.is_staged(["b-1.tar"]),
        tier.free_bytes,
    ):
        with pytest.raises(TargetError, match="the library is offline"):
            call()


def test_no_shell_sees_a_name(library: TapeLibrary, tmp_path: Path) -> None:
    folder = tmp_path / "a;touch x $(touch y) `touch z` 'q\" && touch w\n"
    folder.mkdir()
    (folder / "source").write_bytes(DATA)
    tier = target_of("tape", library.settings())
    before = set(Path.cwd().iterdir())
    tier.put("b-1.tar", folder / "source")
    tier.get("b-1.tar", folder / "back")
    assert (folder / "back").read_bytes() == DATA
    # A word with blanks is split by the tool itself, as hsi does: such a name is refused.
    settings = library.settings(put='sh -c "cp {file} /dev/null; echo {key}"')
    with pytest.raises(TargetError, match="takes plain names only"):
        target_of("tape", settings).put("b-2.tar", folder / "source")
    assert set(Path.cwd().iterdir()) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"put": "put {file}"}, "put = 'put {file}' lacks {key}"),
        ({"put": "put {path} {key}"}, "put contains an unknown name {path}"),
        ({"list": "awk '{print $1}'"}, "list contains an unknown name {print"),
        ({"get": "get '{key} {file}"}, "No closing quotation"),
        ({"read": "read {key} {offset}"}, "lacks {length}"),
        ({"stage": "dmget -a"}, "lacks {keys}, {keyfile}"),
        ({"list": ""}, "list is missing"),
        ({"size_pattern": "[0-9"}, "size_pattern"),
        ({"size_pattern": "[0-9]+"}, "must contain a group"),
    ],
)
def test_templates_are_checked(library: TapeLibrary, change: dict[str, str], message: str) -> None:
    with pytest.raises(TargetError) as caught:
        target_of("tape", library.settings(**change))
    assert message in str(caught.value)


def test_doubled_braces_and_patterns(library: TapeLibrary, source: Path, tmp_path: Path) -> None:
    """A size as ``ls -l`` prints it, found by awk or by a pattern."""
    script = tmp_path / "hsi"
    script.write_text(
        f'#!/bin/sh\necho "-rw-r--r-- 1 user 1 $({shlex.join(library.words)} $@) x"\n'
    )
    script.chmod(0o755)
    pattern = r"^-\S+ +\d+ +\S+ +\d+ +(?P<size>\d+) "
    tier = target_of("tape", library.settings(size=f"{script} size {{key}}", size_pattern=pattern))
    tier.put("b-1.tar", source)
    assert tier.size("b-1.tar") == len(DATA)
    words = shlex.join(library.words)
    awk = f"""sh -c '{words} list | awk "{{{{print \\$2}}}}"'"""
    assert list(target_of("tape", library.settings(list=awk)).keys()) == ["b-1.tar"]


def test_programs_that_are_missing_or_hang(library: TapeLibrary, source: Path) -> None:
    tier = target_of("tape", library.settings(put="no-such-program {file} {key}"))
    with pytest.raises(TargetError, match="no-such-program cannot be run: No such file"):
        tier.put("b-1.tar", source)
    tier = target_of("tape", library.settings(get="sh -c 'sleep 1000' {key} {file}", timeout_s=0.2))
    with pytest.raises(TargetError, match=r"sh took more than 0\.2 s"):
        tier.get("b-1.tar", source.with_name("back"))


def test_secrets_in_what_programs_print_are_masked(library: TapeLibrary, source: Path) -> None:
    said = f"https://me:{WORD}@host/x token={WORD} Authorization: Bearer {WORD}"
    script = source.with_name("script")
    script.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    script.chmod(0o755)
    tier = target_of("tape", library.settings(put=f"{script} {{file}} {{key}}"))
    with pytest.raises(TargetError, match="exit status 1") as caught:
        tier.put("b-1.tar", source)
    assert WORD not in str(caught.value)
    assert "https://***@host/x token=***" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["/path/to:file@host", "b-1.tar: 3 of 4 bytes", "user@host:/path", "the key b is absent"],
)
def test_what_is_no_secret_is_not_masked(text: str) -> None:
    assert masked(text) == text


# Lustre HSM.


@pytest.fixture
def lustre(tmp_path: Path) -> dict[str, Any]:
    script = tmp_path / "lfs"
    log = tmp_path / "lfs.log"
    script.write_text(f'#!/bin/sh\nLFS_LOG={log} exec {sys.executable} -IS {FAKE_LFS} "$@"\n')
    script.chmod(0o755)
    settings = {"kind": "hsm", "path": str(tmp_path / "lustre"), "lfs": str(script)}
    target_of("lustre", settings).prepare()
    return settings


def hsm_settings(tmp_path: Path, **settings: Any) -> None:
    (tmp_path / "lustre" / ".hsm.settings.json").write_text(json.dumps(settings))


def calls_of(tmp_path: Path, command: str) -> list[int]:
    """Return how many arguments each call had."""
    lines = (tmp_path / "lfs.log").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.split()[0] == command]


def test_files_go_to_tape_and_come_back_in_one_call(
    lustre: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    hsm_settings(tmp_path, polls=2)
    tier = target_of("lustre", lustre)
    keys = ["b-1.tar", "b-2.tar", "b-3.tar"]
    for key in keys:
        tier.put(key, source)
        assert tier.size(key) == len(DATA)
        # What is left on the disk is not the data.
        assert (tmp_path / "lustre" / key).read_bytes() != DATA
    again = target_of("lustre", lustre)
    for refused in (lambda: again.read(keys[0], 0, 9), lambda: again.get(keys[0], source)):
        with pytest.raises(TargetError, match=r"b-1\.tar: is on tape only"):
            refused()
    assert again.is_staged(keys) == dict.fromkeys(keys, False)
    again.stage(keys)
    assert wait_staged(again, keys) >= 2
    assert calls_of(tmp_path, "hsm_restore") == [2]  # --filelist FILE
    assert again.read(keys[2], 5, 6) == DATA[5:11]
    again.get(keys[0], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == DATA
    again.stage(keys)
    assert calls_of(tmp_path, "hsm_restore") == [2]  # Nothing is left to recall.
    again.delete(keys[0])
    assert sorted(again.keys()) == keys[1:]


def test_without_release_files_stay_on_disk(lustre: dict[str, Any], source: Path) -> None:
    tier = target_of("lustre", {**lustre, "release": False, "archive_id": 2})
    tier.put("b-1.tar", source)
    assert tier.read("b-1.tar", 0, 9) == DATA[:9]


def test_an_archiving_that_fails_or_never_ends(
    lustre: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    tier = target_of("lustre", {**lustre, "archive_wait_s": 0.3})
    hsm_settings(tmp_path, refuse=["b-1.tar"])
    with pytest.raises(TargetError, match=r"b-1\.tar: lfs: exit status 19: .*No such device"):
        tier.put("b-1.tar", source)
    hsm_settings(tmp_path, polls=1_000_000)
    with pytest.raises(TargetError, match=r"was not archived within 0\.3 s"):
        tier.put("b-1.tar", source)
    assert tier.size("b-1.tar") is None
    assert source.read_bytes() == DATA


def test_a_file_that_a_kill_left_on_the_disk_goes_to_tape(
    lustre: dict[str, Any], source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = Archive(tmp_path / "archive")
    rows = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lustre.items())
    archive.config.write_text(f'index = "i/i.sqlite"\n[targets.tape]\n{rows}')

    def killed(self: Hsm, key: str, of: Path) -> None:
        Directory.put(self, key, of)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Hsm, "put", killed)
        archive.run("add", source, status=130)
    assert not (tmp_path / "lfs.log").exists(), "nothing was asked of lfs"
    archive.run("add", source)
    assert calls_of(tmp_path, "hsm_archive") == [1]
    assert len(calls_of(tmp_path, "hsm_restore")) == 1, "the copy on tape is compared"
    assert archive.json("list", source)[0]["copies"] == 1


def test_a_file_that_the_second_tier_lost(
    lustre: dict[str, Any], source: Path, tmp_path: Path
) -> None:
    tier = target_of("lustre", lustre)
    tier.put("b-1.tar", source)
    hsm_settings(tmp_path, lose=["b-1.tar"])
    with pytest.raises(TargetError, match=r"b-1\.tar: .*copy is lost"):
        tier.is_staged(["b-1.tar"])


def test_a_system_without_lfs(tmp_path: Path, source: Path) -> None:
    tier = target_of("lustre", {"kind": "hsm", "path": str(tmp_path / "x"), "lfs": "no-such-lfs"})
    tier.prepare()
    with pytest.raises(TargetError, match="no-such-lfs cannot be run"):
        tier.put("b-1.tar", source)
    assert tier.size("b-1.tar") is None
    assert source.read_bytes() == DATA


# rclone.


def test_a_wrong_password_and_a_broken_connection(tmp_path: Path, source: Path) -> None:
    with running(rclone_serve(tmp_path, "webdav")) as server:
        right = target_of("dav", rclone_remote(tmp_path, server, "webdav"))
        right.put("b-1.tar", source)
        wrong = target_of("dav", rclone_remote(tmp_path, server, "webdav", "wrong" + WORD))
        for call in (
            lambda: wrong.put("b-2.tar", source),
            lambda: wrong.size("b-1.tar"),
            lambda: wrong.read("b-1.tar", 0, 1),
        ):
            with pytest.raises(TargetError, match="401 Unauthorized") as caught:
                call()
            assert WORD not in str(caught.value)
        with Cable(server) as cable:
            cable.limit, cable.breaks = 100_000, 1000
            broken = target_of("dav", rclone_remote(tmp_path, cable, "webdav"))
            with pytest.raises(TargetError, match=r"b-1\.tar"):
                broken.read("b-1.tar", 0, len(DATA))
            with pytest.raises(TargetError, match=r"b-1\.tar"):
                broken.get("b-1.tar", tmp_path / "back")
            assert not (tmp_path / "back").exists()
        server.stop()
        right = target_of("dav", rclone_remote(tmp_path, server, "webdav"))
        for call in (
            lambda: right.put("b-2.tar", source),
            lambda: right.size("b-1.tar"),
            lambda: right.read("b-1.tar", 0, 1),
        ):
            with pytest.raises(TargetError, match="connection refused"):
                call()
        server.start()
        assert right.size("b-2.tar") is None
        right.put("b-2.tar", source)
        assert right.read("b-1.tar", 0, 2 * len(DATA)) == DATA
    assert source.read_bytes() == DATA


def test_a_part_of_an_upload_has_no_name_of_an_object(tmp_path: Path, source: Path) -> None:
    """A killed rclone leaves a part on a server that shows it while it is written."""
    with running(rclone_serve(tmp_path, "webdav")) as server:
        settings = rclone_remote(tmp_path, server, "webdav")
        program = settings["program"]
        script = tmp_path / "script"
        script.write_text(
            "#!/usr/bin/env bash\n"
            'case "$*" in *copyto*) ;; *) exec ' + program + ' "$@" ;; esac\n'
            'words=("$@"); n=${#words[@]}; head -c 1000 "${words[n-2]}" >"$0.part"\n'
            'words[n-2]="$0.part"; ' + program + ' "${words[@]}"; kill -KILL $PPID\n'
        )
        script.chmod(0o755)
        child = os.fork()
        if child == 0:
            target_of("dav", {**settings, "program": str(script)}).put("b-1.tar", source)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        tier = target_of("dav", settings)
        assert tier.size("b-1.tar") is None
        assert list(tier.keys()) == []
        left = [file for file in (tmp_path / "served").rglob("*") if file.is_file()]
        assert [file.stat().st_size for file in left] == [1000]
        tier.put("b-1.tar", source)
        assert tier.read("b-1.tar", 0, 2 * len(DATA)) == DATA
        tier.delete("b-1.tar")
        assert not [file for file in (tmp_path / "served").rglob("*") if file.is_file()]


def test_a_program_that_is_missing() -> None:
    with pytest.raises(TargetError, match="no-such-rclone is not installed"):
        target_of("dav", {"kind": "rclone", "remote": "x:", "program": "no-such-rclone"})
