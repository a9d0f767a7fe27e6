# SPDX-License-Identifier: BSD-3-Clause
"""Extended attributes of users (``user.*``) and access control lists of files and folders.

In a bundle they are the PAX records that GNU tar and star write: ``SCHILY.xattr.NAME`` with the
bytes of the value, and ``SCHILY.acl.access`` and ``SCHILY.acl.default`` with a text such as
``user::rw-,user:1000:r--,group::r--,mask::r--,other::r--``; users and groups are numbers. In the
index they are base64 of what Linux returns.
"""

import base64
import errno
import os
import struct
from collections.abc import Mapping

Attributes = dict[str, str]

#: Names that Linux gives to the two lists -> names of PAX records.
LISTS = {
    "system.posix_acl_access": "SCHILY.acl.access",
    "system.posix_acl_default": "SCHILY.acl.default",
}
_PREFIX = "SCHILY.xattr."
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.ENODATA, errno.ENOSYS)
# Linux' form of a list (linux/posix_acl_xattr.h): a version, then tag, permissions and number.
_VERSION, _HEAD, _ROW = 2, struct.Struct("<I"), struct.Struct("<HHI")
_TAGS = {1: "user", 2: "user", 4: "group", 8: "group", 0x10: "mask", 0x20: "other"}
_NUMBERED = (2, 8)
_BITS = (("r", 4), ("w", 2), ("x", 1))
_NOBODY = 0xFFFFFFFF


def _is_kept(name: str) -> bool:
    return name.startswith("user.") or name in LISTS


def read_attributes(of: int | str) -> Attributes:
    """Return the attributes of an open file, or of a path whose link is not followed."""
    more = {} if isinstance(of, int) else {"follow_symlinks": False}
    found: Attributes = {}
    try:
        for name in os.listxattr(of, **more):
            if _is_kept(name):
                found[name] = base64.b64encode(os.getxattr(of, name, **more)).decode()
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    return found


def set_attributes(descriptor: int, attributes: Attributes) -> list[str]:
    """Set the attributes of an open file or folder; returns what could not be set, and why."""
    problems = []
    for name, value in attributes.items():
        if not _is_kept(name):  # a bundle of somebody else may say so
            problems.append(f"{name} is refused")
            continue
        try:
            os.setxattr(descriptor, name, base64.b64decode(value))
        except OSError as error:
            problems.append(f"{name} cannot be set: {error.strerror}")
    return problems


def to_records(attributes: Attributes) -> dict[str, str]:
    """Return the records of a PAX header; bytes that are no UTF-8 are surrogates."""
    records = {}
    for name, value in attributes.items():
        raw = base64.b64decode(value)
        if name not in LISTS:
            records[_PREFIX + name] = raw.decode("utf-8", "surrogateescape")
        elif text := _list_text(raw):
            records[LISTS[name]] = text
    return records


def from_records(records: Mapping[str, str]) -> Attributes:
    """Return the attributes that the records of a PAX header describe; ValueError if wrong."""
    found: Attributes = {}
    for key, value in records.items():
        if key.startswith(_PREFIX + "user."):
            raw = value.encode("utf-8", "surrogateescape")
            found[key.removeprefix(_PREFIX)] = base64.b64encode(raw).decode()
    for name, key in LISTS.items():
        if key in records:
            found[name] = base64.b64encode(_list_bytes(records[key])).decode()
    return found


def _list_text(raw: bytes) -> str:
    """Return the text of a list; empty if it has another form."""
    if len(raw) < _HEAD.size or _HEAD.unpack_from(raw)[0] != _VERSION:
        return ""
    parts = []
    for tag, allowed, number in _ROW.iter_unpack(raw[_HEAD.size :]):
        who = str(number) if tag in _NUMBERED else ""
        bits = "".join(letter if allowed & bit else "-" for letter, bit in _BITS)
        parts.append(f"{_TAGS[tag]}:{who}:{bits}")
    return ",".join(parts)


def _list_bytes(text: str) -> bytes:
    """Return Linux' form of a list."""
    rows = [_HEAD.pack(_VERSION)]
    for part in text.replace("\n", ",").split(","):
        if not part.strip():
            continue
        kind, who, bits, *_ = part.strip().split(":")
        tags = [tag for tag, name in _TAGS.items() if name == kind]
        if not tags or (who and len(tags) < 2):
            raise ValueError(f"{part!r} is not an entry of an access control list")
        allowed = sum(bit for letter, bit in _BITS if letter in bits)
        rows.append(_ROW.pack(tags[1 if who else 0], allowed, int(who) if who else _NOBODY))
    return b"".join(rows)
