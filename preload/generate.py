# SPDX-License-Identifier: BSD-3-Clause
"""Writes the wrappers of MPI calls: ``generate.py calls.txt C.cpp FORTRAN.cpp TABLE.cpp``.

Every call of the table gets a C wrapper, which calls ``PMPI_x``, and two Fortran wrappers,
``mpi_x_`` and ``mpi_x_f08_``, which pass their arguments on as they are to ``pmpi_x_`` and
``pmpi_x_f08_``: what MPI_IN_PLACE and MPI_BOTTOM mean is decided by the MPI library alone.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

INT = "int"
C_TYPES = {
    "in": "const void*",
    "out": "void*",
    "type": "MPI_Datatype",
    "sendtype": "MPI_Datatype",
    "recvtype": "MPI_Datatype",
    "ttype": "MPI_Datatype",
    "rtype": "MPI_Datatype",
    "anytype": "MPI_Datatype",
    "sendtypes": "const MPI_Datatype*",
    "recvtypes": "const MPI_Datatype*",
    "sendcounts": "const int*",
    "nsendcounts": "const int*",
    "recvcounts": "const int*",
    "displs": "const int*",
    "ints": "const int*",
    "adispls": "const MPI_Aint*",
    "aint": "MPI_Aint",
    "tdisp": "MPI_Aint",
    "comm": "MPI_Comm",
    "newcomm": "MPI_Comm*",
    "freecomm": "MPI_Comm*",
    "group": "MPI_Group",
    "info": "MPI_Info",
    "op": "MPI_Op",
    "win": "MPI_Win",
    "newwin": "MPI_Win*",
    "file": "MPI_File",
    "newfile": "MPI_File*",
    "offset": "MPI_Offset",
    "text": "const char*",
    "request": "MPI_Request*",
    "requests": "MPI_Request*",
    "status": "MPI_Status*",
    "statuses": "MPI_Status*",
    "message": "MPI_Message*",
    "flag": "int*",
    "index": "int*",
    "outcount": "int*",
    "indices": "int*",
}
INTS = ("count", "sendcount", "recvcount", "tcount", "rcount", "number", "int")
INTS += ("dest", "source", "tag", "recvtag", "root", "target")
C_TYPES.update(dict.fromkeys(INTS, INT))


@dataclass
class Call:
    """A line of the table; `names` are the arguments' names in the wrapper."""

    number: int
    name: str
    kind: str
    wait: str
    roles: list[str]
    significant: set[str]

    def __post_init__(self) -> None:
        self.names: list[str] = []
        for i, role in enumerate(self.roles):
            self.names.append(role + "_" if role not in self.roles[:i] else f"{role}_{i}")

    def has(self, *roles: str) -> bool:
        """Tell whether the call has all of these arguments."""
        return all(role in self.roles for role in roles)


def read_calls(path: Path) -> list[Call]:
    """Return the calls of the table."""
    calls = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        name, kind, wait, *roles = words
        plain = [role.rstrip(":") for role in roles]
        for role in plain:
            if role not in C_TYPES:
                sys.exit(f"{path}:{number}: unknown role {role} of {name}")
        marked = {role.rstrip(":") for role in roles if role.endswith(":")}
        calls.append(Call(len(calls), name, kind, wait, plain, marked))
    return calls


# Bytes by the arguments of a call; the first row all of whose roles it has. In place, what is
# sent lies in the receive buffer, and the arguments of the send buffer mean nothing.
BYTES = (
    (("recvcount:", "sendcounts"), "in_place(out_) ? 0 : recvcount_ * type_size(recvtype_)"),
    (
        ("recvcount:",),
        "in_place(out_) ? sendcount_ * type_size(sendtype_) : recvcount_ * type_size(recvtype_)",
    ),
    (
        ("sendcount", "recvcounts"),
        "in_place(in_) ? recvcounts_[info.rank] * type_size(recvtype_) "
        ": sendcount_ * type_size(sendtype_)",
    ),
    (
        ("sendcounts", "sendtypes"),
        "in_place(in_) ? total_of_types(recvcounts_, info.size, recvtypes_) "
        ": total_of_types(sendcounts_, info.size, sendtypes_)",
    ),
    (
        ("sendcounts",),
        "in_place(in_) ? total(recvcounts_, info.size, recvtype_) "
        ": total(sendcounts_, info.size, sendtype_)",
    ),
    (
        ("nsendcounts", "sendtypes"),
        "total_of_types(nsendcounts_, info.out_neighbours, sendtypes_)",
    ),
    (("nsendcounts",), "total(nsendcounts_, info.out_neighbours, sendtype_)"),
    (("sendcount", "source"), "sendcount_ * type_size(sendtype_)"),
    (
        ("sendcount",),
        "TIMES * (in_place(in_) ? recvcount_ * type_size(recvtype_) "
        ": sendcount_ * type_size(sendtype_))",
    ),
    (("recvcounts",), "total(recvcounts_, info.size, type_)"),
    (("count",), "count_ * type_size(type_)"),
    (("type",), "type_size(type_)"),
    ((), "0"),
)


def bytes_of(call: Call) -> str:
    """Return the C++ expression of the bytes of a call."""
    roles = {*call.roles, *(role + ":" for role in call.significant)}
    expression = next(text for needed, text in BYTES if roles.issuperset(needed))
    is_neighbour = "eighbor" in call.name
    if is_neighbour and call.has("sendcount", "recvcounts"):
        return "sendcount_ * type_size(sendtype_)"  # there is no MPI_IN_PLACE
    times = "1"
    if "lltoall" in call.name:  # a count for each member
        times = "info.out_neighbours" if is_neighbour else "info.size"
    expression = expression.replace("TIMES", times)
    # MPI_ROOT and MPI_PROC_NULL of intercommunicators: the arguments mean nothing.
    return f"root_ < 0 ? 0 : ({expression})" if call.has("root") else expression


BEFORE_COMPLETION = {
    "request": "const Watched watched(1, [&](int) { return *request_; });",
    "requests": "const Watched watched(number_, [&](int i) { return requests_[i]; });",
}


def after(call: Call) -> list[str]:
    """Return the statements that follow the call proper."""
    lines = []
    if call.kind not in ("p2p", "wait") and call.wait != "-":
        root = "root_" if call.has("root") else "-1"
        lines.append(f"collective(comm, EventKind::{call.wait}, {root}, begin, end, row);")
    if call.wait == "send":
        lines.append("sent(comm, dest_, tag_, bytes, begin);")
    elif call.wait == "recv":
        lines.append("if (ok) received(comm, from.source(), from.tag(), begin, end, row);")
    elif call.wait == "sendrecv":
        lines.append("sent(comm, dest_, tag_, bytes, begin);")
        lines.append("if (ok) received(comm, from.source(), from.tag(), begin, end, row);")
    elif call.wait == "post":
        lines.append("if (ok) posted(*request_, comm, source_, tag_);")
    elif call.wait == "loose":
        lines.append("info.is_loose = true;")
    if call.has("target", "type"):
        lines.append("moved(comm, target_, bytes);")
    if call.name in ("MPI_Cancel", "MPI_Request_free"):
        lines.append("watched.gone();")
    if call.has("newcomm") and call.name != "MPI_Comm_idup":
        lines.append("if (ok && *newcomm_ != MPI_COMM_NULL) comm_index(*newcomm_);")
    if call.has("newwin", "comm"):
        lines.append("if (ok) win_made(*newwin_, comm);")
    if call.kind == "wait":
        lines += completion(call)
    return lines


def completion(call: Call) -> list[str]:
    """Return the statements after a call that completes requests."""
    one = "watched.completed({i}, from.source({at}), from.tag({at}), begin, end, row);"
    if call.has("request"):
        condition = "ok && *flag_ != 0" if call.has("flag") else "ok"
        return [f"if ({condition}) " + one.format(i="0", at="")]
    if call.has("index"):
        condition = "ok && *flag_ != 0" if call.has("flag") else "ok"
        return [f"if ({condition} && *index_ >= 0) " + one.format(i="INDEX(*index_)", at="")]
    if call.has("outcount"):
        body = one.format(i="INDEX(indices_[i])", at="i")
        return [f"for (int i = 0; ok && i < *outcount_; ++i) {body}"]
    condition = "ok && *flag_ != 0" if call.has("flag") else "ok"
    return [f"for (int i = 0; {condition} && i < number_; ++i) " + one.format(i="i", at="i")]


def needs_status(call: Call) -> bool:
    """Tell whether the sender of a message must be read from the status."""
    return call.kind == "wait" or call.wait in ("recv", "sendrecv")


def before(call: Call, flavour: str) -> list[str]:
    """Return the statements between the scope and the call proper."""
    lines = []
    if call.has("comm"):
        lines.append("const unsigned comm = comm_index(comm_);")
    elif call.has("freecomm"):
        lines.append("const unsigned comm = comm_index(*freecomm_);")
    elif call.has("win"):
        lines.append("const unsigned comm = win_comm(win_);")
    else:
        lines.append("const unsigned comm = 0;")
    if call.has("freecomm"):
        lines.append("forget_comm(*freecomm_);")
    size = bytes_of(call)
    if "info." in size or call.wait == "loose":
        lines.append("[[maybe_unused]] CommInfo& info = comm_info(comm);")
    lines.append(f"const std::int64_t bytes = {size};")
    if needs_status(call):
        role = "status" if call.has("status") else "statuses"
        kind = "One" if call.has("status") else "All"
        lines.append(f"{flavour}Status{kind} from({role}_);")
    if call.kind == "wait" or call.name in ("MPI_Cancel", "MPI_Request_free"):
        lines.append(BEFORE_COMPLETION["request" if call.has("request") else "requests"])
    return lines


def c_wrapper(call: Call) -> str:
    """Return the C wrapper."""
    pairs = zip(call.roles, call.names, strict=True)
    parameters = ", ".join(f"{C_TYPES[role]} {name}" for role, name in pairs)
    plain = ", ".join(call.names)
    given = [
        "from.pointer()" if needs_status(call) and role in ("status", "statuses") else name
        for role, name in zip(call.roles, call.names, strict=True)
    ]
    body = [
        "const Scope scope;",
        f"if (!scope.counts()) return P{call.name}({plain});",
        *before(call, "C"),
        "const Tick begin = now();",
        f"const int code = P{call.name}({', '.join(given)});",
        "const Tick end = now();",
        "[[maybe_unused]] const bool ok = code == MPI_SUCCESS;",
        "[[maybe_unused]] const std::uint32_t row = count_call("
        f"scope.thread(), {call.number}, __builtin_return_address(0), comm, bytes, begin, end);",
        *[line.replace("INDEX(", "(") for line in after(call)],
        "return code;",
    ]
    return f"int {call.name}({parameters}) {{\n  " + "\n  ".join(body) + "\n}\n"


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
FROM_FORTRAN["newwin"] = ("FortranWin", "FortranWin{{{0}}}")
for _role in ("type", "sendtype", "recvtype"):
    FROM_FORTRAN[_role] = ("MPI_Datatype", "PMPI_Type_f2c(*static_cast<const MPI_Fint*>({0}))")
for _role in ("in", "out", "status", "statuses"):
    FROM_FORTRAN[_role] = ("void*", "{0}")
for _role in ("sendcounts", "nsendcounts", "recvcounts", "flag", "index", "outcount", "indices"):
    FROM_FORTRAN[_role] = ("const int*", "static_cast<const int*>({0})")
for _role in INTS:
    FROM_FORTRAN[_role] = ("int", "*static_cast<const int*>({0})")


def fortran_wrapper(call: Call, suffix: str) -> str:
    """Return a Fortran wrapper; all arguments are addresses, lengths of texts come last."""
    names = [f"f{i}" for i in range(len(call.roles))] + ["error"]
    lengths = [f"length{i}" for i in range(call.roles.count("text"))]
    parameters = [f"void* {name}" for name in names] + [f"std::size_t {name}" for name in lengths]
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
    passed = ", ".join(names + lengths)
    body = [
        f"using Real = void (*)({', '.join(p.rsplit(' ', 1)[0] for p in parameters)});",
        f'static const Real real = reinterpret_cast<Real>(fortran_symbol("p{symbol}"));',
        "const Scope scope;",
        f"if (!scope.counts()) return real({passed});",
        "int own_error = MPI_SUCCESS;",
        "if (error == nullptr) error = &own_error;  // optional in mpi_f08",
        *[line for _, line in conversions],
        *[line.replace("in_place(", "fortran_in_place(") for line in before(call, "Fortran")],
        "const Tick begin = now();",
        f"real({', '.join(given + lengths)});",
        "const Tick end = now();",
        "[[maybe_unused]] const bool ok = *static_cast<const int*>(error) == MPI_SUCCESS;",
        "[[maybe_unused]] const std::uint32_t row = count_call("
        f"scope.thread(), {call.number}, __builtin_return_address(0), comm, bytes, begin, end);",
        *[line.replace("INDEX(", "-1 + (") for line in after(call)],
    ]
    return f"void {symbol}({', '.join(parameters)}) {{\n  " + "\n  ".join(body) + "\n}\n"


def words_of(text: str) -> set[str]:
    """Return the identifiers of a piece of C++."""
    cleaned = "".join(c if c.isalnum() or c == "_" else " " for c in text)
    return set(cleaned.split())


HEAD = """// Generated by preload/generate.py from preload/calls.txt.
#include "wrapper.hpp"

using namespace tailrace::preload;

"""

VISIBLE = 'extern "C" {\n#pragma GCC visibility push(default)\n'


def main() -> None:
    """Write the three files."""
    calls = read_calls(Path(sys.argv[1]))
    c_file, fortran_file, table_file = map(Path, sys.argv[2:5])
    in_c = "\n".join(c_wrapper(call) for call in calls)
    c_file.write_text(HEAD + VISIBLE + in_c + "}\n")
    in_fortran = "\n".join(
        fortran_wrapper(call, suffix) for suffix in ("_", "_f08_") for call in calls
    )
    fortran_file.write_text(HEAD + VISIBLE + in_fortran + "}\n")
    rows = "\n".join(f'    {{"{call.name}", "{call.kind}"}},' for call in calls)
    table_file.write_text(
        HEAD
        + "namespace {\nstruct Named {\n  const char* name;\n  const char* kind;\n};\n"
        + f"constexpr Named names[] = {{\n{rows}\n}};\n}}  // namespace\n"
        + f"static_assert({len(calls)} <= max_calls);\n"
        + "namespace tailrace::preload {\n"
        + "const char* call_name(unsigned call) { return names[call].name; }\n"
        + "const char* call_kind(unsigned call) { return names[call].kind; }\n"
        + "}  // namespace tailrace::preload\n"
    )


if __name__ == "__main__":
    main()
