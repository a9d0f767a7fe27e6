# SPDX-License-Identifier: BSD-3-Clause
"""A published figure, and what a model gives for it."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CLOSE = 0.15  # a figure is reproduced if the ratio is this near to 1 ...
HALF = 0.5  # ... and, of a factor, at least half and at most twice of what it is above 1


@dataclass(frozen=True)
class Curve:
    """Points of the page's picture; `published` ones are the study's."""

    label: str
    x: list[float]
    y: list[float]
    published: bool = False
    of: str = ""  # of published points: the label of the model's curve for them


@dataclass(frozen=True)
class Picture:
    """Curves that belong together."""

    x_label: str
    y_label: str
    curves: list[Curve]
    log_x: bool = True
    log_y: bool = False


@dataclass(frozen=True)
class Found:
    """What the model gives."""

    ours: float | None
    reason: str  # where the difference comes from, with numbers of the model
    assumed: list[str]  # parameters that were not published
    picture: Picture | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of a study; `study` is None where only the shape of a curve was published."""

    name: str
    of: str  # the study
    what: str
    unit: str  # "times": a factor, of which 1 means no effect
    study: float | None
    published: str  # as the study printed it
    compute: Callable[[], Found]
    comparable: bool = True  # False: the model gives a related quantity, or a bound


@dataclass(frozen=True)
class Row:
    """A figure with its result."""

    figure: Figure
    found: Found
    seconds: float = field(default=0.0, compare=False)

    @property
    def ratio(self) -> float | None:
        """Return the model's value over the study's."""
        if self.found.ours is None or self.figure.study is None:
            return None
        return self.found.ours / self.figure.study

    @property
    def effect(self) -> float | None:
        """Return the share of a factor's effect that the model shows; None where there is none."""
        study, ours = self.figure.study, self.found.ours
        if self.figure.unit != "times" or study is None or ours is None or study == 1:
            return None
        return (ours - 1) / (study - 1)

    @property
    def reproduced(self) -> bool:
        """Tell whether the model gives the study's figure within 15 %, and its effect."""
        if self.ratio is None or not self.figure.comparable:
            return False
        shown = self.effect is None or HALF <= self.effect <= 1 / HALF
        return abs(self.ratio - 1) <= CLOSE and shown

    @property
    def verdict(self) -> str:
        """Return the outcome in a few words."""
        if self.figure.study is None:
            return "trend"
        if self.reproduced:
            return "within 15 %"
        if self.found.ours is None:
            return "no model"
        return "differs" if self.figure.comparable else "not the same quantity"


def listed(figure: Figure) -> dict[str, Any]:
    """Return a figure without its result, as JSON has it."""
    return {
        "name": figure.name,
        "of": figure.of,
        "what": figure.what,
        "unit": figure.unit,
        "study": figure.study,
        "published": figure.published,
        "comparable": figure.comparable,
    }


def as_data(row: Row) -> dict[str, Any]:
    """Return a row as JSON has it."""
    picture = row.found.picture
    return listed(row.figure) | {
        "ours": row.found.ours,
        "ratio": row.ratio,
        "effect": row.effect,
        "reproduced": row.reproduced,
        "verdict": row.verdict,
        "reason": row.found.reason,
        "assumed": row.found.assumed,
        "picture": dataclasses.asdict(picture) if picture else None,
        "seconds": row.seconds,
    }


def texts(row: Row) -> list[str]:
    """Return the study's value, the model's and their ratio as tables show them."""
    unit = "" if row.figure.unit in ("times", "share") else f" {row.figure.unit}"
    values = [row.figure.study, row.found.ours]
    shown = [f"{value:,.3g}{unit}" if value is not None else "-" for value in values]
    shown = [
        f"{value:,.0f}{unit}" if value is not None and value >= 1000 else text
        for value, text in zip(values, shown, strict=True)
    ]
    return [*shown, f"{row.ratio:.2f}" if row.ratio is not None else "-"]
