# SPDX-License-Identifier: BSD-3-Clause
"""Which symbols an ELF program has of its own."""

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")


def defines(program: Path, names: Iterable[str]) -> bool:
    """Tell whether a 64-bit ELF program defines one of these symbols, and is not stripped."""
    wanted = {name.encode() for name in names}
    try:
        data = program.read_bytes()
        return any(name in wanted for name in _defined(data))
    except (OSError, struct.error):
        return False


def _defined(data: bytes) -> Iterator[bytes]:
    if data[:5] != b"\x7fELF\x02" or data[5] != 1:
        return
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [SECTION.unpack_from(data, start + i * size) for i in range(count)]
    for section in sections:
        kind, offset, length, link = section[1], section[4], section[5], section[6]
        if kind not in SYMBOL_TABLES:
            continue
        texts = sections[link][4]
        for at in range(offset, offset + length, SYMBOL.size):
            name, _, _, where, _, _ = SYMBOL.unpack_from(data, at)
            if where != 0:  # of this program, not of a library
                yield data[texts + name : data.index(b"\0", texts + name)]
