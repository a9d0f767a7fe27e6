# SPDX-License-Identifier: BSD-3-Clause
"""``tailrace diff``: what changed between two profiles, and what may be noise."""

import json
from typing import Annotated

import typer

from tailrace.cli.json_option import JsonOption, prints_json, put_json, require_json_place
from tailrace.errors import TailraceError
from tailrace.launch.interrupts import ended_by_interrupts
from tailrace.profile.comparison import Side, compare_sides, make_side, split_paths
from tailrace.profile.load import load_profile
from tailrace.progress import working

PROFILES = "folder of tailrace profile -o, or JSON file; A1,A2,A3: several runs"


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help=f"Profile before: {PROFILES}.")],
    after: Annotated[str, typer.Argument(metavar="B", help="Profile after, likewise.")],
    json_to: JsonOption = None,
) -> None:
    """Show what changed between two profiles beyond noise.

    Example: tailrace diff old1,old2,old3 new1,new2,new3
    """
    require_json_place(json_to)
    with ended_by_interrupts():
        from tailrace.cli.console import make_console  # noqa: PLC0415
        from tailrace.profile.comparison_table import show  # noqa: PLC0415

    with working("diff"):
        found = compare_sides(_side(before, "A"), _side(after, "B"))
    put_json(json_to, json.dumps(found.as_json(), indent=1))
    if not prints_json(json_to):
        show(make_console(), found)


def _side(text: str, name: str) -> Side:
    paths = split_paths(text)
    if not paths:
        raise TailraceError(f'{name} "{text}": expected profiles, as in A1,A2,A3', status=2)
    return make_side([load_profile(path) for path in paths], [str(path) for path in paths])
