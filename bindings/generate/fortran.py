# SPDX-License-Identifier: BSD-3-Clause
"""Writes what Fortran needs of C: ``fortran.py FOLDER_OF_HEADERS RESULTS ARRAYS.h X.f90...``

- ``calls.f90``, the module tailrace_m_calls: the structs and constants of the headers, and the
  interface of each function. Names in it begin with ``c_`` in place of ``tailrace_``.
- ``X.inc``, which X.f90 includes: the procedures that its types bind and that it does not define.
  Each calls the function of C of its type and name and does nothing else.
"""

import re
import sys
import textwrap
from pathlib import Path

from headers import Argument, Function, Headers, write

# Handles of MPI's C binding, which Fortran does not know: there are calls with a tailrace_fint.
WITHOUT_INTERFACE = {"comm_create", "comm_mpi", "session_create"}
# A text that may be NULL, or that is already one of C, goes by its address.
ADDRESSES = {"of", "f_stop.text"}
# Structs that programs of Fortran use by the name of C.
PUBLIC_STRUCTS = {"tailrace_output_statistics"}
# Numbers that are truths.
TRUTHS = {"computes", "done", "has"}
# Types of 0.1, and whose functions of C they call.
FORMERLY = {"stream": "output"}
# Failures of these objects end the job: their procedures have no `stat`.
WITHOUT_STAT = {"log"}
# What an argument is called in Fortran, where a procedure and its argument have different names.
RENAMED = {"comm_node.node": "part", "contents_step.step": "number", "session_comm.comm": "ranks"}
# What counts from 1 in Fortran, or is in another order of axes, takes a procedure by hand.
BY_HAND = {"axis", "extents", "grid", "index", "order"}

NUMBERS = {
    "int": "integer(c_int)", "int64_t": "integer(c_int64_t)", "double": "real(c_double)",
    "tailrace_fint": "integer",
}  # fmt: skip
VISIBLE = {
    "int": "integer", "int64_t": "integer(int64)", "double": "real(real64)"
}  # fmt: skip
# Items of `const void*` in a procedure whose name ends so, or so and with an "s".
ITEMS = {
    "int32": ("integer(int32)", "tailrace_int32"), "int64": ("integer(int64)", "tailrace_int64"),
    "real32": ("real(real32)", "tailrace_float32"), "real": ("real(real64)", "tailrace_float64"),
}  # fmt: skip


def name_of(struct: str) -> str:
    """Return the name of a struct in Fortran."""
    return struct if struct in PUBLIC_STRUCTS else "c_" + struct.removeprefix("tailrace_")


def bound(one: Argument) -> str:
    """Return the shape of an array."""
    return f"({one.array.lower()})" if one.array else ""


def member(headers: Headers, one: Argument) -> str:
    """Declare a member of a struct."""
    if one.type == "a_function" or one.type.endswith("_function"):
        type_ = "type(c_funptr)"
    elif one.type in headers.structs:
        type_ = f"type({name_of(one.type)})"
    elif "*" in one.type:
        type_ = "type(c_ptr)"
    elif one.type in NUMBERS:
        type_ = NUMBERS[one.type]
    else:
        raise SystemExit(f"fortran.py: no Fortran type for the member {one}; add one to NUMBERS")
    return f"    {type_} :: {one.name}{bound(one)}"


def struct_of(headers: Headers, name: str) -> list[str]:
    """Declare a struct."""
    members = [member(headers, one) for one in headers.structs[name]]
    return [f"  type, bind(C) :: {name_of(name)}", *members, "  end type"]


def dummy(headers: Headers, function: Function, one: Argument) -> str:
    """Declare an argument of an interface."""
    others = {other.name for other in function.arguments}
    is_list = f"num_{one.name}" in others or f"max_{one.name}" in others
    plain = one.type.removeprefix("const ").rstrip("*")
    is_const = one.type.startswith("const")
    intent = "intent(in)" if is_const else "intent(inout)"
    shape = bound(one) or ("(*)" if is_list or (is_const and plain in NUMBERS) else "")
    if one.type == "const CFI_cdesc_t*":  # no intent: what is changed lies behind the descriptor
        type_, shape = "type(*), dimension(..)", ""
    elif one.type.endswith("const*"):
        type_, shape = "type(c_ptr), intent(in)", "(*)"
    elif one.type.endswith("**"):
        type_, shape = "type(c_ptr), intent(inout)", ""
    elif (
        one.type == "const char*"
        and not {one.name, f"{function.short_name}.{one.name}"} & ADDRESSES
    ):
        type_, shape = "character(kind=c_char), intent(in)", "(*)"
    elif headers.kind(one.type) or plain in ("void", "char"):
        type_, shape = "type(c_ptr), value", ""
    elif one.type.endswith("_handler"):
        type_ = "type(c_funptr), value"
    elif struct := headers.struct(one.type):
        type_ = f"type({name_of(struct)}), {intent}"
    elif plain in NUMBERS:
        type_ = f"{NUMBERS[plain]}, {intent if one.array or '*' in one.type else 'value'}"
    else:
        raise SystemExit(
            f"fortran.py: no Fortran type for {one} of {function.name}; add one to NUMBERS"
        )
    return f"{type_} :: {one.name}{shape}"


def wrapped(text: str) -> list[str]:
    """Break a line of Fortran."""
    lines = textwrap.wrap(text, 90, subsequent_indent="        ", break_long_words=False)
    return [f"    {line} &" for line in lines[:-1]] + [f"    {lines[-1]}"]


def interface(headers: Headers, function: Function) -> list[str]:
    """Return the interface of a function."""
    names = ", ".join(one.name for one in function.arguments)
    head = f'c_{function.short_name}({names}) bind(C, name="{function.name}")'
    body = [f"      {dummy(headers, function, one)}" for one in function.arguments]
    if function.result == "void":
        return [*wrapped(f"subroutine {head}"), "      import", *body, "    end subroutine"]
    result = NUMBERS.get(function.result, "type(c_ptr)")
    if function.result in headers.structs:
        result = f"type({name_of(function.result)})"
    return [*wrapped(f"function {head} result(returned)"), "      import", *body,
            f"      {result} :: returned", "    end function"]  # fmt: skip


def calls(headers: Headers) -> str:
    """Return the module tailrace_m_calls."""
    lines = [
        "! Generated by bindings/generate/fortran.py from include/tailrace/c.",
        "module tailrace_m_calls",
        "  use, intrinsic :: iso_c_binding",
        "  implicit none",
        "  public",
        "",
    ]
    lines += [f"  integer, parameter :: {n.lower()} = {v}" for n, v in headers.constants.items()]
    for name in headers.structs:
        lines += ["", *struct_of(headers, name)]
    lines += ["", "  interface"]
    for function in headers.functions.values():
        if function.short_name not in WITHOUT_INTERFACE:
            lines += interface(headers, function)
    return "\n".join([*lines, "  end interface", "end module tailrace_m_calls", ""])


TYPE = re.compile(r"^ *type, *public *:: *tailrace_(\w+)\n(.*?)^ *end type", re.M | re.S)
BINDING = re.compile(r"^ *(?:procedure|final)(?:, *private)? *::(.*)$", re.M)
DEFINED = re.compile(r"^ *(?:[\w()]+ )*(?:function|subroutine) (\w+)", re.M)


class Forward:
    """A procedure that calls a function of C and does nothing else."""

    def __init__(self, headers: Headers, function: Function, kind: str, specific: str) -> None:
        self.headers, self.function, self.kind, self.specific = headers, function, kind, specific
        self.names = {one.name for one in function.arguments}
        self.dummies: list[str] = []
        self.optional: list[str] = []
        self.declared: list[str] = []
        self.given: list[str] = []
        self.before: list[str] = []
        self.result: Argument | None = None
        for one in function.arguments:
            self.argument(one)
        self.has_stat = self.result is None and kind not in WITHOUT_STAT

    def argument(self, one: Argument) -> None:
        """Take an argument of C."""
        name = RENAMED.get(f"{self.function.short_name}.{one.name}", one.name)
        kind, made = self.headers.kind(one.type), self.headers.kind_made(one.type)
        item = ITEMS.get(self.specific.removesuffix("s").rpartition("_")[2])
        declared = ""
        if one.name in BY_HAND or self.result is not None:
            raise SystemExit(
                f"fortran.py: {one} cannot be forwarded: write the procedure {self.specific} of "
                f"tailrace_{self.kind} in its module in bindings/fortran"
            )
        if FORMERLY.get(self.kind, self.kind) in (kind, made) and "self" not in self.dummies:
            intent = "in" if one.type.startswith("const") else "inout"
            name, declared = "self", f"class(tailrace_{self.kind}), intent({intent})"
            self.dummies.insert(0, name)
            self.given.append("self%handle")
        elif kind or made:
            declared = f"type(tailrace_{kind or made}), intent({'inout' if made else 'in'})"
            self.given.append(f"{name}%handle")
        elif one.name in ADDRESSES:
            declared = "character(len=*), intent(in), optional"
            self.declared.append("character(kind=c_char, len=:), allocatable, target :: owner")
            self.given.append(f"address_of({name}, owner)")
            self.optional.append(name)
        elif one.type == "const char*":
            declared = "character(len=*), intent(in)"
            self.given.append(f"to_c({name})")
        elif one.name == "type" and item:
            self.given.append(f"int({item[1]}, c_int)")
            return
        elif one.type == "const void*" and item:
            name = "value"
            declared = f"{item[0]}, intent(in), target"
            declared += ", contiguous" if f"num_{one.name}" in self.names else ""
            self.given.append("c_loc(value)")
        elif one.type == "const double*":
            declared = "real(real64), intent(in)"
            self.given.append(name)
        elif one.name.startswith("num_") and one.name.removeprefix("num_") in self.names:
            self.given.append(f"size({self.dummies[-1]}, kind=c_{one.type})")
            return
        elif one.type in ("int", "int64_t"):
            declared = "integer, intent(in)"
            self.given.append(f"int({name}, c_{one.type})")
        else:
            self.result = one
            self.given.append("found")
            return
        is_list = f"num_{one.name}" in self.names
        self.declared.append(f"{declared} :: {name}{'(:)' if is_list else ''}")
        self.before += [f"call {name}%destroy()"] if made else []
        if name not in (*self.dummies, *self.optional):
            self.dummies.append(name)

    def visible(self, one: Argument) -> tuple[str, str, str]:
        """Return the type of the result, of what C fills, and the result made of that."""
        if one.type == "const char**":
            return "character(len=:), allocatable", "type(c_ptr)", "from_c(found)"
        plain = one.type.rstrip("*")
        if plain in self.headers.structs:
            return (f"type({name_of(plain)})",) * 2 + ("found",)
        if one.name in TRUTHS:
            return "logical", NUMBERS[plain], "found /= 0"
        return VISIBLE[plain], NUMBERS[plain], "found"

    def text(self) -> list[str]:
        """Return the procedure."""
        c_call = f"c_{self.function.short_name}({', '.join(self.given)})"
        if self.result is None:
            stat = ["integer, intent(out), optional :: stat",
                    "character(len=*), intent(inout), optional :: errmsg"]  # fmt: skip
            dummies = [
                *self.dummies,
                *self.optional,
                *(["stat", "errmsg"] if self.has_stat else []),
            ]
            end = ", stat, errmsg" if self.has_stat else ""
            lines = [*self.declared, *(stat if self.has_stat else []), *self.before]
            lines += [line.strip() for line in wrapped(f"call settle({c_call}{end})")]
            word, result = "subroutine", ""
        else:
            type_, filled, value = self.visible(self.result)
            dummies, word, result = self.dummies, "function", " result(answer)"
            start = {"t": "c_null_ptr", "i": "0", "r": "0"}[filled[0]]
            lines = [*self.declared, f"{type_} :: answer", f"{filled} :: found"]
            lines += [f"found = {start}"] if filled == "type(c_ptr)" or start == "0" else []
            lines += [f"call settle({c_call})", f"answer = {value}"]
        head = f"  {word} {self.specific}({', '.join(dummies)}){result}"
        return [f"  !> {self.function.name} of C.", head, *(f"    {one}" for one in lines),
                f"  end {word}", ""]  # fmt: skip


def forwards(headers: Headers, module: Path) -> str:
    """Return the procedures that the types of a module bind and that the module does not define."""
    text = re.sub(r"&\s*\n\s*&?", " ", re.sub(r"!.*", "", module.read_text()))
    defined = set(DEFINED.findall(text))
    lines = ["! Generated by bindings/generate/fortran.py from include/tailrace/c.", ""]
    for kind, body in TYPE.findall(text):
        of_c = FORMERLY.get(kind, kind)
        for item in ",".join(BINDING.findall(body)).split(","):
            binding, _, other = (word.strip() for word in item.partition("=>"))
            specific = other or binding
            if not specific or specific in defined:
                continue
            if re.search(rf"^ *final *:: *{specific}$", body, re.M):
                lines += [
                    f"  subroutine {specific}(self)",
                    f"    type(tailrace_{kind}), intent(inout) :: self",
                    "    integer(c_int) :: status",
                    f"    status = c_{of_c}_destroy(self%handle)",
                    "  end subroutine",
                    "",
                ]
                continue
            words = re.sub(f"_({'|'.join(ITEMS)})(s?)$", r"_number\2", binding)
            found = [f"tailrace_{of_c}_{middle}{words}" for middle in ("", "get_")]
            function = next(
                (headers.functions[one] for one in found if one in headers.functions), None
            )
            if function is None:
                raise SystemExit(
                    f"fortran.py: {module} binds {specific}: define it there, or declare "
                    f"{found[0]} in a header of C"
                )
            if binding == "destroy":
                lines += [f"  !> {function.name} of C.", f"  subroutine {specific}(self)",
                          f"    class(tailrace_{kind}), intent(inout) :: self",
                          f"    call settle(c_{of_c}_destroy(self%handle))",
                          "  end subroutine", ""]  # fmt: skip
                continue
            lines += Forward(headers, function, kind, specific).text()
    return "\n".join(lines)


def main() -> None:
    """Write the files."""
    results = Path(sys.argv[2])
    headers = Headers(*sorted(Path(sys.argv[1]).glob("*.h")), Path(sys.argv[3]))
    write(results / "calls.f90", calls(headers))
    for module in map(Path, sys.argv[4:]):
        write(results / f"{module.stem}.inc", forwards(headers, module))


if __name__ == "__main__":
    main()
