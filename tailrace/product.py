# SPDX-License-Identifier: BSD-3-Clause
"""Results that writers compute from the variables of an output (docs/servers.md)."""

from typing import NamedTuple


class Product(NamedTuple):
    """A result that the writers compute from the variables of an output, in their idle time.

    `stages` are executed in order; each is a text "NAME key=value ...". `variables` limits the
    product to these variables. The result is written to `path`, in which "{path}" is the path of
    the step without its suffix, and "{name}" the name of the product. It is computed for each
    `every`-th step.
    """

    name: str
    stages: list[str]
    variables: list[str] = []  # noqa: RUF012
    path: str = "{path}_{name}.h5"
    format: str = "auto"
    every: int = 1
