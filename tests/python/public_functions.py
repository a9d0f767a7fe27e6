# SPDX-License-Identifier: BSD-3-Clause
"""Names of the public functions of C++ headers, C headers and Fortran modules, read from text.

The readers know the subset that this project writes: no macros around declarations, no
trailing return types, no function-try-blocks.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "generate"))
from headers import Headers

ACCESS = re.compile(r"^\s*(public|private|protected)\s*$")
SCOPE = re.compile(r"^\s*(?:inline\s+)?(namespace|class|struct|union)\s+([\w:]+)(?:\s+final)?")
NO_FUNCTION = re.compile(r"^\s*(?:using|typedef|friend|static_assert|enum|concept)\b")


@dataclass
class Scope:
    """A namespace or class that is open at this place of a header."""

    name: str
    public: bool
    is_class: bool


def balanced(text: str, start: int, pair: str) -> int:
    """Return the place after the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] == pair[0]:
            depth += 1
        elif text[place] == pair[1]:
            depth -= 1
            if depth == 0:
                return place + 1
    raise ValueError(f"no {pair[1]} closes: {text[start : start + 60]}")


def without_prefixes(head: str) -> str:
    """Take `template <...>` and `requires(...)` from a declaration."""
    while found := re.search(r"\brequires\s*(?=\()", head):
        head = head[: found.start()] + head[balanced(head, found.end(), "()") :]
    while found := re.match(r"\s*template\s*(?=<)", head):
        head = head[balanced(head, found.end(), "<>") :]
    return head


def function_name(head: str) -> str | None:
    """Return the name of the declared function ("" of a destructor, an operator and one that is
    deleted); None if something else is declared."""
    if NO_FUNCTION.match(head):
        return None
    if re.search(r"\boperator\b|=\s*delete\s*$", head):
        return ""
    place = depth = 0
    while place < len(head):
        if head[place] == "<":
            depth += 1
        elif head[place] == ">":
            depth -= 1
        elif depth == 0 and head[place] == "=":
            return None  # an initial value
        elif depth == 0 and head[place] == "(":
            found = re.search(r"(~?)(\w+)\s*$", head[:place])
            return found[2] if found and not found[1] else ""
        place += 1
    return None


def statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield what ends a statement (one of ;{}:) and its text; skip the bodies of functions."""
    head, place = "", 0
    while place < len(text):
        char = text[place]
        if char == "(":
            end = balanced(text, place, "()")
            head += text[place:end]
            place = end
            continue
        place += 1
        if char == ":" and text[place] != ":" and ACCESS.match(head):
            yield ":", head
            head = ""
        elif char in ";}":
            yield char, head
            head = ""
        elif char == "{" and not SCOPE.match(without_prefixes(head)):
            place = balanced(text, place - 1, "{}")
            if function_name(without_prefixes(head)) is not None:
                yield ";", head
                head = ""
            # else an initial value: `Index start{};`
        elif char == "{":
            yield "{", head
            head = ""
        else:
            head += char


def plain(text: str) -> str:
    """Take comments, strings, attributes and lines of the preprocessor out of C or C++."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', '""', text)
    text = re.sub(r"\[\[.*?\]\]", "", text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)


def of_cpp(header: Path) -> set[str]:
    """Return the qualified names of public functions; a constructor is `Type::Type`."""
    names, scopes = set(), []
    for end, statement in statements(plain(header.read_text())):
        head = without_prefixes(statement)
        if end == "{" and (found := SCOPE.match(head)):
            is_class = found[1] != "namespace"
            # An inline namespace that a macro names is no part of the name.
            name = "" if found[2].isupper() else found[2]
            public = found[1] != "class" and not name.endswith("detail")
            scopes.append(Scope(name, public, is_class))
        elif end == ":":
            scopes[-1].public = statement.strip() == "public"
        elif end == "}":
            scopes.pop()
        elif all(scope.public for scope in scopes) and (name := function_name(head)):
            names.add(
                "::".join(scope.name for scope in [*scopes, Scope(name, True, False)] if scope.name)
            )
    if scopes:
        raise ValueError(f"{header}: {scopes} are not closed")
    return names


def of_c(header: Path) -> set[str]:
    """Return the functions that a header of the C face declares."""
    return set(Headers(header).functions)


def of_fortran(module: Path) -> set[str]:
    """Return `type%procedure` of the types of a module, and the names that it makes public."""
    text = re.sub(r"&\s*\n\s*&?", " ", re.sub(r"!.*", "", module.read_text()))
    names = set()
    for found in re.finditer(r"^ *type,[^\n]*:: *(\w+)\n(.*?)^ *end type", text, re.M | re.S):
        for kind, line in re.findall(
            r"^ *(procedure|generic)\b(?!, *private)[^:\n]*::(.*)$", found[2], re.M
        ):
            items = line.split(",") if kind == "procedure" else [line]
            names |= {f"{found[1]}%{item.partition('=>')[0].strip()}" for item in items}
    for line in re.findall(r"^ *public *::(.*)$", text, re.M):
        names |= {item.strip() for item in line.split(",")}
    return names
