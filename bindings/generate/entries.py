# SPDX-License-Identifier: BSD-3-Clause
"""Writes what programs of C call: ``entries.py FOLDER_OF_HEADERS FOLDER_OF_RESULTS TOPIC...``.

An entry runs its body, the function of the same name without ``tailrace_`` in TOPIC.cpp, which
includes the entries. The entry turns exceptions into a status and checks what comes first:

- The handle that is the first argument becomes a ``Ref`` to its object.
- Addresses of results must not be NULL. The body returns the only result, or the only text, which
  the handle keeps; it gets the addresses of other results.
- Options that are NULL become the defaults.
- ``..._destroy`` needs no body.

All other arguments reach the body as they are. ``statistics.hpp`` has a function
``X_statistics_of`` for each struct of statistics.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from headers import Argument, Function, Headers, write

# The body checks these addresses with its other arguments on all ranks together, so that a NULL on
# one rank fails on all of them. It fills them itself.
CHECKED_TOGETHER = {
    "array_transform_create",
    "comm_process_grid", "exchange_create", "fft_inverse", "fft_transform",
    "file_get_total_statistics", "file_open",
    "input_get_total_statistics", "input_open", "layout_from_own_boxes", "layout_own_box",
    "log_create", "output_create", "reduction_create", "session_create", "session_create_fortran",
    "session_open_output", "transform_create", "tune_choose",
}  # fmt: skip
# The body finds the object of the handle, too, on the ranks of another argument.
HANDLE_TOGETHER = {"trace_write"}
# Results that a program may leave out by NULL.
OPTIONAL = {"comm_process_grid.why", "tune_choose.why"}
# Members of statistics that are functions in C++.
COMPUTED = {"hidden_fraction", "stall_s"}
# No object of this library is behind them.
BY_HAND = {"error"}


RESULT = re.compile(r"(const (char|int)\*|void\*|(?!const |void\b)\w+\*?)\*")


@dataclass(frozen=True)
class Plan:
    """What an entry leaves to its body."""

    keeper: str  # the handle that becomes a `Ref`, or ""
    results: list[Argument]  # their addresses are checked by the entry
    returned: Argument | None


def plan(headers: Headers, function: Function) -> Plan:
    """Return what the entry does with the arguments."""
    name, arguments = function.short_name, function.arguments
    has_object = headers.kind(arguments[0].type) and name not in HANDLE_TOGETHER
    keeper = arguments[0].name if has_object else ""
    results = [
        one
        for one in arguments
        if not headers.kind(one.type)
        and not any(other.name == f"max_{one.name}" for other in arguments)  # an array
        and (RESULT.fullmatch(one.type) or (one.array and not one.type.startswith("const")))
    ]
    optional = [one for one in results if f"{name}.{one.name}" in OPTIONAL]
    if name in CHECKED_TOGETHER or optional:
        return Plan(keeper, [], optional[0] if optional else None)
    texts = [one for one in results if one.type == "const char**"]
    only = texts if keeper and len(texts) == 1 else results
    return Plan(keeper, results, only[0] if len(only) == 1 and not only[0].array else None)


def entry(headers: Headers, function: Function) -> str:
    """Return the definition of a function of the C interface."""
    name, arguments = function.short_name, function.arguments
    given = [one.name for one in arguments]
    if name.endswith("_destroy"):
        check = f'require_address({given[0]}, "{given[0]}");'
        return define(function, [check, f"end({given[0]});"])
    made = plan(headers, function)
    body = [f'require_address({one.name}, "{one.name}");' for one in made.results]
    if made.keeper:
        body.append(f"const auto object = get({made.keeper});")
        given[0] = "object"
    for place, one in enumerate(arguments):
        struct = headers.struct(one.type) or ""
        if one.name == "options" and struct.endswith("_options"):
            defaults = struct.replace("_options", "_defaults")
            given[place] = f"options != nullptr ? *options : {defaults}()"
    kept = [text for text, one in zip(given, arguments, strict=True) if one is not made.returned]
    call = f"tailrace::c::{name}({', '.join(kept)})"
    if made.returned is None:
        return define(function, [*body, f"{call};"])
    result = made.returned.name
    body.append(f"auto found = {call};")
    value = (
        f"text_of({made.keeper}, std::move(found))"
        if made.returned.type == "const char**"
        else "found"
    )
    statement = f"*{result} = {value};"
    if headers.kind_made(made.returned.type):
        statement = f"put({result}, std::move(found));"
    if f"{name}.{result}" in OPTIONAL:
        statement = f"if ({result} != nullptr) {statement}"
    return define(function, [*body, statement])


def define(function: Function, body: list[str]) -> str:
    """Return a function that runs these statements."""
    lines = [f"    {line}" for line in body]
    return "\n".join(
        [f"{function.declaration} {{", "  using namespace tailrace::c;",
         "  return guarded(__func__, [&] {", *lines, "  });", "}", ""]
    )  # fmt: skip


def statistics(headers: Headers) -> str:
    """Return what copies statistics of C++, whose members have the names of those of C."""
    lines = ["#pragma once", "", '#include "tailrace.h"', "", "namespace tailrace::c {", ""]
    for struct, members in headers.structs.items():
        if not struct.endswith("_statistics"):
            continue
        values = [f"seen.{one.name}{'()' if one.name in COMPUTED else ''}" for one in members]
        lines += [f"{struct} {struct.removeprefix('tailrace_')}_of(const auto& seen) {{",
                  f"  return {{{', '.join(values)}}};", "}", ""]  # fmt: skip
    return "\n".join([*lines, "}  // namespace tailrace::c", ""])


def topic_of(headers: Headers, function: Function, topics: list[str]) -> str:
    """Return the file of the body: that of the handle if it has one, else that of the header."""
    name = function.short_name
    kinds = [kind for kind in headers.kinds if name.startswith(f"{kind}_")]
    kind = max(kinds, key=len, default="")
    return kind if kind in topics else function.header


def main() -> None:
    """Write one file for each topic."""
    headers = Headers(*sorted(Path(sys.argv[1]).glob("*.h")))
    topics = sys.argv[3:]
    written: dict[str, list[str]] = {topic: [] for topic in topics}
    for function in headers.functions.values():
        if function.result != "int" or function.header in BY_HAND:
            continue
        topic = topic_of(headers, function, topics)
        if topic not in written:
            raise SystemExit(
                f"entries.py: {function.name} needs a body in bindings/c/{topic}.cpp; "
                f"add {topic} to `topics` in bindings/c/CMakeLists.txt"
            )
        written[topic].append(entry(headers, function))
    results = Path(sys.argv[2])
    head = "// Generated by bindings/generate/entries.py from include/tailrace/c.\n"
    for topic, entries in written.items():
        write(results / f"{topic}.inc", head + "\n" + "\n".join(entries))
    write(results / "statistics.hpp", head + statistics(headers))


if __name__ == "__main__":
    main()
