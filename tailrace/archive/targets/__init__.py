# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of targets: one file each, listed in one table and loaded when asked for."""

import importlib
from typing import Any

from tailrace.archive.target import Target, TargetError

#: kind -> "module:class" in this package. The class is made from the target's name and the settings
#: of its table ``[targets.NAME]`` without those of `SHARED`.
KINDS = {
    "command": "command:Command",
    "directory": "directory:Directory",
    "hsm": "hsm:Hsm",
    "rclone": "rclone:Rclone",
    "s3": "s3:S3",
}

#: Settings that every kind has; the archive reads them (tailrace/archive/config.py).
SHARED = ("kind", "bundle", "capacity", "compress")


def target_of(name: str, settings: dict[str, Any]) -> Target:
    """Return the target that a table ``[targets.NAME]`` of the configuration describes."""
    kind = settings.get("kind")
    if kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise TargetError(name, "", f"kind {kind!r} is unknown; the kinds are {known}")
    module, _, made = KINDS[kind].partition(":")
    try:
        loaded = importlib.import_module(f"tailrace.archive.targets.{module}")
    except ModuleNotFoundError as error:
        hint = f"needs the Python module {error.name}: pip install 'tailrace[archive]'"
        raise TargetError(name, "", hint) from error
    own = {key: value for key, value in settings.items() if key not in SHARED}
    target: Target = getattr(loaded, made)(name, own)
    return target
