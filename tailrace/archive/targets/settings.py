# SPDX-License-Identifier: BSD-3-Clause
"""Checks the settings of a target, and keeps secrets out of them and out of messages."""

import re
from collections.abc import Mapping
from typing import Any

from tailrace.archive.target import Target

SECRET_NAME = re.compile(
    r"secret|passw|passphrase|token|credential|access_?key|api_?key|user_?pass|\bpass\b", re.I
)
#: ``//user:password@host`` of an address, and ``password=...`` of a connection string or a message.
_IN_ADDRESS = re.compile(r"(//)[^/\s@]*:[^/\s]*@")
_ASSIGNED = re.compile(
    r"""((?:[\w-]*(?:secret|passw|passphrase|token|api_?key|access_?key)[\w-]*|\bpass)"?\s*[=:]\s*)"""
    r"""("[^"]*"|'[^']*'|[^\s,;&:]+)""",
    re.I,
)
_AUTHORIZATION = re.compile(r"(authorization[\"']?\s*[:=]\s*)[^\r\n]*", re.I)


def masked(text: str) -> str:
    """Return a message in which passwords, keys and tokens are replaced by ``***``."""
    text = _AUTHORIZATION.sub(r"\1***", _IN_ADDRESS.sub(r"\1***@", text))
    return _ASSIGNED.sub(r"\1***", text)


def checked(
    target: Target,
    settings: Mapping[str, Any],
    kinds: Mapping[str, type | tuple[type, ...]],
    required: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the settings, each of which must be known and of the type given, without secrets."""
    for key, value in settings.items():
        if SECRET_NAME.search(key) or masked(str(value)) != str(value):
            raise target.fail(
                "",
                f"{key}: secrets do not belong in the configuration (docs/archive.md says where)",
            )
        if key not in kinds:
            raise target.fail("", f"unknown setting {key}; known are {', '.join(sorted(kinds))}")
        if not isinstance(value, kinds[key]) or (
            isinstance(value, bool) and kinds[key] is not bool
        ):
            raise target.fail("", f"{key} = {value!r} has the wrong type")
    missing = ", ".join(key for key in required if not settings.get(key))
    if missing:
        raise target.fail("", f"{missing} is missing")
    return dict(settings)
