# SPDX-License-Identifier: BSD-3-Clause
"""A part of a run's page that one application makes of its own files."""

from dataclasses import dataclass, field

from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A heading, what there is to know, a table, pictures, and what is wrong ("" if nothing)."""

    name: str  # of the anchor
    title: str
    note: str
    rows: list[tuple[str, list[Markup]]] = field(default_factory=list)  # "half" or "", pictures
    warning: str = ""
    table: list[tuple[str, ...]] = field(default_factory=list)  # the heads, then rows; or nothing
