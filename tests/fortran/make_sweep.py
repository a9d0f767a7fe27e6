#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes calls of every procedure of the Fortran face with every argument wrong in turn.

Usage: make_sweep.py FOLDER_OF_MODULES FOLDER_OF_WHAT_THEY_INCLUDE OUTPUT

For sweep.f90. Procedures and arguments are read from the modules: a new one is swept as soon as it
is bound.
Objects are not made, ended or of another kind; numbers are -1, 0 where they count from 1, the least
and the largest; lists are empty or too long; texts are empty, nonsense, long; arrays are of another
type, precision, shape or order in memory. All must be refused, but for what `ALLOWED` lists. First,
and at the end, each is called with all arguments right. What has no `stat` ends the job if it
fails: each such case is a run of its own (run_stops.py), wrong on the last rank alone.
"""

import re
import sys
from pathlib import Path

from sweep_arguments import Argument, Procedure, read

LAST = ("tailrace_session%close",)

# Members of a product.
PRODUCT = {
    "name": ["an empty text"], "stages": ["nonsense"], "variables": ["nonsense"],
    "path": ["an empty text"], "format": ["nonsense"], "every": ["0", "-1", "the least"],
}  # fmt: skip
# Axes of the arrays that are right.
AXES = {"u": 2, "v": 2, "whole": 2, "few": 1, "few_more": 1, "one": 0, "points": 3, "spectra": 3}
# All ranks have an error if one rank's argument is wrong.
AGREED = {
    "tailrace_comm%split", "tailrace_comm%process_grid", "tailrace_layout%own_box",
    "tailrace_layout%own_boxes",
    "tailrace_array_transform%create",
    "tailrace_exchange%create", "tailrace_transform%create", "tailrace_input%open",
    "tailrace_input%read", "tailrace_input%read_all", "tailrace_log%create",
    "tailrace_output%create", "tailrace_output%write", "tailrace_reduction%create",
    "tailrace_session%create", "tailrace_session%open", "tailrace_stream%write",
}  # fmt: skip
# Calls of a time loop: an argument that is wrong on one rank alone ends the job.
LOOP = {
    "tailrace_array_transform%forward": "u", "tailrace_array_transform%backward": "modes",
    "tailrace_exchange%run": "source", "tailrace_exchange%start": "destination",
    "tailrace_reduction%allreduce": "values", "tailrace_reduction%start_allreduce": "op",
    "tailrace_reduction%reduce": "root", "tailrace_reduction%dot": "result",
    "tailrace_transform%forward": "u", "tailrace_transform%backward": "num_fields",
}  # fmt: skip
# Functions whose text may be anything.
ANY_TEXT = {"tailrace_input%has_attribute", "tailrace_log%info", "tailrace_log%warning",
            "tailrace_log%error"}  # fmt: skip
# What looks wrong and is not: patterns of "type%procedure.argument: what is wrong".
ALLOWED = (
    # Hints are made when the first is set.
    r".*hints: not made", r"tailrace_hints%set.self: not made",
    # Any text is a name, a path, a line.
    r".*\.(path|file|folder|spill_folder|fallback_path|of|text|series): (nonsense|a long text)",
    r".*\.(folder|spill_folder|fallback_path|compress|file|of|series): an empty text",
    r"tailrace_(hints%set|contents%attribute)\.(name|value): (nonsense|an empty text|a long text)",
    r"tailrace_session%open\.name: (nonsense|a long text)",
    # Looked at when a file is written.
    r"tailrace_contents%(variable|coordinate)\.(name|dims|values): .*",
    r"tailrace_contents%compress\.(name|how): .*",
    r"tailrace_output%write\.name: (nonsense|a long text)",
    r"tailrace_output%write\.array: (another precision|whole numbers|gaps|flat)",
    r"tailrace_(session%open|output%create)\.products\.variables: nonsense",
    # gfortran passes a list without items as one that is not given.
    r"tailrace_memory%ordered\.halo: empty", r"tailrace_layout%(blocks|pencils)\.order: empty",
    r"tailrace_array_transform%create\.(axes|kinds|kept|swap_with|grid): empty",
    # As with the axes in their order.
    r"tailrace_layout%cart_blocks\.axes: empty",
    # Rank 0's holds.
    r"tailrace_(session|output)%create.(servers|transport): .* on one rank",
    # Any number.
    r".*split\.(key: .*|color: the largest)", r".*(number|priority): (-1|0|the \w+)",
    r"tailrace_contents%attribute.*value: .*", r".*\.cutoff: (-1|0|the largest)",
    # Large grids, and such without items.
    r".*(process_grid|blocks|pencils|slabs|ordered)\.(extents|counts|grid|halo): the largest",
    r"tailrace_layout%(slabs\.num_ranks|triangle\.n): the largest",
    r".*(blocks|pencils|slabs|ordered|own_box|own_boxes)\.(extents|counts): 0",
    # Large, and not more than is there: shares of ranks, buffers no larger than the file.
    r".*\.(group_size|buffer_bytes|buffered_files|max_items|memory_bytes"
    r"|stripe_bytes): the largest",
    # Items are bytes to an exchange; what is written and reduced may be whole numbers.
    r"tailrace_exchange%\w+\.\w+: (whole numbers|records|flat)",
    r"tailrace_contents%variable\.array: (another precision|whole numbers|gaps|flat)",
    r"tailrace_input%read\.array: (another precision|gaps|flat|whole numbers)",
    r"tailrace_input%read_all\.array: (another precision|flat|whole numbers)",
    r"tailrace_reduction%\w*reduce\.values: (another precision|whole numbers|no items|one item less"
    r"|one number|one axis more)",
    r"tailrace_(array_)?transform%\w+\.\w+: flat",
    r"tailrace_memory%of\.array: .*", # only its strides count
)  # fmt: skip


def wrong_arrays(good: str) -> list[tuple[str, str]]:
    """What an array may be that is not the right one."""
    axes = AXES[good]
    if axes == 0:
        return [
            ("another precision", "single_one"),
            ("no items", "few(:0)"),
            ("records", "records_few"),
        ]
    rest = ", :" * (axes - 1)
    before = ":, " * (axes - 1)
    less = f"{good}({before}:size({good}, {axes}) - 1)"
    cases = [
        ("another precision", f"single_{good}"), ("whole numbers", f"long_{good}"),
        ("records", f"records_{good}"), ("truths", "truths"), ("one number", "one"),
        ("no items", f"{good}(:0{rest})"), ("one item less", less),
        ("backwards", f"{good}(size({good}, 1):1:-1{rest})"),
        ("gaps", f"wide_{good}(1, :{rest})"), ("one axis more", f"wide_{good}"),
    ]  # fmt: skip
    return cases + ([("flat", f"flat_{good}")] if axes > 1 else [])


def wrong_numbers(one: Argument, good: str) -> list[tuple[str, str]]:
    """What integers may be that are not right."""
    long = "_int64" if "int64" in one.type else ""
    huge = f"huge(1{long})"
    numbers = [("-1", f"-1{long}"), ("the least", f"-{huge} - 1{long}"), ("the largest", huge)]
    if one.name in ("axis", "index", "extents", "counts", "order", "num_fields", "start"):
        numbers.append(("0", f"0{long}"))
    if not one.shape:
        return numbers
    if one.shape == ":, :":
        cases = [(what, f"reshape([{value}, 1], [2, 1])") for what, value in numbers]
        cases += [("three axes", "reshape([1, 1, 1], [3, 1])"),
                  ("two boxes for one", "reshape([1, 1, 1, 1], [2, 2])")]  # fmt: skip
        return cases
    size = int(one.shape) if one.shape.isdigit() else 2
    rest = ", ".join([f"1{long}"] * (size - 1))
    cases = [(what, f"[{value}, {rest}]") for what, value in numbers]
    if one.shape == ":":
        cases += [
            ("empty", "[integer(int64) ::]" if long else "[integer ::]"),
            ("one entry", f"[1{long}]"),
            ("too long", f"[{', '.join([f'1{long}'] * 7)}]"),
        ]
    return cases


def wrong_value(one: Argument, good: str) -> list[tuple[str, str]]:
    """What numbers and texts may be that are not right."""
    if one.type == "type(MPI_Comm)":
        return [("MPI_COMM_NULL", "MPI_COMM_NULL")]
    if one.type.startswith("integer"):
        null = ("MPI_COMM_NULL", "MPI_COMM_NULL%MPI_VAL")
        return wrong_numbers(one, good) + ([null] if good.endswith("MPI_VAL") else [])
    if one.name == "dims":
        return [("empty", "no_names"), ("one name", '["x"]'), ("too long", "many_names"),
                ("twice the same", '["x", "x"]'), ("an empty text", '[" ", "y"]')]  # fmt: skip
    if one.type.startswith("character"):
        return [("an empty text", '""'), ("nonsense", '"non sense"'),
                ("a long text", 'repeat("long", 2000)')]  # fmt: skip
    if one.type.startswith("real"):
        return [("empty", "few(:0)")] if one.shape else [("not a number", "not_a_number")]
    if one.type in ("logical", "type(tailrace_product)"):
        return []
    raise SystemExit(f"make_sweep.py: add wrong values to wrong_value() for {one}")


def wrong(procedure: Procedure, one: Argument) -> list[tuple[str, str]]:
    """Return what is wrong about a value, and the value."""
    good = procedure.good(one)
    if one.kind:
        kinds = (("not made", "none"), ("of another kind", "stray"), ("ended", "ended"))
        cases = [(what, f"{name}_{one.kind}") for what, name in kinds]
        return [] if good.startswith("made_") else cases
    if one.type == "type(*)":
        return wrong_arrays(good)
    if one.is_out:
        cases = [("too short", f"{good}(:1)"), ("empty", f"{good}(:0)"),
                 ("too long", "other_triple")]  # fmt: skip
        return cases if one.shape == ":" and "allocatable" not in one.attributes else []
    return wrong_value(one, good)


def expectation(label: str) -> str:
    """Return what must come of a case."""
    labels = {label, label.removesuffix(" on one rank")}
    return (
        "allowed" if any(re.fullmatch(one, two) for one in ALLOWED for two in labels) else "refused"
    )


def call(procedure: Procedure, values: dict[str, str]) -> str:
    """One call."""
    words = [f"{name}={value}" for name, value in values.items() if name != "self"]
    if procedure.has_stat:
        words += ["stat=stat", "errmsg=errmsg"]
    text = f"{values['self']}%{procedure.binding}({', '.join(words)})"
    return f"call ignore({text})" if procedure.is_function else f"call {text}"


class Writer:
    """Writes the cases of all procedures."""

    def __init__(self, procedures: list[Procedure]) -> None:
        self.procedures, self.lines, self.stops, self.names = procedures, [], [], []

    def case(self, label: str, expected: str, statements: list[str]) -> None:
        """One case."""
        self.lines += [f'    call begin("{label}")', *(f"    {one}" for one in statements),
                       f"    call end_case({expected}, stat, errmsg)"]  # fmt: skip

    def sweep(self, procedure: Procedure) -> None:
        """The cases of a procedure that says how it ended."""
        values = procedure.values()
        right = "refused" if procedure.name == "tailrace_session%serve" else "succeeds"
        self.names.append(f"{procedure.owner}_{procedure.specific}")
        self.lines += [f"  subroutine sweep_{self.names[-1]}()"]
        if procedure.name not in LAST:
            self.case(f"{procedure.name}: right arguments", right, [call(procedure, values)])
        for one in procedure.swept:
            for what, value in wrong(procedure, one):
                label = f"{procedure.name}.{one.name}: {what}"
                spoilt = call(procedure, {**values, one.name: value})
                self.case(label, expectation(label), [spoilt])
                # Objects fail on their rank alone.
                if procedure.name in AGREED and not one.kind and one.type != "type(MPI_Comm)":
                    label += " on one rank"
                    both = ["if (is_last) then", f"  {spoilt}", "else",
                            f"  {call(procedure, values)}", "end if"]  # fmt: skip
                    if not values[one.name].endswith("MPI_VAL"):
                        self.case(label, expectation(label), both)
            if one.type == "type(tailrace_product)":
                self.products(procedure, values)
        self.case(f"{procedure.name}: right arguments", right, [call(procedure, values)])
        self.lines += ["  end subroutine", ""]

    def products(self, procedure: Procedure, values: dict[str, str]) -> None:
        """A product with one member wrong."""
        texts = {"an empty text": '""', "nonsense": '"non sense"', "the least": "-huge(1) - 1"}
        for member, cases in PRODUCT.items():
            for what in cases:
                label = f"{procedure.name}.products.{member}: {what}"
                spoil = f"bad_product%{member} = {texts.get(what, what)}"
                spoilt = call(procedure, {**values, "products": "[bad_product]"})
                self.case(label, expectation(label), ["bad_product = good_product", spoil, spoilt])

    def stop(self, procedure: Procedure) -> None:
        """The cases of a procedure that ends the job if it fails; of its object, one."""
        values = procedure.values()
        for one in procedure.swept:
            cases = wrong(procedure, one)
            if one.name == "self":  # to destroy what is not made does nothing
                cases = cases[1:2] if procedure.binding == "destroy" else cases[:1]
            if procedure.name in ANY_TEXT and one.type.startswith("character"):
                continue
            for what, value in cases:
                spoilt = call(procedure, {**values, one.name: value})
                self.stops.append((f"{procedure.name}.{one.name}: {what}", spoilt, ""))

    def loop(self, procedure: Procedure, name: str) -> None:
        """A call of a time loop that is wrong on the last rank alone."""
        values = procedure.values()
        one = next(one for one in procedure.swept if one.name == name)
        label = f"{procedure.name}.{name}: "
        cases = wrong(procedure, one)
        what, value = next(case for case in cases if expectation(label + case[0]) == "refused")
        spoilt = call(procedure, {**values, name: value})
        self.stops.append((label + what, spoilt, call(procedure, values)))

    def text(self) -> str:
        """Return the module."""
        for one in sorted(self.procedures, key=lambda one: one.name in LAST):
            (self.sweep if one.has_stat else self.stop)(one)
            if one.name in LOOP:
                self.loop(one, LOOP[one.name])
        lines = ["! Written by make_sweep.py.", "module sweep_calls", "  use mpi_f08",
                 "  use tailrace", "  use sweep_objects", "  implicit none",
                 f"  integer, parameter :: num_stops = {len(self.stops)}", "contains", "",
                 *self.lines]  # fmt: skip
        lines += ["  subroutine sweep_all()", *(f"    call sweep_{name}()" for name in self.names),
                  "  end subroutine", "", "  subroutine stop_in(number)",
                  "    integer, intent(in) :: number", "    select case (number)"]  # fmt: skip
        for number, (label, spoilt, right) in enumerate(self.stops):
            lines += [f"    case ({number})", f'      call says("{label}")',
                      "      if (is_last) then", f"        {spoilt}"]  # fmt: skip
            lines += ["      else", f"        {right}"] if right else []
            lines += ["      end if"]
        return "\n".join([*lines, "    end select", "  end subroutine", "end module", ""])


def main() -> None:
    """Write the file."""
    modules = sorted(Path(sys.argv[1]).glob("*.f90"))
    procedures = [one for path in modules for one in read(path, Path(sys.argv[2]))]
    if len(procedures) < 110:
        raise SystemExit(f"make_sweep.py: only {len(procedures)} procedures are found")
    Path(sys.argv[3]).write_text(Writer(procedures).text())


if __name__ == "__main__":
    main()
