# SPDX-License-Identifier: BSD-3-Clause
"""A hook of MkDocs for `make docs`: links and headings as the pages have them on a repository host.

The pages link to files of the source tree, such as ../examples/heat.cpp. The site holds pages only,
so these links become the path of the file. Headings get the anchors that repository hosts give
them.
"""

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")
FENCED = re.compile(r"(^ *```.*?^ *```)", flags=re.DOTALL | re.MULTILINE)


def slug(title: str, separator: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", separator)


def outside(target: str, page: str) -> str:
    """Return the path in the source tree of a link that leaves docs/, "" for other links."""
    path = target.partition("#")[0]
    if not path or "://" in target:
        return ""
    found = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path))
    return "" if found.startswith("docs/") else found


def site_text(text: str, page: str) -> str:
    """Return the text of a page without links that lead out of docs/."""

    def replace(match: "re.Match[str]") -> str:
        label, target = match.groups()
        path = outside(target, page)
        if not path:
            return match[0]
        plain = label.strip("`")
        return f"`{path}`" if plain in path else f"{label} (`{path}`)"

    parts = FENCED.split(text)
    return "".join(part if at % 2 else LINK.sub(replace, part) for at, part in enumerate(parts))


def on_config(config: Any) -> Any:
    """Give headings the anchors of repository hosts."""
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace links that lead out of docs/."""
    return site_text(markdown, page.file.src_uri)
