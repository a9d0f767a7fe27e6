# SPDX-License-Identifier: BSD-3-Clause
"""Fortran wrappers: arguments go on to Fortran as they came."""

from calls import INTS, Call
from statements import after, before, needs_status

FROM_FORTRAN = {
    "comm": ("MPI_Comm", "PMPI_Comm_f2c(*static_cast<const MPI_Fint*>({0}))"),
    "win": ("MPI_Win", "PMPI_Win_f2c(*static_cast<const MPI_Fint*>({0}))"),
    "sendtypes": ("FortranTypes", "FortranTypes{{{0}}}"),
    "recvtypes": ("FortranTypes", "FortranTypes{{{0}}}"),
    "request": ("FortranRequest", "FortranRequest{{{0}}}"),
    "requests": ("FortranRequest", "FortranRequest{{{0}}}"),
    "newcomm": ("FortranComm", "FortranComm{{{0}}}"),
    "freecomm": ("FortranComm", "FortranComm{{{0}}}"),
}
FROM_FORTRAN["file"] = ("MPI_File", "PMPI_File_f2c(*static_cast<const MPI_Fint*>({0}))")
FROM_FORTRAN["newfile"] = ("FortranFile", "FortranFile{{{0}}}")
FROM_FORTRAN["text"] = ("const char*", "static_cast<const char*>({0})")
FROM_FORTRAN["newwin"] = ("FortranWin", "FortranWin{{{0}}}")
for _role in ("type", "sendtype", "recvtype", "anytype"):
    FROM_FORTRAN[_role] = ("MPI_Datatype", "PMPI_Type_f2c(*static_cast<const MPI_Fint*>({0}))")
FROM_FORTRAN["group"] = ("MPI_Group", "PMPI_Group_f2c(*static_cast<const MPI_Fint*>({0}))")
FROM_FORTRAN["started"] = ("MPI_Request", "PMPI_Request_f2c(*static_cast<const MPI_Fint*>({0}))")
FROM_FORTRAN["bigcount"] = ("MPI_Count", "*static_cast<const MPI_Count*>({0})")
FROM_FORTRAN["op"] = ("MPI_Op", "PMPI_Op_f2c(*static_cast<const MPI_Fint*>({0}))")
FROM_FORTRAN["info"] = ("MPI_Info", "PMPI_Info_f2c(*static_cast<const MPI_Fint*>({0}))")
FROM_FORTRAN["size"] = ("MPI_Offset*", "static_cast<MPI_Offset*>({0})")
FROM_FORTRAN["offset"] = ("MPI_Offset", "*static_cast<const MPI_Offset*>({0})")
for _role in ("in", "out", "status", "statuses"):
    FROM_FORTRAN[_role] = ("void*", "{0}")
for _role in ("sendcounts", "nsendcounts", "recvcounts", "displs", "flag", "index", "outcount"):
    FROM_FORTRAN[_role] = ("const int*", "static_cast<const int*>({0})")
FROM_FORTRAN["indices"] = FROM_FORTRAN["index"]
for _role in INTS:
    FROM_FORTRAN[_role] = ("int", "*static_cast<const int*>({0})")


def fortran_parameters(call: Call) -> tuple[list[str], str, str]:
    """Return the arguments of a function of Fortran: names, declarations, types.

    All are addresses, with that of the error last; lengths of texts follow.
    """
    names = [f"f{i}" for i in range(len(call.roles))] + ["error"]
    types = ["void*"] * len(names)
    lengths = [f"length{i}" for i in range(call.roles.count("text"))]
    names += lengths
    types += ["std::size_t"] * len(lengths)
    declared = ", ".join(f"{kind} {name}" for kind, name in zip(types, names, strict=True))
    return names, declared, ", ".join(types)


def fortran_wrapper(call: Call, suffix: str) -> str:
    """Return a Fortran wrapper."""
    names, declared, types = fortran_parameters(call)
    symbol = f"{call.name.lower()}{suffix}"
    statements = [*before(call, "Fortran"), *after(call)]
    text = " ".join(statements)
    conversions = []
    for role, name, raw in zip(call.roles, call.names, names, strict=False):
        if role not in FROM_FORTRAN or name not in words_of(text):
            continue
        kind, expression = FROM_FORTRAN[role]
        conversions.append(
            (role, f"[[maybe_unused]] {kind} const {name} = {expression.format(raw)};")
        )
    given = list(names)
    if needs_status(call):
        at = call.roles.index("status" if call.has("status") else "statuses")
        given[at] = "from.pointer()"
    body = [
        f"using Real = void (*)({types});",
        f'static const Real real = reinterpret_cast<Real>(next_symbol("{symbol}"));',
        "const Scope scope;",
        f"if (!scope.counts()) return real({', '.join(names)});",
        "int own_error = MPI_SUCCESS;",
        "if (error == nullptr) error = &own_error;  // optional in mpi_f08",
        *[line for _, line in conversions],
        *[line.replace("in_place(", "fortran_in_place(") for line in before(call, "Fortran")],
        "const Tick begin = now();",
        f"real({', '.join(given)});",
        "const Tick end = now();",
        "[[maybe_unused]] const bool ok = *static_cast<const int*>(error) == MPI_SUCCESS;",
        "[[maybe_unused]] const std::uint32_t row = count_call("
        f"scope.thread(), {call.number}, TAILRACE_CALLER, comm, bytes, begin, end);",
        *[
            line.replace("INDEX(", "-1 + (").replace("TEXT_LENGTH", "length0")
            for line in after(call)
        ],
    ]
    return f"void {symbol}({declared}) {{\n  " + "\n  ".join(body) + "\n}\n"


def fortran_site(call: Call, suffix: str) -> str:
    """Return a Fortran wrapper that only says from where the C wrapper will be called."""
    names, declared, types = fortran_parameters(call)
    symbol = f"{call.name.lower()}{suffix}"
    body = [
        f"using Real = void (*)({types});",
        f'static const Real real = reinterpret_cast<Real>(next_symbol("{symbol}"));',
        "const FortranSite site(__builtin_return_address(0));",
        f"real({', '.join(names)});",
    ]
    return f"void {symbol}({declared}) {{\n  " + "\n  ".join(body) + "\n}\n"


def words_of(text: str) -> set[str]:
    """Return the identifiers of a piece of C++."""
    cleaned = "".join(c if c.isalnum() or c == "_" else " " for c in text)
    return set(cleaned.split())
