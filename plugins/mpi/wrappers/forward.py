# SPDX-License-Identifier: BSD-3-Clause
"""Wrappers of `waiting`, `collectives` and `io`: they hand a call to its body, or to MPI."""

import sys

from calls import Body, Call
from fortran import FROM_FORTRAN, fortran_parameters

HEADERS = {
    "waiting": "waiting/fortran.hpp",
    "collectives": "collectives/calls.hpp",
    "io": "io/calls.hpp",
}


def next_of(name: str) -> str:
    """Return the next definition of a call, looked up once."""
    return f"TAILRACE_NEXT({name})"


def body_of(call: Call, plugin: str) -> tuple[str, Body]:
    """Return the qualified name of the body, and what it gets."""
    body = call.bodies[plugin]
    plain = call.name.removesuffix("_c") if call.is_large else call.name
    own = plain.removeprefix("MPI_File_" if plugin == "io" else "MPI_").lower()
    return f"tailrace::plugins::{body.name or own}", body


def with_pass(call: Call, plugin: str) -> str:
    """Return a C wrapper whose body gets the means to make the call itself."""
    name, body = body_of(call, plugin)
    given = [
        f"text_of({name})" if role == "text" else name
        for role, name in zip(call.roles, call.names, strict=True)
        if not body.roles or role in body.roles
    ]
    pass_on = f"[&] {{ return next({', '.join(call.names)}); }}"
    return (
        f"{call.head()} {{\n  const auto next = {next_of(call.name)};\n"
        f"  return {name}({', '.join([*given, pass_on])});\n}}\n"
    )


def converted(call: Call, role: str, raw: str) -> str:
    """Return the C++ expression of an argument of Fortran."""
    if role == "text":
        return f"fortran_text({raw}, length0)"
    if role == "status":
        return f"FortranStatus{{{raw}}}"
    if role in ("in", "out"):
        # MPI_IN_PLACE is an input, except where a root scatters.
        is_input = role == "in" or "recvcount" in call.significant
        what = "data" if call.kind != "collective" else "input" if is_input else ""
        return f"fortran_{what}({raw})" if what else raw
    if role not in FROM_FORTRAN:
        sys.exit(f"{call.name}: no conversion of {role} from Fortran; add it in fortran.py")
    return FROM_FORTRAN[role][1].format(raw)


def with_pass_fortran(call: Call, plugin: str, symbol: str) -> str:
    """Return the same for a function of Fortran, which its body calls as Fortran did."""
    name, body = body_of(call, plugin)
    raw, declared, types = fortran_parameters(call)
    given = [
        converted(call, role, raw[i])
        for i, role in enumerate(call.roles)
        if not body.roles or role in body.roles
    ]
    words = ", ".join("code" if one == "error" else one for one in raw)
    return f"""void {symbol}({declared}) {{
  using Real = void (*)({types});
  static const Real real = reinterpret_cast<Real>(next_symbol("{symbol}"));
  int own_error = MPI_SUCCESS;
  int* const code = error != nullptr ? static_cast<int*>(error) : &own_error;  // mpi_f08: optional
  const auto pass = [&] {{ real({words}); return *code; }};
  *code = {name}({", ".join([*given, "pass"])});
}}
"""


def sleeping(call: Call, calls: dict[str, Call], passed: str) -> list[str]:
    """Return the statements of a call that sleeps; a collective one may be `passed` on."""
    lines = []
    if call.kind == "collective":
        lines = ["const MPI_Comm own = napping_comm(comm_);"]
        lines.append(f"if (own == MPI_COMM_NULL) return {passed};")
    name, body = body_of(call, "waiting")
    if body.name:
        nexts = [next_of(one + "_c" * call.is_large) for one in body.needs]
        return [*lines, f"const int code = {name}({', '.join([*nexts, *call.names])});"]
    return [*lines, f"const int code = {until_it_ends(call, calls)};"]


def sleeping_c(call: Call, calls: dict[str, Call]) -> str:
    """Return a C wrapper that starts or tests a non-blocking call until it has ended."""
    passed = f"{next_of(call.name)}({', '.join(call.names)})"
    lines = [f"if (!naps) return {passed};", *sleeping(call, calls, passed)]
    return f"{call.head()} {{\n  " + "\n  ".join([*lines, "return code;"]) + "\n}\n"


# What a call that sleeps changes, as C has it; FROM_FORTRAN has the other arguments.
CHANGED = {
    "request": "RequestsOf {1}({0}, 1)",
    "requests": "RequestsOf {1}({0}, number_)",
    "status": "StatusesOf {1}({0}, 1)",
    "statuses": "StatusesOf {1}({0}, number_)",
    "message": "MessageOf {1}({0})",
    "sendtypes": "const TypesOf {1}({0}, in_, comm_)",
    "recvtypes": "const TypesOf {1}({0}, nullptr, comm_)",
    "index": "int* const {1} = static_cast<int*>({0})",
    "outcount": "int* const {1} = static_cast<int*>({0})",
    "indices": "int* const {1} = static_cast<int*>({0})",
    "in": "const void* const {1} = fortran_data(const_cast<void*>(fortran_input({0})))",
    "out": "void* const {1} = fortran_data(const_cast<void*>(fortran_input({0})))",
}


def sleeping_fortran(call: Call, calls: dict[str, Call], symbol: str) -> str:
    """Return the same for a function of Fortran, by calls of C."""
    raw, declared, types = fortran_parameters(call)
    lines = [
        f"using Real = void (*)({types});",
        f'static const Real real = reinterpret_cast<Real>(next_symbol("{symbol}"));',
    ]
    passed = f"real({', '.join(raw)})"
    lines.append(f"if (!naps) return {passed};")
    arguments = []
    for role, name, word in zip(call.roles, call.names, raw, strict=False):
        if role in CHANGED:
            arguments.append(CHANGED[role].format(word, name) + ";")
        else:
            arguments.append(f"const auto {name} = {converted(call, role, word)};")
    lines += sorted(arguments, key=lambda text: "TypesOf" in text)  # these need comm_
    lines += sleeping(call, calls, passed)
    if call.has("index"):
        lines.append("if (code == MPI_SUCCESS) count_from_one(index_, 1);")
    if call.has("indices"):
        lines.append("if (code == MPI_SUCCESS) count_from_one(indices_, *outcount_);")
    lines.append("if (error != nullptr) *static_cast<int*>(error) = code;  // mpi_f08: optional")
    return f"void {symbol}({declared}) {{\n  " + "\n  ".join(lines) + "\n}\n"


def until_it_ends(call: Call, calls: dict[str, Call]) -> str:
    """Return the C++ expression that makes a call by its non-blocking twin."""
    plain = call.name.removeprefix("MPI_")
    twin_name = f"MPI_I{plain[0].lower()}{plain[1:]}"
    if plain.startswith("Wait"):
        twin_name = f"MPI_{plain.replace('Wait', 'Test', 1)}"
    twin = calls.get(twin_name)
    if twin is None:
        sys.exit(f"{call.name}: its non-blocking twin {twin_name} is not in the table: add it")
    names = ["own" if one == "comm_" and call.kind == "collective" else one for one in twin.names]
    made = f"return {next_of(twin_name)}({', '.join(names)});"
    if twin.has("flag"):
        return f"nap_until([&](int* flag_) {{ {made} }})"
    begin = f"[&](MPI_Request* request_) {{ {made} }}"
    if call.kind == "collective":
        return f"run_on(comm_, {begin})"
    return f"run({begin}, {'status_' if call.has('status') else 'MPI_STATUS_IGNORE'})"


def wrappers(plugin: str, calls: list[Call], suffixes: list[str]) -> str:
    """Return the wrappers of C and Fortran; `suffixes` are those of names that do not call C's."""
    mine = [call for call in calls if plugin in call.bodies]
    by_name = {call.name: call for call in calls}

    def in_c(call: Call) -> str:
        return sleeping_c(call, by_name) if plugin == "waiting" else with_pass(call, plugin)

    def in_fortran(call: Call, symbol: str) -> str:
        if plugin == "waiting":
            return sleeping_fortran(call, by_name, symbol)
        return with_pass_fortran(call, plugin, symbol)

    return "\n".join(
        [call.guarded(in_c(call)) for call in mine]
        + [
            call.guarded(in_fortran(call, call.name.lower() + suffix))
            for suffix in suffixes
            for call in mine
            if not call.is_large
        ]
    )
