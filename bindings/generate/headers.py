# SPDX-License-Identifier: BSD-3-Clause
"""What the C headers of the library declare: the one description of its C interface.

The headers keep to a small part of C: a declaration begins its line, an opaque handle is
``typedef struct tailrace_x tailrace_x;``, a member of a struct has a line that ends with ``;``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FUNCTION = re.compile(r"^(?!typedef|static)(\w[\w ]*?[ *]+)(tailrace_\w+)\(([^;]*?)\);", re.M)
STRUCT = re.compile(r"^typedef struct (tailrace_\w+) \{\n(.*?)^\} \1;", re.M | re.S)
OPAQUE = re.compile(r"^typedef struct (tailrace_\w+) \1;", re.M)


@dataclass(frozen=True)
class Argument:
    """An argument of a function, or a member of a struct."""

    type: str  # "const char*", "int", "tailrace_comm**"; "a_function" of an address of one
    name: str
    array: str = ""  # the bound of `extents[3]`


@dataclass(frozen=True)
class Function:
    """A function of a header."""

    name: str
    result: str
    arguments: tuple[Argument, ...]
    header: str  # "comm" of tailrace/c/comm.h
    declaration: str

    @property
    def short_name(self) -> str:
        return self.name.removeprefix("tailrace_")


def argument(text: str) -> Argument:
    """Read `const char* name`, `int64_t extents[3]` or `int (*run)(void* user)`."""
    if function := re.search(r"\(\*(\w+)\)", text):
        return Argument("a_function", function[1])
    found = re.fullmatch(r"\s*(.*?[\s*])(\w+)(?:\[(\w+)\])?\s*", text, re.DOTALL)
    if not found:
        raise SystemExit(f"headers.py: not understood: {text}; write TYPE name or TYPE name[N]")
    return Argument(" ".join(found[1].split()), found[2], found[3] or "")


def members_of(body: str) -> list[Argument]:
    """Read the members of a struct."""
    members: list[Argument] = []
    for line in body.split(";")[:-1]:
        first, *others = line.split(",") if "(" not in line else [line]
        members.append(argument(first))
        members += [argument(f"{members[-1].type} {other}") for other in others]
    return members


class Headers:
    """What the headers of a folder declare."""

    def __init__(self, *paths: Path) -> None:
        self.kinds: set[str] = set()  # of handles: "comm" of `tailrace_comm`
        self.functions: dict[str, Function] = {}
        self.structs: dict[str, list[Argument]] = {}
        self.constants: dict[str, str] = {}
        for path in paths:
            self._read(path.stem, path.read_text())

    def _read(self, header: str, text: str) -> None:
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        plain = re.sub(r"^ *#(?:.*\\\n)*.*$", "", code, flags=re.M)
        self.kinds |= {name.removeprefix("tailrace_") for name in OPAQUE.findall(plain)}
        self.structs |= {name: members_of(body) for name, body in STRUCT.findall(plain)}
        self.constants |= re.findall(r"^# *define (TAILRACE_\w+) (\d+)$", code, re.M)
        for body in re.findall(r"^enum \w+ \{(.*?)\};", plain, re.M | re.S):
            self.constants |= re.findall(r"(TAILRACE_\w+) = (\d+)", body)
        for found in FUNCTION.finditer(plain):
            given = [] if found[3].strip() == "void" else found[3].split(",")
            self.functions[found[2]] = Function(
                found[2],
                found[1].strip(),
                tuple(argument(one) for one in given),
                header,
                found[0].rstrip(";"),
            )

    def kind(self, type_: str) -> str | None:
        """Return the kind of the handle that a type is, or None."""
        found = re.fullmatch(r"(?:const )?tailrace_(\w+)\*", type_)
        return found[1] if found and found[1] in self.kinds else None

    def kind_made(self, type_: str) -> str | None:
        """Return the kind of the handle that goes to an address of this type, or None."""
        found = re.fullmatch(r"tailrace_(\w+)\*\*", type_)
        return found[1] if found else None

    def struct(self, type_: str) -> str | None:
        """Return the struct that a type is, or is the address of, or None."""
        name = type_.removeprefix("const ").rstrip("*")
        return name if name in self.structs else None


def write(path: Path, text: str) -> None:
    """Write a file, if that changes it: what was made from it is then not made again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
