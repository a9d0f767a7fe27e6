# SPDX-License-Identifier: BSD-3-Clause
"""What a check finds."""

from dataclasses import dataclass

SEVERITIES = ("info", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or could be better; `fix` is a command, a variable or an option."""

    id: str
    severity: str
    what: str
    why: str
    fix: str

    @property
    def level(self) -> int:
        """Return the place of its severity, errors highest."""
        return SEVERITIES.index(self.severity)


def some(numbers: list[int], most: int = 6) -> str:
    """Return the first numbers of a list, "0, 1, 2, ..."."""
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


def ranges(numbers: list[int]) -> str:
    """Return processors as the kernel writes them.

    >>> ranges([0, 1, 2, 5])
    '0-2,5'
    """
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)
