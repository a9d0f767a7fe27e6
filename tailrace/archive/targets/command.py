# SPDX-License-Identifier: BSD-3-Clause
"""A centre's own commands (hsi, dmget, scripts), given as templates in the configuration.

A template is split into words once, like a shell does, and no shell ever sees it. In the words,
``{key}`` is the object's name, ``{file}`` a local file, ``{offset}`` and ``{length}`` a range in
bytes. A word with ``{keys}`` stands for one such word per object, and ``{keyfile}`` for a file that
lists them. Braces are doubled to be taken as they are. A word with blanks is text that the tool
splits itself (``hsi "put {file} : {key}"``); only plain characters are put into it.

Neither the exit status nor the text of ``put`` is trusted alone: the stored size is asked for, and
the archive then compares every byte.
"""

import contextlib
import re
import shlex
import string
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tailrace.archive.target import KEY, Target
from tailrace.archive.targets import program
from tailrace.archive.targets.settings import checked, masked

#: template -> the names that it may contain.
TEMPLATES = {
    "put": ("file", "key"),
    "get": ("key", "file"),
    "list": (),
    "delete": ("key",),
    "size": ("key",),
    "rename": ("from", "key"),
    "read": ("key", "offset", "length", "file"),
    "stage": ("keys", "keyfile"),
    "staged": ("key", "keys", "keyfile"),
    "free": (),
}
#: template -> the names that it must contain.
NEEDED = {
    "put": {"file", "key"},
    "get": {"file", "key"},
    "delete": {"key"},
    "size": {"key"},
    "rename": {"from", "key"},
    "read": {"key", "offset", "length"},
}
REQUIRED = ("put", "get", "list", "delete")
SETTINGS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(TEMPLATES, str),
    "list_pattern": str,
    "size_pattern": str,
    "free_pattern": str,
    "staged_pattern": str,
    "timeout_s": (int, float),
}
PLAIN = re.compile(r"[A-Za-z0-9_./+,:@=-]+")


@dataclass
class _Recall:
    """A recall that runs while the archive does other things."""

    keys: frozenset[str]
    process: subprocess.Popen[bytes]
    said: IO[bytes]


class Command(Target):
    """The settings are those of `SETTINGS`; the templates of `REQUIRED` are required."""

    kind = "command"

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        super().__init__(name)
        given = checked(self, settings, SETTINGS, REQUIRED)
        self.timeout_s: float = given.get("timeout_s", 86_400)
        self.templates = {
            name: self._split(name, given[name]) for name in TEMPLATES if name in given
        }
        self.list_pattern = self._pattern("list_pattern", given, r"(?P<key>\S+)$")
        self.size_pattern = self._pattern("size_pattern", given, r"^\s*(?P<size>\d+)\s*$")
        self.free_pattern = self._pattern("free_pattern", given, r"^\s*(?P<size>\d+)\s*$")
        self.staged_pattern = self._pattern("staged_pattern", given, r"(?P<key>\S+)")
        if "size" not in given and "size" not in self.list_pattern.groupindex:
            raise self.fail("", "size, or a list_pattern with (?P<size>...), is missing")
        self._recalls: list[_Recall] = []
        self._recalled: set[str] = set()
        self._reading = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def _split(self, name: str, template: str) -> list[str]:
        try:
            words = shlex.split(template)
            used = {field for word in words for field in _fields(word)}
        except ValueError as error:
            raise self.fail("", f"{name} = {template!r}: {error}") from error
        if unknown := ", ".join(f"{{{field}}}" for field in sorted(used - set(TEMPLATES[name]))):
            known = ", ".join(f"{{{field}}}" for field in TEMPLATES[name]) or "none"
            raise self.fail(
                "", f"{name} contains an unknown name {unknown}; it may contain: {known}"
            )
        missing = NEEDED.get(name, set()) - used
        if not words or missing or (name in ("stage", "staged") and not used):
            needed = missing or set(TEMPLATES[name])
            names = ", ".join(f"{{{field}}}" for field in TEMPLATES[name] if field in needed)
            raise self.fail("", f"{name} = {template!r} lacks {names or 'a program'}")
        return words

    def _pattern(self, name: str, given: dict[str, Any], usual: str) -> re.Pattern[str]:
        try:
            pattern = re.compile(given.get(name, usual), re.M)
        except re.error as error:
            raise self.fail("", f"{name}: {error}") from error
        group = "key" if name in ("list_pattern", "staged_pattern") else "size"
        if group not in pattern.groupindex:
            raise self.fail("", f"{name} must contain a group (?P<{group}>...)")
        return pattern

    def put(self, key: str, source: Path) -> None:
        name = self._name(key)
        written = f"{name}.partial" if "rename" in self.templates else name
        try:
            self._run(key, "put", file=str(source.absolute()), key=written)
            size = source.stat().st_size
            if (stored := self._size(key, written)) != size:
                raise self.fail(key, f"{stored} of {size} bytes are stored, although put succeeded")
            if written != name:
                self._run(key, "rename", key=name, **{"from": written})
        except BaseException:
            # What can be removed now need not be found later; the first error is the one to raise.
            with contextlib.suppress(Exception):
                self._run(key, "delete", key=written)
            raise

    def get(self, key: str, to: Path) -> None:
        self._run(key, "get", key=self._name(key), file=str(to.absolute()))
        if not to.is_file():
            raise self.fail(key, "get succeeded, but it created no file")

    def read(self, key: str, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        if "read" not in self.templates:
            with self._reading, self._whole(key).open("rb") as whole:
                whole.seek(offset)
                return whole.read(length)
        with tempfile.TemporaryDirectory(prefix="tailrace-") as folder:
            file = Path(folder) / "range"
            values = {"offset": str(offset), "length": str(length), "file": str(file)}
            read = self._run(key, "read", key=self._name(key), **values)
            if file.exists():
                read = file.read_bytes()
        if len(read) > length:
            raise self.fail(key, f"read gave {len(read)} bytes instead of {length}")
        return read

    def _whole(self, key: str) -> Path:
        """Return a local copy of the object read last; without `read` there are no ranges."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tailrace-")
        folder = Path(self._folder.name)
        file = folder / self._name(key)
        if not file.exists():
            for other in folder.iterdir():
                other.unlink()
            try:
                self.get(key, file)
            except BaseException:
                file.unlink(missing_ok=True)
                raise
        return file

    def size(self, key: str) -> int | None:
        return self._size(key, self._name(key))

    def _size(self, key: str, name: str) -> int | None:
        """Ask for a size; where that fails, the list says whether the object is absent."""
        if "size" not in self.templates:
            return self._listed().get(name)
        outcome = self._outcome(key, "size", key=name)
        if outcome.status != 0:
            if name in self._listed():
                raise self.fail(key, outcome.message)
            return None
        match = self.size_pattern.search(outcome.output.decode(errors="replace"))
        if match is None:
            if not outcome.output.strip():
                return None
            raise self.fail(key, f"no size in what size printed: {_shown(outcome.output)}")
        return int(match["size"])

    def keys(self) -> Iterator[str]:
        yield from (key for key in self._listed() if not key.endswith(".partial"))

    def _listed(self) -> dict[str, int]:
        """Return key -> size; -1 where the list shows none."""
        listed = self._run("", "list").decode(errors="replace")
        sizes = "size" in self.list_pattern.groupindex
        return {
            match["key"]: int(match["size"]) if sizes else -1
            for match in self.list_pattern.finditer(listed)
            if KEY.fullmatch(match["key"])
        }

    def delete(self, key: str) -> None:
        outcome = self._outcome(key, "delete", key=self._name(key))
        if outcome.status != 0 and key in self._listed():
            raise self.fail(key, outcome.message)
        self._recalled.discard(key)

    def free_bytes(self) -> int | None:
        if "free" not in self.templates:
            return None
        printed = self._run("", "free")
        match = self.free_pattern.search(printed.decode(errors="replace"))
        if match is None:
            raise self.fail("", f"no number in what free printed: {_shown(printed)}")
        return int(match["size"])

    def is_staged(self, keys: Iterable[str]) -> dict[str, bool]:
        wanted = [self._name(key) for key in keys]
        running = self._running()
        if "staged" in self.templates:
            return self._asked(wanted)
        if "stage" not in self.templates:
            return dict.fromkeys(wanted, True)
        return {key: key in self._recalled and key not in running for key in wanted}

    def _asked(self, keys: list[str]) -> dict[str, bool]:
        """Ask the tool: one call per key ends with 0 or 1; one call for all prints those staged."""
        template = self.templates["staged"]
        if any("{keys}" in word or "{keyfile}" in word for word in template):
            printed = self._printed_staged(keys)
            found = self.staged_pattern.finditer(printed.decode(errors="replace"))
            names = {match["key"] for match in found}
            return {key: key in names for key in keys}
        staged = {}
        for key in keys:
            outcome = self._outcome(key, "staged", key=key)
            if outcome.status not in (0, 1) and key in self._listed():
                raise self.fail(key, outcome.message)
            staged[key] = outcome.status == 0
        return staged

    def _printed_staged(self, keys: list[str]) -> bytes:
        """Ask for all at once; a tool that fails may do so for one that is absent."""
        if not keys:
            return b""
        outcome = self._outcome("", "staged", keys=keys)
        if outcome.status == 0:
            return outcome.output
        listed = self._listed()
        present = [key for key in keys if key in listed]
        if len(present) == len(keys):
            raise self.fail("", outcome.message)
        return self._run("", "staged", keys=present) if present else b""

    def stage(self, keys: Iterable[str]) -> None:
        """Start one recall of all objects, in the order given; the tool may block until its end."""
        if "stage" not in self.templates:
            return
        busy = self._running()
        wanted = [key for key, ok in self.is_staged(keys).items() if not ok and key not in busy]
        listed = self._listed() if wanted else {}
        wanted = [key for key in wanted if key in listed]
        if not wanted:
            return
        said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the recall has ended
        with self._listing(wanted) as listing:
            words = self._words("", "stage", keys=wanted, keyfile=_path(listing))
            try:
                # A separate session: the recall continues when this program ends.
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    pass_fds=(listing.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                said.close()
                raise self.fail("", f"{words[0]} cannot be run: {error.strerror}") from error
        self._recalls.append(_Recall(frozenset(wanted), process, said))

    def _running(self) -> set[str]:
        """Return the keys of recalls that still run; raise for one that failed."""
        going = []
        for recall in self._recalls:
            status = recall.process.poll()
            if status is None:
                going.append(recall)
                continue
            recall.said.seek(0)
            message = program.explained(self.templates["stage"][0], status, recall.said.read())
            recall.said.close()
            if status != 0:
                self._recalls.remove(recall)
                raise self.fail("", f"the recall failed: {message}")
            self._recalled |= recall.keys
        self._recalls = going
        return {key for recall in going for key in recall.keys}

    def _name(self, key: str) -> str:
        if not KEY.fullmatch(key):
            raise self.fail(key, "is no valid key")
        return key

    def _run(self, about: str, template: str, /, **values: Any) -> bytes:
        outcome = self._outcome(about, template, **values)
        if outcome.status != 0:
            raise self.fail(about, outcome.message)
        return outcome.output

    def _outcome(self, about: str, template: str, /, **values: Any) -> program.Outcome:
        with self._listing(values.get("keys", ())) as listing:
            words = self._words(about, template, keyfile=_path(listing), **values)
            return program.run(
                self, about, words, timeout_s=self.timeout_s, pass_fds=(listing.fileno(),)
            )

    def _words(self, about: str, template: str, /, **values: Any) -> list[str]:
        """Return the words of a command; a value never becomes more than one word."""
        keys = values.pop("keys", ())
        words = []
        for word in self.templates[template]:
            parts = re.split(r"(\s+)", word)
            if len(parts) > 1:
                self._require_plain(about, word, values)
                words.append("".join(" ".join(_filled(part, keys, values)) for part in parts))
            else:
                words += _filled(word, keys, values)
        return words

    def _require_plain(self, about: str, word: str, values: dict[str, str]) -> None:
        for field in sorted(_fields(word) & set(values)):
            if not PLAIN.fullmatch(values[field]):
                reason = "a word with blanks takes plain names only, and the tool would split"
                raise self.fail(about, f"{word!r}: {reason} {values[field]!r}")

    @contextlib.contextmanager
    def _listing(self, keys: Iterable[str]) -> Iterator[IO[str]]:
        """Open a file that lists keys; it lasts as long as a program has it open."""
        with tempfile.TemporaryFile("w") as listing:
            listing.writelines(f"{key}\n" for key in keys)
            listing.flush()
            yield listing


def _fields(word: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(word) if field is not None}


def _filled(word: str, keys: Iterable[str], values: dict[str, str]) -> list[str]:
    """Return the word with its values, once for each key where it names the keys."""
    if "keys" in _fields(word):
        return [word.format(keys=key, **values) for key in keys]
    return [word.format(**values)]


def _path(file: IO[str]) -> str:
    return f"/dev/fd/{file.fileno()}"


def _shown(printed: bytes) -> str:
    return repr(masked(printed[:200].decode(errors="replace")))
