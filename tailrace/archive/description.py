# SPDX-License-Identifier: BSD-3-Clause
"""Describes a run folder: what `list --where` searches, and an RO-Crate of it for catalogues.

A run folder has ``case.toml`` or ``summary.json``. The description is flat: ``grid.n`` is the key n
of the table grid; keys of the summary follow those of the case.
"""

import datetime
import json
import tomllib
from pathlib import Path
from typing import Any

import tailrace

CRATE = "ro-crate-metadata.json"
LONGEST_TEXT = 1000


def describe_run(folder: Path) -> dict[str, Any]:
    """Return the description of a run folder; empty if it is none."""
    found: dict[str, Any] = {}
    for name, load in (("case.toml", tomllib.loads), ("summary.json", json.loads)):
        try:
            table = load((folder / name).read_text())
        except (OSError, ValueError):
            continue
        if isinstance(table, dict):
            _flatten(table, "", found)
    if found:
        found.setdefault("folder", folder.name)
    return found


def _flatten(table: dict[str, Any], prefix: str, found: dict[str, Any]) -> None:
    for key, value in table.items():
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", found)
        elif isinstance(value, bool | int | float) or (
            isinstance(value, str) and len(value) <= LONGEST_TEXT
        ):
            found.setdefault(prefix + key, value)


def metadata_member(folder: str, description: dict[str, Any]) -> tuple[str, bytes] | None:
    """Return path and content of the RO-Crate file of a run; None if the run has one itself."""
    path = Path(folder) / CRATE
    if path.exists():
        return None
    return str(path), json.dumps(crate(Path(folder), description), indent=1).encode()


def crate(folder: Path, description: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of RO-Crate 1.1 for a run."""
    parts: list[dict[str, Any]] = []
    try:
        children = sorted(folder.iterdir())
    except OSError:
        children = []
    for child in children[:1000]:
        kind = "Dataset" if child.is_dir() else "File"
        parts.append({"@id": child.name + ("/" if child.is_dir() else ""), "@type": kind})
    values = [
        {"@id": f"#{key}", "@type": "PropertyValue", "name": key, "value": value}
        for key, value in sorted(description.items())
    ]
    name = str(description.get("case.name", folder.name))
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": name,
        "description": f"Run {folder.name} of a simulation, archived by Tailrace",
        "datePublished": now,
        "hasPart": [{"@id": part["@id"]} for part in parts],
        "variableMeasured": [{"@id": value["@id"]} for value in values],
        "creator": {"@id": "#tailrace"},
    }
    about = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    software = {
        "@id": "#tailrace",
        "@type": "SoftwareApplication",
        "name": "Tailrace",
        "softwareVersion": tailrace.__version__,
    }
    graph = [about, root, *parts, *values, software]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
