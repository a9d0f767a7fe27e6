# SPDX-License-Identifier: BSD-3-Clause
"""Files that the command writes: whole or not at all, and an error that says what to do."""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")


def require_writable(path: Path, option: str) -> None:
    """Complain about a file that cannot be written, before hours are spent on its content."""
    if path.is_dir():
        raise TailraceError(f"{path}: is a folder; name a file with {option}", status=2)
    if not path.parent.is_dir():
        raise TailraceError(f"{path}: no folder {path.parent} ({option} names the file)", status=2)
    if not os.access(path.parent, os.W_OK):
        raise TailraceError(f"{path}: cannot write there; name another place with {option}")


def require_place(path: Path, option: str) -> None:
    """Complain about a file whose folder can neither be written to nor made."""
    if path.is_dir():
        raise TailraceError(f"{option} {path}: is a folder; name a file", status=2)
    require_folder(path.parent, option)


def require_folder(folder: Path, option: str) -> None:
    """Make a folder, and complain if no file can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise TailraceError(
            f"{option}: no file can be made in {folder} ({error.strerror}); name another folder"
        ) from error


def require_picture(path: Path, option: str = "--picture") -> None:
    """Complain about the name of a picture, before its figures are measured."""
    if path.suffix not in PICTURES:
        raise TailraceError(
            f"{option} {path}: expected a name that ends in one of {', '.join(PICTURES)}", status=2
        )
    if path.is_dir():
        raise TailraceError(f"{option} {path}: is a folder; name a file", status=2)


def write_whole(path: Path, text: str) -> None:
    """Write a text file; it appears whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise TailraceError(f"{path}: {error.strerror}") from error


def save_figure(figure: Any, path: Path) -> None:
    """Save a matplotlib figure; its name, seen by `require_picture`, says the kind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise TailraceError(f"--picture {path}: {error.strerror}") from error
