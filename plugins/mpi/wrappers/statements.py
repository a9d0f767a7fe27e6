# SPDX-License-Identifier: BSD-3-Clause
"""Statements of a wrapper before and after the call proper."""

from calls import Call, bytes_of

BLOCKING_SENDS = ("MPI_Send", "MPI_Ssend", "MPI_Rsend")  # they may wait for their receive

STARTS = {"MPI_Start": "*request_", "MPI_Startall": "requests_[i]"}
STARTED = {  # their bytes
    "MPI_Start": "persistent_bytes(*request_)",
    "MPI_Startall": "total_started(requests_, number_)",
}

BEFORE_COMPLETION = {
    "request": "const Watched watched(1, [&](int) {{ return *request_; }}, {blocks});",
    "requests": "const Watched watched(number_, [&](int i) {{ return requests_[i]; }}, {blocks});",
}

EPOCHS = {  # of one-sided communication
    "MPI_Win_fence": "if (ok) fenced(win_, begin, end, row);",
    "MPI_Win_post": "if (ok) exposed(win_, group_, begin, row);",
    "MPI_Win_wait": "if (ok) exposure_ended(win_, begin, end, row);",
    "MPI_Win_test": "if (ok && *flag_ != 0) exposure_ended(win_, begin, end, row);",
    "MPI_Win_start": "if (ok) accessed(win_, group_, begin, end, row);",
    "MPI_Win_complete": "if (ok) access_ended(win_, begin, end, row);",
    "MPI_Win_free": "if (ok) win_freed(freeing, begin, end, row);",
}


def after(call: Call) -> list[str]:
    """Return the statements that follow the call proper."""
    lines = []
    if call.kind not in ("p2p", "wait") and call.wait != "-":
        root = "root_" if call.has("root") else "-1"
        lines.append(f"collective(comm, EventKind::{call.wait}, {root}, begin, end, row);")
    lines += on_messages(call)
    if call.name in ("MPI_Cancel", "MPI_Request_free"):
        lines.append(f"watched.gone({'true' if call.name == 'MPI_Cancel' else 'false'});")
    if call.name == "MPI_Request_free":
        lines.append("if (ok) freed(freeing);")
    if call.has("newcomm") and call.name != "MPI_Comm_idup":
        lines.append("if (ok && *newcomm_ != MPI_COMM_NULL) comm_index(*newcomm_);")
    if call.has("newwin", "comm"):
        lines.append("if (ok) win_made(*newwin_, comm);")
    if call.name in EPOCHS:
        lines.append(EPOCHS[call.name])
    if call.kind == "wait":
        lines += completion(call)
    return lines + on_files(call)


def on_messages(call: Call) -> list[str]:
    """Return the statements after a call that sends, receives, or prepares that."""
    end = "end" if call.name.removesuffix("_c") in BLOCKING_SENDS else "begin"
    peer = "true, dest_" if call.has("dest") else "false, source_"
    is_partitioned = "true" if call.wait == "partitioned" else "false"
    kept = f"if (ok) persistent(*request_, comm, {peer}, tag_, each, {is_partitioned});"
    post = "if (ok) posted(*request_, comm, source_, {}, begin);"
    found = "ok && *flag_ != 0" if call.has("flag") else "ok"
    got = f"if ({found}) received(comm, from.source(), from.tag(), begin, end, row);"
    sent = f"sent(comm, dest_, tag_, bytes, begin, {end}, row)"
    is_pending = call.has("request")
    lines = {
        "send": [f"Event* const event = {sent};", "if (ok) sending(*request_, event);"]
        if is_pending
        else [f"{sent};"],
        "recv": [got],
        "sendrecv": ["sent(comm, dest_, tag_, bytes, begin, begin, row);", got],
        "post": [post.format("tag_")],
        "exchange": [f"{sent};", post.format("recvtag_")],
        "persistent": [kept],
        "partitioned": [kept],
    }.get(call.wait, [])
    if call.name in STARTS:
        loop = "" if call.has("request") else "for (int i = 0; i < number_; ++i) "
        lines.append(f"if (ok) {loop}started({STARTS[call.name]}, begin, row);")
    if call.name.startswith("MPI_Pready"):
        lines.append("if (ok) parts_ready(started_, begin);")
    if call.has("target", "type"):
        lines.append("moved(comm, target_, bytes);")
    return lines


def on_files(call: Call) -> list[str]:
    """Return the statements after a call on a file."""
    if call.name == "MPI_File_open":
        given = "text_, TEXT_LENGTH, end - begin"
        return [f"if (ok) mpi_file_opened(*newfile_, {given});"]
    if call.has("newfile"):
        return ["if (ok) mpi_file_closed(closing, end - begin);"]
    if not call.has("file"):
        return []
    what = "nothing"
    if call.has("count"):
        what = "read" if "read" in call.name else "written"
    return [f"mpi_file_used(file_, Moved::{what}, bytes, end - begin);"]


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
    lines = [f"const unsigned comm = {comm_of(call)};"]
    if call.has("freecomm"):
        lines.append("forget_comm(*freecomm_);")
    if call.has("newfile") and not call.has("text"):
        lines.append("const MPI_File closing = *newfile_;")
    if call.name == "MPI_Request_free":
        lines.append("const MPI_Request freeing = *request_;")
    if call.name == "MPI_Win_free":
        lines.append("const MPI_Win freeing = *newwin_;")
    size = STARTED.get(call.name) or bytes_of(call)
    if "info." in size:
        lines.append("[[maybe_unused]] CommInfo& info = comm_info(comm);")
    if call.wait in ("persistent", "partitioned"):  # moves nothing yet
        lines.append(f"const std::int64_t each = {size};")
        size = "0"
    lines.append(f"const std::int64_t bytes = {size};")
    if needs_status(call):
        role = "status" if call.has("status") else "statuses"
        kind = "One" if call.has("status") else "All"
        lines.append(f"{flavour}Status{kind} from({role}_);")
    if call.kind == "wait" or call.name in ("MPI_Cancel", "MPI_Request_free"):
        blocks = "true" if call.name.startswith("MPI_Wait") else "false"
        watched = BEFORE_COMPLETION["request" if call.has("request") else "requests"]
        lines.append(watched.format(blocks=blocks))
    return lines


def comm_of(call: Call) -> str:
    """Return the C++ expression of the index of the communicator of a call."""
    if call.has("comm"):
        return "comm_index(comm_)"
    if call.has("freecomm"):
        return "comm_index(*freecomm_)"
    if call.name == "MPI_Win_free":
        return "win_comm(*newwin_)"
    return "win_comm(win_)" if call.has("win") else "0"
