# SPDX-License-Identifier: BSD-3-Clause
"""The table of MPI calls, and the bytes that each call moves."""

import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

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
    "size": "MPI_Offset*",
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
    "bigcount": "MPI_Count",
    "started": "MPI_Request",
    "listed": "const int*",  # not const in MPICH 4.0
}
COUNTS = ("count", "sendcount", "recvcount", "tcount", "rcount")
INTS = (*COUNTS, "number", "int", "unit", "parts", "dest", "source", "tag", "recvtag", "root")
INTS += ("target",)
C_TYPES.update(dict.fromkeys(INTS, "int"))

# Types in the relatives NAME_c, where they differ.
LARGE = {
    **dict.fromkeys(COUNTS, "MPI_Count"),
    **dict.fromkeys(("sendcounts", "nsendcounts", "recvcounts"), "const MPI_Count*"),
    "displs": "const MPI_Aint*",
    "unit": "MPI_Aint",
}


# The words of the column WAIT, by kind.
WAITING = ("-", "all", "root", "toroot", "lower")
WAITS = {
    "p2p": ("-", "send", "recv", "sendrecv", "post", "exchange", "persistent", "partitioned"),
    "wait": ("-",),
    **dict.fromkeys(("collective", "onesided", "io", "other"), WAITING),
}


@dataclass
class Body:
    """What a wrapper of a plug-in calls; an empty name follows from the name of the call."""

    name: str = ""
    needs: tuple[str, ...] = ()  # calls of MPI
    roles: tuple[str, ...] = ()  # the arguments that it gets; none: all


@dataclass
class Call:
    """A line of the table; `names` are the arguments' names in the wrapper."""

    number: int
    name: str
    kind: str
    wait: str
    roles: list[str]
    significant: set[str]
    needs: int = 3  # version of MPI
    is_large: bool = False
    bodies: dict[str, Body] = field(default_factory=dict)  # by plug-in

    def __post_init__(self) -> None:
        self.names: list[str] = []
        for i, role in enumerate(self.roles):
            self.names.append(role + "_" if role not in self.roles[:i] else f"{role}_{i}")

    def c_type(self, role: str) -> str:
        """Return the C type of an argument."""
        return (LARGE if self.is_large else {}).get(role, C_TYPES[role])

    def head(self) -> str:
        """Return the head of the C function."""
        pairs = zip(self.roles, self.names, strict=True)
        return (
            f"int {self.name}({', '.join(f'{self.c_type(role)} {name}' for role, name in pairs)})"
        )

    def large(self, number: int) -> "Call":
        """Return the relative with large counts."""
        return replace(
            self,
            number=number,
            name=self.name + "_c",
            significant=set(self.significant),
            needs=4,
            is_large=True,
        )

    def fault(self) -> str:
        """Return what is wrong with the line, and what to write; "" if nothing is."""
        if self.kind not in WAITS:
            return f"unknown kind {self.kind}; there are {', '.join(WAITS)}"
        if self.wait not in WAITS[self.kind]:
            return f"WAIT of a {self.kind} call is one of {' '.join(WAITS[self.kind])}: {self.wait}"
        for role in self.roles:
            if role not in C_TYPES:
                return (
                    f"unknown role {role}; use one of C_TYPES in calls.py, or add it there, "
                    "and to walk.c of tests/plugins/mpi"
                )
        requests, statuses = {"request", "requests"}, {"status", "statuses"}
        if self.kind == "wait" and not (requests & {*self.roles} and statuses & {*self.roles}):
            return (
                "a call of kind wait completes requests: it needs an argument request or requests, "
                "and status or statuses; a call that only inspects a request is `p2p -`"
            )
        return ""

    def guarded(self, text: str) -> str:
        """Return the text, seen by the compiler only where MPI is new enough."""
        return f"#if MPI_VERSION >= {self.needs}\n{text}#endif\n" if self.needs > 3 else text

    def has(self, *roles: str) -> bool:
        """Tell whether the call has all of these arguments."""
        return all(role in self.roles for role in roles)


PLUGINS = ("waiting", "collectives", "io")
PLUGIN = re.compile(r"(?P<plugin>\w+)(=(?P<body>\w+)(\((?P<given>[\w,]+)\))?)?")


def read_bodies(text: str) -> dict[str, Body]:
    """Return the bodies of the plug-ins that wrap a call; ``ValueError`` says what is wrong."""
    bodies: dict[str, Body] = {}
    for word in text.split():
        found = PLUGIN.fullmatch(word)
        if found is None or found["plugin"] not in PLUGINS:
            raise ValueError(f"expected one of {', '.join(PLUGINS)}, with =BODY(...): {word}")
        given = (found["given"] or "").split(",")
        needs = tuple(name for name in given if name.startswith("MPI_"))
        roles = tuple(name for name in given if name and name not in needs)
        bodies[found["plugin"]] = Body(found["body"] or "", needs, roles)
    return bodies


def read_calls(path: Path) -> list[Call]:
    """Return the calls of the table, then their relatives with large counts."""
    calls: list[Call] = []
    needs = 3
    for number, line in enumerate(path.read_text().splitlines(), 1):
        about, _, plugins = line.partition("|")
        words = about.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "MPI":
            needs = int(words[1])
            continue
        if len(words) < 3:
            sys.exit(f"{path}:{number}: expected NAME KIND WAIT ARGUMENTS...: {line}")
        name, kind, wait, *roles = words
        plain = [role.rstrip(":") for role in roles]
        marked = {role.rstrip(":") for role in roles if role.endswith(":")}
        call = Call(len(calls), name, kind, wait, plain, marked, needs)
        if fault := call.fault():
            sys.exit(f"{path}:{number}: {name}: {fault}")
        try:
            call.bodies = read_bodies(plugins)
        except ValueError as error:
            sys.exit(f"{path}:{number}: {name}: {error}")
        calls.append(call)
    with_counts = [call for call in calls if any(role in LARGE for role in call.roles)]
    return calls + [call.large(len(calls) + i) for i, call in enumerate(with_counts)]


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
    (("parts", "bigcount"), "parts_ * bigcount_ * type_size(type_)"),
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
