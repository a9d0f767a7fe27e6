#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes calls of every function of tailrace.h with every argument wrong in turn (sweep_test.c).

Usage: make_sweep.py FOLDER_OF_HEADERS OUTPUT

The functions, arguments and members of structs are read from the headers: a new one is swept as
soon as it is declared. Handles are NULL, destroyed, of another kind and no handle; addresses are
NULL; numbers are -1, the least and the largest; texts are NULL, empty and nonsense; numbers of
floating point are NaN. All of these must be refused, but for what `ALLOWED` lists. First, each
function is called with all arguments right, which must succeed: what is refused then is refused for
the one that is wrong.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "generate"))
from headers import Argument, Headers

# Ask nothing but the state of the thread, tested by handles_test.c; the module of Fortran calls it,
# tested by test_moving.f90; and a program of its own, by session_test.c.
NOT_SWEPT = {
    "tailrace_error_code", "tailrace_error_errno", "tailrace_error_rank", "tailrace_fail",
    "tailrace_errors_in_fortran_order", "tailrace_serve_as_process",
}  # fmt: skip
# These end what the others need.
LAST = ("tailrace_file_close", "tailrace_session_close")

# The right value of an argument: by "function.argument", else by "argument", else by its type.
# Handles are good_KIND; results go to made_KIND or to `out`.
GOOD = {
    "color": "0", "key": "0", "item_bytes": "8", "num_items": "num_items", "num_bytes": "num_bytes",
    "num_source_items": "num_items", "num_destination_items": "num_items", "num_fields": "1",
    "source": "source", "destination": "destination", "sources": "sources",
    "destinations": "destinations", "index": "0", "extents": "extents", "grid": "rows_only",
    "num_dims": "2", "axis": "0", "num_ranks": "all_ranks", "rank": "this_rank",
    "offset": "0", "num_boxes": "1", "boxes": "&good_box", "box": "&good_box", "num_runs": "1",
    "offsets": "offsets", "access": "TAILRACE_FILE_UPDATE", "data": "source", "step": "3",
    "type": "TAILRACE_FLOAT64", "dims": "names", "values": "source", "num_values": "6",
    "value": "1", "name": '"u"', "how": '"deflate:1"', "of": '"u"',
    "path": "path", "level": "TAILRACE_LOG_INFO",
    "handler": "quiet", "user": "NULL", "num_writers": "1", "writers": "writers",
    "tailrace_layout_cyclic_domains.stripe_bytes": "64", "stripe_bytes": "0", "file_offset": "0",
    "n": "8", "order": "order", "axes": "order", "num_axes": "2", "halo": "halo",
    "start": "halo", "count": "extents",
    "strides": "strides", "capacity": "4", "activity": "TAILRACE_WAIT", "start_s": "1.0",
    "end_s": "2.0", "track": "0", "op": "TAILRACE_SUM", "root": "0", "in": "source",
    "num_parts": "1", "parts": "sources", "num_pairs": "1", "x": "sources", "y": "sources",
    "num_files": "1", "num_variables": "1", "files": "names", "variables": "names",
    "times_s": "source", "spacing": "spacing", "max_values": "8", "problem": "&good_problem",
    "num_candidates": "2", "candidates": "good_candidates", "settings": "&good_settings",
    "options": "&good_{}_options", "tailrace_session_create.options": "&good_session_options",
    "tailrace_session_create_fortran.options": "&good_session_options",
    "tailrace_session_open_output.options": "&good_opened_options",
    "tailrace_comm_create.user": "MPI_COMM_WORLD", "world": "MPI_COMM_WORLD",
    "tailrace_comm_create_fortran.user": "MPI_Comm_c2f(MPI_COMM_WORLD)",
    "tailrace_session_create_fortran.world": "MPI_Comm_c2f(MPI_COMM_WORLD)",
    "tailrace_comm_process_grid.extents": "cube", "tailrace_layout_pencils.extents": "cube",
    "tailrace_comm_process_grid.grid": "out.ints", "tailrace_transform_grid.grid": "out.ints",
    "tailrace_transform_create.extents": "cube", "tailrace_write_xdmf.extents": "cube",
    "tailrace_layout_extents.extents": "out.longs", "tailrace_input_extents.extents": "out.longs",
    "tailrace_transform_forward.fields": "points", "tailrace_transform_forward.modes": "spectra",
    "tailrace_transform_backward.fields": "out_points",
    "tailrace_transform_backward.modes": "spectra_in",
    "tailrace_transform_forward.num_items": "num_points",
    "tailrace_transform_backward.num_items": "num_points", "num_modes": "num_modes",
    "tailrace_array_transform_forward.field": "a_cube",
    "tailrace_array_transform_forward.modes": "a_spectrum",
    "tailrace_array_transform_forward.num_items": "num_array_items",
    "tailrace_array_transform_forward.num_modes": "num_array_modes",
    "tailrace_array_transform_backward.field": "a_cube",
    "tailrace_array_transform_backward.modes": "a_spectrum",
    "tailrace_array_transform_backward.num_items": "num_array_items",
    "tailrace_array_transform_backward.num_modes": "num_array_modes",
    **{
        f"tailrace_fft_{call}.{argument}": value
        for call in ("transform", "inverse", "physical_layout", "spectral_layout")
        for argument, value in (
            ("options", "&good_array_transform_options"), ("field", "a_cube"),
            ("modes", "a_spectrum"), ("num_items", "num_array_items"),
            ("num_modes", "num_array_modes"),
        )
    },
    "tailrace_file_part_runs.num_bytes": "run_bytes", "tailrace_file_part_boxes.memory": "NULL",
    "tailrace_file_write.data": "source", "tailrace_node_array_create.num_bytes": "64",
    "tailrace_file_part_boxes.offset": "0", "tailrace_memory_strided.offsets": "offsets",
    "tailrace_memory_strided.num_items": "64", "tailrace_hints_set.name": '"cb_nodes"',
    "tailrace_hints_set.value": '"1"', "tailrace_contents_attribute_text.value": '"text"',
    "tailrace_layout_pencils_ordered.extents": "cube",
    "tailrace_layout_cart_blocks.comm": "good_cart",
    "tailrace_layout_from_boxes.num_boxes": "boxes_of_ranks",
    "tailrace_layout_from_own_boxes.num_boxes": "is_last ? 1 : 0",
    "tailrace_contents_variable.layout": "good_layout", "tailrace_contents_variable.memory":
    "good_memory", "tailrace_contents_coordinate.name": '"x"',
    "tailrace_input_coordinate.name": '"x"',
    "tailrace_input_attribute_int.name": '"number"', "tailrace_input_has_attribute.name": '"text"',
    "tailrace_input_attribute_double.name": '"real"', "tailrace_input_attribute_text.name":
    '"text"', "tailrace_input_attribute_doubles.name": '"reals"',
    "tailrace_input_read_all.num_items": "42", "tailrace_input_read_all.data": "everything",
    "tailrace_input_read.data": "destination", "tailrace_file_read.data": "destination",
    "tailrace_input_open.path": "input_path", "tailrace_file_open.path": "bytes_path",
    "tailrace_trace_write.path": "trace_path", "tailrace_write_xdmf.path": "xdmf_path",
    "tailrace_reduction_reduce.values": "destination", "tailrace_reduction_allreduce.out":
    "destination", "tailrace_reduction_start_reduce.values": "destination",
    "tailrace_reduction_start_allreduce.out": "destination",
    "tailrace_reduction_allreduce_parts.out": "destination", "results": "&out",
    "text": '"a line"', "tailrace_session_open_output.name": "output_name()",
    "tailrace_trace_record.name": '"span"', "tailrace_input_attribute_doubles.values": "out.reals",
    "tailrace_input_coordinate.values": "out.reals",
    "tailrace_input_attribute_numbers.name": '"reals"',
    "tailrace_input_attribute_numbers.values": "out.reals",
    "tailrace_input_attribute_text_of_list.name": '"text"',
    "tailrace_contents_attribute_number.value": "source", "num_texts": "1", "texts": "names",
    "tailrace_contents_number.value": "source", "tailrace_contents_number.name": '"scalar"',
    "tailrace_contents_coordinate_numbers.name": '"x"',
}  # fmt: skip
# More structs whose members are arguments of a function.
MEMBERS = {
    "tailrace_session_create": [("good_function", "tailrace_function")],
    "tailrace_session_open_output": [("good_product", "tailrace_product")],
}
# Lists whose first entry is -1.
NEGATIVE = {"const int64_t*": "negative", "const int*": "negative_ints"}
# Calls that agree on their arguments: also with one of the last rank's wrong.
AGREED = {
    "tailrace_array_transform_create", "tailrace_fft_transform", "tailrace_fft_inverse",
    "tailrace_comm_split", "tailrace_comm_process_grid", "tailrace_node_array_create",
    "tailrace_exchange_create", "tailrace_transform_create", "tailrace_file_open",
    "tailrace_file_write", "tailrace_file_read", "tailrace_input_open", "tailrace_input_read",
    "tailrace_input_read_all", "tailrace_layout_from_own_boxes", "tailrace_layout_own_box",
    "tailrace_log_create",
    "tailrace_output_create", "tailrace_output_write", "tailrace_write_xdmf",
    "tailrace_reduction_create", "tailrace_session_create", "tailrace_session_create_fortran",
    "tailrace_session_open_output", "tailrace_trace_write", "tailrace_tune_choose",
}  # fmt: skip
# Lengths of the caller's arrays: only what cannot be a length can be refused, not one too large.
LENGTHS = {
    "num_fields", "num_runs", "num_boxes", "num_parts", "num_pairs", "num_values", "num_files",
    "num_variables", "num_candidates", "num_writers", "num_stages", "num_functions", "num_products",
    "num_dims", "num_axes", "num_ranks", "num_server_words", "max_values", "num_texts",
}  # fmt: skip
# What looks wrong and is not: patterns of "function.argument: what is wrong".
ALLOWED = (
    # Whether the items lie in the array is checked by the calls that take the memory.
    r"tailrace_memory_strided\.(offsets|strides): a negative entry",
    # NULL says that there is none, or the default.
    r".*\.(memory|from_memory|to_memory|options|hints|trace|why|settings|of|halo|order|handler|user"
    r"|task|checksum): NULL",
    r".*options\.(method|row_method|kernel|strategy|target|servers|placement|transport|progress"
    r"|folder|spill_folder|fallback_path|format|compress|series): NULL",
    r".*(product\.(path|format|variables)|tune_settings\.file): NULL",
    # Of lists that have no items where they are of no use.
    r"tailrace_session_create(_fortran)?\.output_options\.products: NULL",
    r"tailrace_session_open_output\.output_options\.(functions|server_program): NULL",
    # Any number is a truth; any text a name, a path or a line.
    r".*\.(sources_in_node_arrays|in_place|checks|checksums|variables): (-1|the \w+)",
    r".*\.(path|files|folder|fallback_path|spill_folder|target|file|name|of|text|operation|key"
    r"|value|row_method|series): nonsense",
    # Looked at when a file is written.
    r"tailrace_contents_compress.how: nonsense",
    r".*\.(folder|fallback_path|spill_folder|compress|file|text|operation|key|row_method|series)"
    r": an empty text",
    r"tailrace_(input_has_attribute|contents_\w+|trace_record).*: an empty text",
    # Rank 0's holds.
    r".*(log_options\.target|output_options\.(servers|placement|transport|progress))"
    r": (an empty text|nonsense) on one rank",
    # Any number.
    r".*comm_split\.(key: .*|color: the largest)",
    r".*(contents_step\.step|attribute_(int|bool)\.value|priority): (-1|the \w+)",
    r".*attribute_double\.value: .*",
    r".*trace_record\.(start_s|end_s): -1",
    r".*\.(cutoff|wait_limit_s|watchdog_s): -1",
    r".*transform_options\.scale: -1",
    # No part of a layout.
    r"tailrace_fft_\w+_layout\.array_transform_options\.(threads|kernel|method): .*",
    # The axis before.
    r".*array_transform_options\.swap_with: -1",
    # Large, and not more than is there: shares of ranks, buffers no larger than the file, limits.
    r".*\.(group_size|buffer_bytes|max_lines|memory_bytes|senders_at_once|chunk_bytes"
    r"|every|chunks|buffered_files|num_items|budget_s): the largest",
    r".*\.(lines_per_s|repeat_s|finish_wait_s|wait_limit_s|watchdog_s|retry_s|budget_s): infinite",
)


class Swept(Headers):
    """What the headers declare, and what its arguments are when they are right and wrong."""

    def __init__(self, folder: Path) -> None:
        super().__init__(*sorted(folder.glob("*.h")))
        self.functions = {
            name: one
            for name, one in self.functions.items()
            if one.result == "int" and one.arguments and name not in NOT_SWEPT
        }

    def good(self, function: str, one: Argument) -> str:
        """Return the right value of an argument, in C."""
        if kind := self.kind_made(one.type):
            return f"&made_{kind}"
        special = GOOD.get(f"{function}.{one.name}")
        if function.startswith("tailrace_reduction") and one.name == "num_items":
            special = "counts" if "*" in one.type else "8"
        if special is not None:
            return special
        if kind := self.kind(one.type):
            writes = function.startswith("tailrace_contents_")
            return "scratch_contents" if writes else f"good_{kind}"
        results = ("const char**", "const int**", "void**")
        writable = re.fullmatch(r"(?!const|void)\w+\*", one.type)
        if one.type in results or (writable and one.name not in ("destination", "values")):
            return f"({one.type})&out"
        if one.name not in GOOD:
            raise SystemExit(f"make_sweep.py: add a right value to GOOD for {function}: {one}")
        if one.name == "options":
            kind = re.sub(r"const tailrace_(\w+)_options\*", r"\1", one.type)
            return f"&good_{kind}_options"
        return GOOD[one.name]

    def wrong(self, one: Argument, length: bool = False) -> list[tuple[str, str]]:
        """Return what is wrong about a value, and the value."""
        if kind := self.kind(one.type):
            other = "hints" if kind != "hints" else "trace"
            return [
                ("NULL", "NULL"),
                (f"a handle of {other}", f"({one.type})good_{other}"),
                ("a destroyed handle", f"({one.type})destroyed"),
                ("no handle", f"({one.type})&out"),
            ]
        if one.array or "*" in one.type or one.type.endswith(("_function", "_handler")):
            if one.type in NEGATIVE:
                return [("NULL", "NULL"), ("a negative entry", NEGATIVE[one.type])]
            texts = [("an empty text", '""'), ("nonsense", '"non sense"')]
            return [("NULL", "NULL"), *(texts if one.type == "const char*" else [])]
        if one.type in ("int", "int64_t"):
            low, high = ("INT_MIN", "INT_MAX") if one.type == "int" else ("INT64_MIN", "INT64_MAX")
            largest = [] if length else [("the largest", high)]
            return [("-1", "-1"), ("the least", low), *largest]
        if one.type == "double":
            return [("NaN", "NAN"), ("infinite", "INFINITY"), ("-1", "-1")]
        null = {"MPI_Comm": "MPI_COMM_NULL", "tailrace_fint": "MPI_Comm_c2f(MPI_COMM_NULL)"}
        if one.type in null:
            return [("MPI_COMM_NULL", null[one.type])]
        raise SystemExit(f"make_sweep.py: add wrong values to wrong() for the type of {one}")


def expectation(label: str) -> str:
    """Return what must come of a case."""
    labels = {label, label.removesuffix(" on one rank")}
    allowed = any(re.fullmatch(one, known) for one in ALLOWED for known in labels)
    return "ALLOWED" if allowed else "REFUSED"


class Writer:
    """Writes the cases of one function."""

    def __init__(self, headers: Swept, name: str) -> None:
        self.headers, self.name = headers, name
        self.arguments = headers.functions[name].arguments
        self.values = [headers.good(name, one) for one in self.arguments]
        self.lines = [f"static void sweep_{name}(void) {{"]

    def case(self, label: str, expected: str, values: list[str], around: str = "") -> None:
        """One call. `around`: a statement before it."""
        before = f"{around}\n  " if around else ""
        call = f"{self.name}({', '.join(values)})"
        self.lines.append(f'  {before}CASE("{label}", {expected}, {call});')

    def replaced(self, place: int, label: str, value: str) -> None:
        """The call with one argument wrong."""
        label = f"{self.name}.{self.arguments[place].name}: {label}"
        values = list(self.values)
        values[place] = value
        self.case(label, expectation(label), values)
        one = self.arguments[place]
        if self.name in AGREED and not self.address_of_result(one):
            values[place] = f"is_last ? {value} : {self.values[place]}"
            label += " on one rank"
            self.case(label, expectation(label), values)

    def address_of_result(self, one: Argument) -> bool:
        """Handles and results fail on their rank alone."""
        return self.headers.kind(one.type) is not None or bool(
            ("*" in one.type or one.array) and not one.type.startswith("const")
        ) or one.type in ("const char**", "const int**", "MPI_Comm", "tailrace_fint")  # fmt: skip

    def members(self, variable: str, struct: str) -> None:
        """The call with one member of a struct wrong."""
        for one in self.headers.structs[struct]:
            if one.type.startswith("tailrace_") and one.type.rstrip("*") in self.headers.structs:
                continue  # in MEMBERS
            place = f"{variable}.{one.name}" + ("[0]" if one.array else "")
            plain_one = Argument(one.type, one.name)
            for what, value in self.headers.wrong(plain_one, one.name in LENGTHS - {"num_fields"}):
                label = f"{self.name}.{struct.removeprefix('tailrace_')}.{one.name}: {what}"
                cases = [("", "")]
                if self.name in AGREED and self.headers.kind(one.type) is None:
                    cases.append((" on one rank", "if (is_last) "))
                for suffix, condition in cases:
                    self.lines.append("  {")
                    self.lines.append(f"    const __typeof__({place}) kept = {place};")
                    self.case(
                        label + suffix, expectation(label + suffix), self.values,
                        f"{condition}{place} = {value};",
                    )  # fmt: skip
                    self.lines.append(f"    {place} = kept;")
                    self.lines.append("  }")

    def destroying(self) -> None:
        """What `..._destroy` refuses; the object is not ended by it."""
        type_ = self.arguments[0].type
        kind = self.headers.kind_made(type_)
        other = "hints" if kind != "hints" else "trace"
        self.case(f"{self.name}: NULL", "REFUSED", ["NULL"])
        for what, value in (
            (f"a handle of {other}", f"(void*)good_{other}"),
            ("a destroyed handle", "destroyed"),
            ("no handle", "(void*)&out"),
        ):
            statement = f"made_{kind} = {value};"
            self.case(f"{self.name}: {what}", "REFUSED", [f"&made_{kind}"], statement)
            self.lines.append(f"  made_{kind} = NULL;")
        self.case(f"{self.name}: the address of NULL", "SUCCEEDS", [f"&made_{kind}"])

    def text(self) -> str:
        """Return the function of C."""
        if self.name.endswith("_destroy"):
            self.destroying()
        else:
            last = self.name in LAST
            if not last:
                self.right()
            for place, one in enumerate(self.arguments):
                for what, value in self.headers.wrong(one, one.name in LENGTHS):
                    self.replaced(place, what, value)
                struct = re.sub(r"const (\w+)\*", r"\1", one.type)
                if struct in self.headers.structs and struct != one.type:
                    variable = self.values[place].removeprefix("&")
                    variable += "[0]" if one.name == "candidates" else ""
                    self.members(variable, struct)
            for variable, struct in MEMBERS.get(self.name, []):
                self.members(variable, struct)
            self.right()
        return "\n".join([*self.lines, "}", ""])

    def right(self) -> None:
        """The call with all arguments right."""
        label = f"{self.name}: right arguments"
        self.case(label, "REFUSED" if self.name == "tailrace_session_serve" else "SUCCEEDS",
                  self.values)  # fmt: skip


def main() -> None:
    """Write the file."""
    headers = Swept(Path(sys.argv[1]))
    if len(headers.functions) < 150 or len(headers.kinds) < 17:
        raise SystemExit(f"make_sweep.py: only {len(headers.functions)} functions are found")
    order = sorted(headers.functions, key=lambda name: (name in LAST, list(LAST).count(name)))
    order = [name for name in order if name not in LAST] + list(LAST)
    lines = ["/* Written by make_sweep.py. */"]
    lines += [Writer(headers, name).text() for name in order]
    lines += ["static void sweep_all(void) {", *(f"  sweep_{name}();" for name in order), "}", ""]
    # What still can be called, or is refused, when a file or a session is closed.
    lines.append("static void sweep_closed(void) {")
    for name, function in headers.functions.items():
        kinds = [headers.kind(one.type) for one in function.arguments]
        if name.endswith("_destroy") or not {"file", "session", "output"} & set(kinds):
            continue
        call = ", ".join(headers.good(name, one) for one in function.arguments)
        call = re.sub(r"\bgood_output\b", "good_opened", call)  # that of the session
        lines.append(f'  CASE("{name} after close", CLOSED, {name}({call}));')
    lines += ["}", ""]
    Path(sys.argv[2]).write_text("\n".join(lines))


if __name__ == "__main__":
    main()
