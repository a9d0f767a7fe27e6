# SPDX-License-Identifier: BSD-3-Clause
"""What an ELF file says of its functions: symbols, and where functions begin where it has none."""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SYMTAB, DYNSYM = 2, 11  # SHT_SYMTAB, SHT_DYNSYM
NOTYPE, FUNC, GNU_IFUNC = 0, 2, 10  # STT_*
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = np.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("value", "<u8"),
        ("size", "<u8"),
    ]
)
TABLE_OF_FRAMES = b"\x01\x1b\x03\x3b"  # version, and encodings: offsets of 4 bytes, sorted
DEBUG_FOLDER = Path("/usr/lib/debug/.build-id")


def defines(program: Path, names: Iterable[str]) -> bool:
    """Tell whether a 64-bit ELF program defines one of these symbols, and is not stripped."""
    wanted = {name.encode() for name in names}
    try:
        file = ElfFile(program.read_bytes())
    except (OSError, ValueError):
        return False
    for symbols, texts in file.symbol_tables():
        here = symbols[symbols["value"] != 0]  # of this program, not of a library
        if any(file.text(texts + int(name)) in wanted for name in here["name"]):
            return True
    return False


class ElfFile:
    """A 64-bit ELF file of this byte order in memory; ValueError: it is none."""

    def __init__(self, data: bytes) -> None:
        """Read the sections."""
        if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
            raise ValueError("is not a 64-bit ELF file")
        self.data = data
        (start,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        try:
            self._sections = [SECTION.unpack_from(data, start + i * size) for i in range(count)]
            texts = self._sections[names][4] if names < count else 0
            self._names = [self.text(texts + section[0]) for section in self._sections]
        except (struct.error, ValueError) as error:
            raise ValueError("its section table is truncated") from error

    def text(self, at: int) -> bytes:
        """Return the text that begins at a place of the file."""
        return self.data[at : self.data.index(b"\0", at)]

    def section(self, name: bytes) -> tuple[int, bytes] | None:
        """Return the address and the content of a section; None: there is none."""
        for found, section in zip(self._names, self._sections, strict=True):
            if found == name:
                return section[3], self.data[section[4] : section[4] + section[5]]
        return None

    def end_of_section(self, number: int) -> int:
        """Return the address after a section; 0: there is none of this number."""
        if number >= len(self._sections):
            return 0
        return int(self._sections[number][3] + self._sections[number][5])

    def symbol_tables(self) -> list[tuple[NDArray[Any], int]]:
        """Return the tables of symbols with the place of their names, the fullest first."""
        tables = []
        for kind in (SYMTAB, DYNSYM):
            for section in self._sections:
                if section[1] == kind and section[4] + section[5] <= len(self.data):
                    count = section[5] // SYMBOL.itemsize
                    symbols = np.frombuffer(self.data, SYMBOL, count, section[4])
                    tables.append((symbols, self._sections[section[6]][4]))
        return tables


class Functions:
    """The functions of a program or library, by address."""

    def __init__(self, path: Path) -> None:
        """Read the tables; a file that cannot be read has no functions."""
        self._file: ElfFile | None = None
        self._symbols = np.zeros(0, SYMBOL)
        self._texts = 0
        self._starts = np.zeros(0, np.uint64)
        self.has_lines = False
        try:
            self._file = ElfFile(path.read_bytes())
        except (OSError, ValueError):
            return
        for symbols, texts in self._file.symbol_tables()[:1]:
            kinds = np.isin(symbols["info"] & 15, (FUNC, GNU_IFUNC))
            # The assembler's functions may lack a type, as _start does.
            kinds |= ((symbols["info"] & 15) == NOTYPE) & (symbols["info"] >> 4 > 0)
            kept = symbols[kinds & (symbols["section"] != 0) & (symbols["value"] != 0)]
            self._symbols = kept[np.argsort(kept["value"], kind="stable")]
            self._texts = texts
        self._starts = self._starts_of_frames()
        self.has_lines = self._file.section(b".debug_line") is not None
        link = self._file.section(b".gnu_debuglink")
        if link and not self.has_lines:
            name = link[1].split(b"\0")[0].decode(errors="replace")
            folders = (path.parent, path.parent / ".debug", Path(f"/usr/lib/debug{path.parent}"))
            self.has_lines = any((folder / name).is_file() for folder in folders)
        note = self._file.section(b".note.gnu.build-id")
        if note and not self.has_lines:
            build_id = note[1][16:].hex()
            self.has_lines = (DEBUG_FOLDER / build_id[:2] / f"{build_id[2:]}.debug").is_file()

    def _starts_of_frames(self) -> NDArray[Any]:
        """Return where the functions with unwinding information begin: all but assembler's."""
        found = self._file.section(b".eh_frame_hdr") if self._file else None
        if not found or found[1][:4] != TABLE_OF_FRAMES:
            return np.zeros(0, np.uint64)
        address, content = found
        (count,) = struct.unpack_from("<I", content, 8)
        table = np.frombuffer(content, "<i4", min(2 * count, (len(content) - 12) // 4), 12)
        return np.sort(address + table[0::2].astype(np.int64)).astype(np.uint64)

    @property
    def has_names(self) -> bool:
        """Tell whether the file has symbols of functions."""
        return len(self._symbols) > 0

    def name_at(self, offset: int) -> str:
        """Return the symbol of the function that an address lies in; "" if there is none.

        A function without a size extends to the next one in its section.
        """
        values = self._symbols["value"]
        last = int(np.searchsorted(values, offset, "right"))
        # Aliases are few, nesting is rare.
        for at in range(last - 1, max(-1, last - 9), -1):
            symbol = self._symbols[at]
            end = int(symbol["value"]) + int(symbol["size"])
            if symbol["size"] == 0 and symbol["value"] == values[last - 1]:
                end = self._file.end_of_section(int(symbol["section"])) if self._file else 0
            if offset < end:
                return self._best_name(int(symbol["value"]))
        return ""

    def _best_name(self, value: int) -> str:
        """Return the name to show of those of one address: global, with few underscores."""
        assert self._file is not None
        first, last = np.searchsorted(self._symbols["value"], [value, value + 1])
        named = [
            (symbol["info"] >> 4 != 1, self._file.text(self._texts + int(symbol["name"])))
            for symbol in self._symbols[first:last]
        ]
        _, name = min(named, key=lambda one: (one[0], one[1].startswith(b"_"), one[1]))
        return name.decode(errors="replace")

    def start_at(self, offset: int) -> int | None:
        """Return where the function of an address begins, without its name; None: unknown."""
        last = int(np.searchsorted(self._starts, offset, "right"))
        return int(self._starts[last - 1]) if last > 0 else None
