# SPDX-License-Identifier: BSD-3-Clause
"""The page of ``tailrace advise --apply --report``: what settings gain, above a profile."""

from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes

from tailrace.advice.gain import Gain
from tailrace.planning.quantities import seconds_text
from tailrace.report.html import fill, picture
from tailrace.report.profile_page import cards, parts
from tailrace.report.style import ACCENT, INK


def render_gain(gain: Gain, profile: dict[str, Any], name: str) -> str:
    """Return the page as HTML; `profile` is of the program `name` without the settings."""
    values = parts(profile, "Where the time goes without the settings")
    found, null = gain.found, gain.null
    verdict = "faster with the settings" if found.wins else "no effect here"
    texts = [one.text.partition(" ") for one in (found, null)]  # the interval goes to the words
    top = [
        (value, f"{words} {interval}".strip())
        for (value, _, interval), words in zip(texts, (verdict, "equal runs"), strict=True)
    ]
    return fill(
        "gain.html.j2",
        title=f"{name}: what settings gain",
        cards=[*top, *cards(profile)],
        setting=_lines(gain),
        rounds=_picture(gain),
        num_rounds=found.pairs,
        wins=found.wins,
        gain=found.text,
        null=null.text,
        times=[
            [str(number), *map(seconds_text, one)]
            for number, one in enumerate(
                zip(gain.plain_s, gain.again_s, gain.changed_s, strict=True), 1
            )
        ],
        **values,
    )


def _lines(gain: Gain) -> list[str]:
    setting = gain.setting
    found = [f"{name}={value}" for name, value in setting.environment.items()]
    found += [f"{name} {value}" for name, value in setting.options]
    return found + ([" ".join(setting.wrapper)] if setting.wrapper else [])


def _picture(gain: Gain) -> Markup:
    return picture(lambda axes: draw_rounds(axes, gain), (9.0, 1.7))


def draw_rounds(axes: Axes, gain: Gain) -> None:
    """Draw how many times faster each round was, with medians and their intervals."""
    rows = (
        (gain.ratios, gain.found, "with settings", ACCENT),
        (gain.null_ratios, gain.null, "equal runs", INK),
    )
    for at, (ratios, found, name, colour) in enumerate(rows):
        axes.plot([1 / r for r in ratios], [at] * len(ratios), "o", color=colour, alpha=0.35, ms=5)
        axes.plot(1 / found.ratio, at, "|", color=colour, ms=22, mew=2.5)
        if found.low > 0:
            axes.plot([1 / found.high, 1 / found.low], [at, at], color=colour, lw=2)
        axes.text(-0.01, at, name, transform=axes.get_yaxis_transform(), ha="right", va="center")
    axes.axvline(1.0, color=INK, lw=0.8, ls=":")
    axes.set_yticks([])
    axes.set_ylim(1.6, -0.6)
    axes.set_xlabel("times as fast as without the settings")
