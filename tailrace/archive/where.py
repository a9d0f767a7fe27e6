# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on the description of a run: ``grid.n = 512 and (reynolds > 1000 or not forced)``.

A name matches the key of a case or summary, or its last parts: ``n`` is ``grid.n`` if no other key
ends so. ``=`` and ``==`` are the same; ``~`` asks whether a text contains another.
"""

import operator
import re
from collections.abc import Callable
from typing import Any

from tailrace.errors import TailraceError

Description = dict[str, Any]
Condition = Callable[[Description], bool]

_TOKEN = re.compile(
    r"\s*(?:(\()|(\))|(<=|>=|!=|==|=|<|>|~)|'([^']*)'|\"([^\"]*)\"|([^\s()<>=!~'\"]+))"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "~": lambda whole, part: str(part).lower() in str(whole).lower(),
}


def parse_where(text: str) -> Condition:
    """Return the condition that a text states; an error says where it ends to be one."""
    tokens, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if not match:
            raise TailraceError(f"--where: cannot read {text[at:]!r}", 2)
        tokens.append(match)
        at = match.end()
    parser = _Parser(tokens, text)
    condition = parser.either()
    if parser.word() is not None:
        raise parser.error()
    return condition


class _Parser:
    """Reads tokens: or, and, not, parentheses, comparisons."""

    def __init__(self, tokens: list[re.Match[str]], text: str) -> None:
        self._tokens, self._text, self._at = tokens, text, 0

    def word(self) -> str | None:
        if self._at >= len(self._tokens):
            return None
        return self._tokens[self._at][0].strip()

    def error(self) -> TailraceError:
        where = "its end" if self.word() is None else repr(self.word())
        return TailraceError(f"--where {self._text!r}: {where} is unexpected", 2)

    def _skip(self, word: str) -> bool:
        if (self.word() or "").lower() != word:
            return False
        self._at += 1
        return True

    def either(self) -> Condition:
        found = [self._both()]
        while self._skip("or"):
            found.append(self._both())
        return lambda run: any(each(run) for each in found)

    def _both(self) -> Condition:
        found = [self._one()]
        while self._skip("and"):
            found.append(self._one())
        return lambda run: all(each(run) for each in found)

    def _one(self) -> Condition:
        if self._skip("not"):
            inner = self._one()
            return lambda run: not inner(run)
        if self._skip("("):
            inner = self.either()
            if not self._skip(")"):
                raise self.error()
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        name = self._value()
        if self.word() not in _COMPARE:
            return lambda run: bool(_look_up(run, name))
        compare = _COMPARE[self.word() or ""]
        self._at += 1
        value = _typed(self._value())
        return lambda run: _compare(compare, _look_up(run, name), value)

    def _value(self) -> str:
        if self._at >= len(self._tokens):
            raise self.error()
        match = self._tokens[self._at]
        text = next((match[i] for i in (4, 5, 6) if match[i] is not None), None)
        if text is None:
            raise self.error()
        self._at += 1
        return text


def _typed(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _look_up(run: Description, name: str) -> Any:
    """Return the value of a key, or of the one key whose last parts are `name`; else None."""
    if name in run:
        return run[name]
    tables = [key for key in run if key.endswith(f".{name}")]
    tables = tables or [key for key in run if key.startswith(f"{name}.")]
    return run[min(tables, key=lambda key: (key.count("."), len(key)))] if tables else None


def _compare(compare: Callable[[Any, Any], bool], value: Any, wanted: Any) -> bool:
    if value is None:
        return False
    if compare in (operator.eq, operator.ne) and isinstance(value, str):
        return compare(value, str(wanted))
    try:
        return bool(compare(value, wanted))
    except TypeError:
        return False
