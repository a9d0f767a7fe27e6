# SPDX-License-Identifier: BSD-3-Clause
"""What those who write make of an output's variables (docs/servers.md)."""

from typing import NamedTuple


class Product(NamedTuple):
    """Something that those who write make of the variables of an output, in their idle time.

    `stages` are done in order, each a text "NAME key=value ..."; `variables`: of these alone. The
    result goes to `path`: "{path}" is that of the step without its suffix, "{name}" the product's
    name. It is made of each `every`-th step.
    """

    name: str
    stages: list[str]
    variables: list[str] = []  # noqa: RUF012
    path: str = "{path}_{name}.h5"
    format: str = "auto"
    every: int = 1
