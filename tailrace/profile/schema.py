# SPDX-License-Identifier: BSD-3-Clause
"""Whether data are as `tailrace/data/profile.schema.json` says.

Knows the words of JSON Schema that the file has: type, required, properties, items, minimum, const.
"""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parent.parent / "data" / "profile.schema.json"
WORDS = {"type", "required", "properties", "items", "minimum", "const", "$schema", "$id"} | {
    "title",
    "description",
    "$defs",
    "$ref",
}


@cache
def load_schema() -> dict[str, Any]:
    """Return the schema of the profile file."""
    schema: dict[str, Any] = json.loads(PATH.read_text())
    return schema


def first_fault(data: object) -> str:
    """Return what is wrong first, with its place, as in "groups.user_s: is missing"; "" if nothing.

    Keys that the schema does not name are allowed.
    """
    return next(iter(_faults(data, load_schema(), "")), "")


def _is_type(data: object, name: str) -> bool:
    if name in ("number", "integer"):
        whole = isinstance(data, int) or (isinstance(data, float) and data.is_integer())
        real = isinstance(data, int | float) and math.isfinite(data)
        return not isinstance(data, bool) and real and (whole or name == "number")
    types: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool}
    return isinstance(data, types[name])


def _faults(data: Any, schema: dict[str, Any], place: str) -> list[str]:
    """Return the faults of `data`, those of the first kind found."""
    if "$ref" in schema:
        schema = load_schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    unknown = schema.keys() - WORDS
    if unknown:
        raise NotImplementedError(f"words of JSON Schema: {unknown}")
    name = place or "the file"
    if "type" in schema and not _is_type(data, schema["type"]):
        return [f"{name}: is no {schema['type']}"]
    if "const" in schema and data != schema["const"]:
        return [f"{name}: is {data}, not {schema['const']}"]
    if "minimum" in schema and data < schema["minimum"]:
        return [f"{name}: {data} is below {schema['minimum']}"]
    missing = [key for key in schema.get("required", []) if key not in data]
    if missing:
        return [f"{place}{'.' if place else ''}{key}: is missing" for key in missing]
    found: list[str] = []
    for key, part in schema.get("properties", {}).items():
        if key in data:
            found += _faults(data[key], part, f"{place}.{key}" if place else key)
    if "items" in schema:
        for number, item in enumerate(data):
            found += _faults(item, schema["items"], f"{place}[{number}]")
            if found:
                break
    return found
