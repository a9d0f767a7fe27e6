# SPDX-License-Identifier: BSD-3-Clause
"""Where the compiled programs and the shipped cases are."""

import difflib
import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.families import program_folder

PACKAGE = Path(__file__).resolve().parent
SOURCE_ROOT = PACKAGE.parent
BUILD_NAMES = ("release", "ci", "debug", "asan")


def find_program(name: str) -> Path:
    """Return the path of the compiled program `name`, for example ``tailrace-turbulence``.

    Looks in the folder ``TAILRACE_BIN_DIR`` (a folder of programs, or a build folder), then in the
    installed package, then in the builds of the source tree, newest first, then on PATH.
    """
    chosen = os.environ.get("TAILRACE_BIN_DIR")
    if chosen:
        found = _in_build(Path(chosen), name)
        if found:
            return found[0]
        raise TailraceError(f"TAILRACE_BIN_DIR={chosen} holds no {name}; run `make build`")
    folders = (PACKAGE / "bin", program_folder())
    installed = [path for folder in folders if folder for path in _in_build(folder, name)]
    if installed:
        return installed[0]
    builds = [p for b in BUILD_NAMES for p in _in_build(SOURCE_ROOT / "build" / b, name)]
    if builds:
        return max(builds, key=lambda path: path.stat().st_mtime)
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    raise TailraceError(
        f"{name} was not found; run `make build`, or set TAILRACE_BIN_DIR to its folder"
    )


def run_price(words: list[str], text: str) -> dict[str, Any]:
    """Return what ``tailrace-price`` says, given `text`; raise `TailraceError` if it refuses."""
    command = [str(find_program("tailrace-price")), *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TailraceError(done.stderr.strip().removeprefix("tailrace-price: "), status=2)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _in_build(folder: Path, name: str) -> list[Path]:
    places = [folder / name, *sorted(folder.glob(f"apps/*/{name}"))]
    return [path for path in places if path.is_file() and os.access(path, os.X_OK)]


def _shipped() -> dict[str, Path]:
    """Return the cases that come with Tailrace, by APP/NAME: in the package or the source tree."""
    paths = [*PACKAGE.glob("cases/*/*.toml"), *SOURCE_ROOT.glob("apps/*/cases/*.toml")]
    named = {}
    for path in sorted(paths):
        folder = path.parent.parent if path.parent.name == "cases" else path.parent
        if folder.name != "chemistry":  # what cases of groundwater refer to
            named[f"{folder.name}/{path.stem}"] = path
    return named


def shipped_cases() -> dict[str, Path]:
    """Return the cases that come with Tailrace, by name."""
    return {path.stem: path for path in _shipped().values()}


def find_case_program(case: Path) -> Path:
    """Return the program that runs the case file `case`, as its ``case.application`` says."""
    application = "turbulence"
    try:
        about = tomllib.loads(case.read_text()).get("case", {})
        application = str(about.get("application", application))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError):
        pass  # the program itself says what is wrong with the file
    known = sorted(path.parent.name for path in SOURCE_ROOT.glob("apps/*/case_keys.cpp"))
    if known and application not in known:
        raise TailraceError(
            f"case {case}: case.application = {application!r}; the applications are "
            + ", ".join(known),
            status=2,
        )
    return find_program(f"tailrace-{application}")


def find_case(case: str) -> Path:
    """Return the case file that `case` names: a path, or a shipped case, as NAME or APP/NAME."""
    path = Path(case)
    if path.is_file():
        return path
    if path.is_dir():
        raise TailraceError(f"case {case} is a folder; name a case file (.toml)", status=2)
    cases = shipped_cases()
    if case in cases:
        return cases[case]
    if case in (within := _shipped()):
        return within[case]
    near = difflib.get_close_matches(path.stem, cases, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    known = ", ".join(cases) or "none"
    raise TailraceError(
        f"case {case}: neither a file nor a shipped case{hint} (shipped: {known})", status=2
    )
