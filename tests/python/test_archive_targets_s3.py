# SPDX-License-Identifier: BSD-3-Clause
"""The target S3: archive classes (moto's server), credentials and broken networks (SeaweedFS)."""

import http.server
import json
import random
import threading
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from archive_servers import (
    BUCKET,
    WORD,
    Cable,
    Server,
    credentials,
    make_bucket,
    moto,
    rclone_serve,
    running,
    seaweed,
)

from tailrace.archive.target import TargetError
from tailrace.archive.targets import s3 as s3_module
from tailrace.archive.targets import target_of
from tailrace.archive.targets.s3 import S3

DATA = random.Random(2).randbytes(11 << 20)


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(moto(tmp_path_factory.mktemp("moto"))) as server:
        make_bucket(server)
        yield server


@pytest.fixture(scope="module")
def weed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(seaweed(tmp_path_factory.mktemp("weed"))) as server:
        make_bucket(server)
        yield server


@pytest.fixture(autouse=True)
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in credentials().items():
        monkeypatch.setenv(name, value)


def target(url: str, prefix: str, **more: Any) -> S3:
    table = {"kind": "s3", "bucket": BUCKET, "endpoint_url": url, "prefix": prefix, "attempts": 1}
    made = target_of("cloud", {**table, "timeout_s": 20, **more})
    assert isinstance(made, S3)
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source").write_bytes(DATA)
    return tmp_path / "source"


def restores_take(server: Server, questions: int) -> None:
    """Let a restore last until its state was asked for so many times."""
    transition = {"progression": "manual", "times": questions}
    body = {"model_name": "s3::keyrestore", "transition": transition}
    url = f"{server.url}/moto-api/state-manager/set-transition"
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 201


@pytest.mark.parametrize("storage_class", ["GLACIER", "DEEP_ARCHIVE"])
@pytest.mark.parametrize("questions", [0, 3])
def test_archived_objects_are_restored_before_they_are_read(
    cold: Server, source: Path, tmp_path: Path, storage_class: str, questions: int
) -> None:
    tier = target(cold.url, f"{storage_class}{questions}", storage_class=storage_class)
    keys = ["b-1.tar", "b-2.tar"]
    for key in keys:
        tier.put(key, source)
    assert tier.client.head_object(Bucket=BUCKET, Key=tier.prefix + keys[0])["StorageClass"] == (
        storage_class
    )
    restores_take(cold, questions)
    assert tier.is_staged(keys) == dict.fromkeys(keys, False)
    for refused in (
        lambda: tier.read(keys[0], 0, 1),
        lambda: tier.get(keys[0], tmp_path / "back"),
    ):
        with pytest.raises(TargetError, match=r"b-1\.tar.*stage it first"):
            refused()
    assert not (tmp_path / "back").exists()
    tier.stage(keys)
    tier.stage(keys)  # What is under way, or done, is asked for again without harm.
    asked = 0
    while not all(tier.is_staged(keys).values()):
        asked += 1
        assert asked <= questions + 1
    tier.get(keys[0], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == DATA
    assert tier.read(keys[1], 5, 7) == DATA[5:12]
    # The class is the old one, so the class alone does not say that an object can be read.
    assert tier.client.head_object(Bucket=BUCKET, Key=tier.prefix + keys[0])["StorageClass"] == (
        storage_class
    )


def test_a_restored_copy_that_soon_expires_is_asked_for_again(
    cold: Server, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = target(cold.url, "expiry", storage_class="GLACIER", restore_days=2)
    restores_take(cold, 0)
    tier.put("b-1.tar", source)
    tier.stage(["b-1.tar"])
    while not tier.is_staged(["b-1.tar"])["b-1.tar"]:
        pass
    monkeypatch.setattr(s3_module, "EXPIRES_SOON", timedelta(days=3))
    assert tier.is_staged(["b-1.tar"]) == {"b-1.tar": False}
    tier.restore_days = 5
    tier.stage(["b-1.tar"])
    assert tier.is_staged(["b-1.tar"]) == {"b-1.tar": True}


def test_classes_that_are_read_at_once(cold: Server, source: Path) -> None:
    tier = target(cold.url, "warm", storage_class="GLACIER_IR")
    tier.put("b-1.tar", source)
    assert tier.is_staged(["b-1.tar"]) == {"b-1.tar": True}
    with pytest.raises(TargetError, match=r"(?i)storage ?class"):
        target(cold.url, "warm", storage_class="TEPID").put("b-2.tar", source)


def test_uploads_are_split_and_interrupted_ones_removed(weed: Server, source: Path) -> None:
    tier = target(weed.url, "parts", part_bytes=5 << 20)
    tier.put("b-1.tar", source)
    assert tier.client.head_object(Bucket=BUCKET, Key="parts/b-1.tar")["ETag"].endswith('-3"')
    assert tier.read("b-1.tar", 0, len(DATA)) == DATA
    for name in ("parts/b-2.tar", "parts/b-2.tar.other"):
        begun = tier.client.create_multipart_upload(Bucket=BUCKET, Key=name)
        tier.client.upload_part(
            Bucket=BUCKET, Key=name, UploadId=begun["UploadId"], PartNumber=1, Body=DATA[: 5 << 20]
        )
    assert tier.size("b-2.tar") is None
    tier.delete("b-2.tar")
    left = tier.client.list_multipart_uploads(Bucket=BUCKET, Prefix="parts/")["Uploads"]
    assert [upload["Key"] for upload in left] == ["parts/b-2.tar.other"]


def test_names_that_begin_alike_are_left_alone(weed: Server, source: Path) -> None:
    one, ten = target(weed.url, "run1"), target(weed.url, "run10")
    one.put("b-1.tar", source)
    ten.put("b-1.tar", source)
    one.client.put_object(Bucket=BUCKET, Key="run1.json", Body=b"{}")
    one.client.put_object(Bucket=BUCKET, Key="run1/other/b-1.tar", Body=b"x")
    assert list(one.keys()) == ["b-1.tar"]
    one.delete("b-1.tar")
    assert ten.size("b-1.tar") == len(DATA)
    names = {row["Key"] for row in one.client.list_objects_v2(Bucket=BUCKET)["Contents"]}
    assert {"run1.json", "run1/other/b-1.tar"} <= names


def test_an_object_replaced_between_two_reads_is_an_error(weed: Server, source: Path) -> None:
    tier = target(weed.url, "swap")
    tier.put("b-1.tar", source)
    assert tier.read("b-1.tar", 0, 10) == DATA[:10]
    tier.client.put_object(Bucket=BUCKET, Key="swap/b-1.tar", Body=DATA[::-1])
    with pytest.raises(TargetError, match="replaced"):
        tier.read("b-1.tar", 10, 10)


def test_wrong_credentials(weed: Server, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target(weed.url, "login").put("b-1.tar", source)
    wrong = "wrong" + WORD
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", wrong)
    tier = target(weed.url, "login")
    for call in (
        lambda: tier.put("b-2.tar", source),
        lambda: tier.size("b-1.tar"),
        lambda: list(tier.keys()),
        lambda: tier.read("b-1.tar", 0, 1),
        lambda: tier.is_staged(["b-1.tar"]),
        lambda: tier.delete("b-1.tar"),
    ):
        with pytest.raises(TargetError, match="refused the credentials") as caught:
            call()
        assert wrong not in str(caught.value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(TargetError, match="no credentials found"):
        target(weed.url, "login").size("b-1.tar")
    assert source.read_bytes() == DATA


def test_a_bucket_that_is_missing_is_not_an_absent_object(cold: Server, source: Path) -> None:
    tier = target(cold.url, "", bucket="no-such-bucket")
    for call in (
        lambda: tier.size("b-1.tar"),
        lambda: list(tier.keys()),
        lambda: tier.put("b-1.tar", source),
    ):
        with pytest.raises(TargetError, match="bucket"):
            call()


def test_a_server_that_stops_and_starts_again(source: Path, tmp_path: Path) -> None:
    with running(rclone_serve(tmp_path, "s3")) as server:
        tier = target(server.url, "stops")
        tier.put("b-1.tar", source)
        server.stop()
        for call in (
            lambda: tier.put("b-2.tar", source),
            lambda: tier.size("b-1.tar"),
            lambda: tier.read("b-1.tar", 0, 1),
        ):
            with pytest.raises(TargetError, match="does not answer"):
                call()
        server.start()
        # The same object of the program continues.
        assert tier.size("b-2.tar") is None
        tier.put("b-2.tar", source)
        assert tier.read("b-2.tar", 0, 100) == DATA[:100]
        assert tier.read("b-1.tar", 0, len(DATA)) == DATA


def test_a_cable_that_breaks(weed: Server, source: Path, tmp_path: Path) -> None:
    with Cable(weed) as cable:
        tier = target(cable.url, "cable")
        tier.put("b-1.tar", source)
        cable.limit, cable.breaks = 3 << 20, 2
        assert tier.read("b-1.tar", 1, len(DATA)) == DATA[1:]
        assert cable.breaks == 0
        cable.limit, cable.breaks = 100, 1000
        with pytest.raises(TargetError, match=r"b-1\.tar"):
            tier.read("b-1.tar", 0, len(DATA))
        with pytest.raises(TargetError, match=r"b-1\.tar"):
            tier.get("b-1.tar", tmp_path / "back")
        assert not (tmp_path / "back").exists()


class _Full(http.server.BaseHTTPRequestHandler):
    """Answers as a service that has no space left."""

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(507)
        self.end_headers()
        self.wfile.write(b"<Error><Code>InsufficientStorage</Code><Message>x</Message></Error>")

    def log_message(self, *_words: object) -> None:
        """Print nothing."""


def test_a_service_that_is_full(source: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Full) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tier = target(f"http://127.0.0.1:{server.server_port}", "full")
        with pytest.raises(TargetError, match="no space left"):
            tier.put("b-1.tar", source)
        server.shutdown()
    assert source.read_bytes() == DATA
