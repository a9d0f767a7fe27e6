# SPDX-License-Identifier: BSD-3-Clause
"""One self-contained HTML page: pictures inside it, a template on the frame of all reports."""

import base64
import io
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailrace import __version__
from tailrace.report.style import ACTIVITY_COLOURS, RC


def svg(figure: Figure) -> Markup:
    """Return a figure as inline SVG."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight", pad_inches=0.03)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    # Metadata have the date, and addresses outside. Names are unique in one SVG, not in one page.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    prefix = f"f{zlib.crc32(text.encode()):08x}-"
    text = re.sub(r'(\bid="|url\(#|href="#)', lambda match: match.group(1) + prefix, text)
    text = re.sub(r'\swidth="[\d.]+pt" height="[\d.]+pt"', "", text, count=1)
    return Markup(text)


def png(figure: Figure, dpi: int = 170) -> Markup:
    """Return a figure as an <img> with its data inside."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, bbox_inches="tight", pad_inches=0.03)
    data = base64.b64encode(stream.getvalue()).decode()
    return Markup(f'<img alt="" src="data:image/png;base64,{data}">')


def picture(
    draw: Callable[[Axes], None],
    size: tuple[float, float],
    as_format: Callable[[Figure], Markup] = svg,
) -> Markup:
    """Draw one picture of `size` [inches]."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.add_subplot())
        return as_format(figure)


def fill(template: str, **values: Any) -> str:
    """Return the page of a template of this folder; `frame.html.j2` says what all of them need."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    shared = {"version": __version__, "colours": ACTIVITY_COLOURS}
    return environment.get_template(template).render(**shared, **values)
