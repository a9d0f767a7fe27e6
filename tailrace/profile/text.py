# SPDX-License-Identifier: BSD-3-Clause
"""The profile as a page of text."""

from typing import Any

from tailrace.profile.counters import counter_lines
from tailrace.profile.io import io_advice
from tailrace.profile.routines import routine_head
from tailrace.profile.windows import over_time

TOP = 15
MOST_REGIONS = 30
PARTS = 8  # of the run, in the table over time
MATRIX_RANKS = 16
LATE_RANKS = 5


def bytes_text(number: float) -> str:
    """Return a number of bytes in powers of 1024.

    >>> bytes_text(800), bytes_text(2048)
    ('800 B', '2.0 KiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:5.1f} %" if whole > 0 else "      -"


def _groups(profile: dict[str, Any]) -> list[str]:
    lines = ["Group          mean [s]   share    imbalance   slowest rank"]
    meaning = (("user_s", "USER"), ("mpi_s", "MPI"), ("sync_s", "MPI_SYNC"))
    total = sum(profile["groups"].values())
    for name, label in meaning:
        mean = profile["groups"][name]
        worst = max(profile["by_rank"], key=lambda g, n=name: g[n])  # type: ignore[misc]
        lines.append(
            f"{label:12} {mean:10.4f} {_percent(mean, total)}   {profile['imbalance'][name]:8.3f}"
            f"   {worst['rank']} ({worst[name]:.4f} s)"
        )
    return lines


def _efficiency(profile: dict[str, Any]) -> list[str]:
    values = profile["efficiency"]
    lines = [
        f"Parallel efficiency {values['parallel']:.3f} = load balance "
        f"{values['load_balance']:.3f} x communication {values['communication']:.3f}"
    ]
    if "transfer" in values:
        lines.append(
            f"Communication {values['communication']:.3f} = serialisation "
            f"{values['serialisation']:.3f} x transfer {values['transfer']:.3f}"
        )
    late = sorted(profile.get("late", []), key=lambda rank: -rank["caused_s"])[:LATE_RANKS]
    if late:
        words = [f"{rank['rank']} ({rank['caused_s']:.4f} s)" for rank in late]
        lines.append(f"Others waited for ranks {', '.join(words)}")
    return lines


def _over_time(profile: dict[str, Any]) -> list[str]:
    seconds, edges = over_time(profile, PARTS)
    if not seconds.any():
        return []
    lines = ["Time since MPI_Init [s]       USER       MPI  MPI_SYNC"]
    for number, part in enumerate(seconds):
        shares = "".join(f"{_percent(value, sum(part)):>10}" for value in part)
        lines.append(f"{edges[number]:9.3f} to {edges[number + 1]:9.3f} {shares}")
    return lines


def _regions(profile: dict[str, Any]) -> list[str]:
    regions = profile.get("regions") or []
    if not regions:
        return []
    lines = [
        "Region                        count    mean [s]      USER       MPI  MPI_SYNC imbalance"
    ]
    for region in regions[:MOST_REGIONS]:
        groups = [region[key] for key in ("user_s", "mpi_s", "sync_s")]
        shares = "".join(f"{_percent(value, region['time_s']):>10}" for value in groups)
        name = "  " * region["depth"] + region["name"].rpartition("/")[2]
        lines.append(
            f"{name:24} {region['count']:10d} {region['time_s']:11.4f}{shares}"
            f" {region['imbalance']:9.3f}"
        )
    more = len(regions) - MOST_REGIONS
    return [*lines, f"({more} more)"] if more > 0 else lines


def _routines(profile: dict[str, Any]) -> list[str]:
    """Return the routines that take the most processor time, and USER without a processor."""
    routines = profile.get("routines") or []
    if not routines:
        return []
    lines = [
        routine_head(profile),
        " share    main   mean [s]    min [s]    max [s] imbalance slowest  routine",
    ]
    *busy, idle = routines
    for routine in (*busy[:TOP], idle):
        seconds = [routine[key] for key in ("time_s", "min_rank_s", "max_rank_s")]
        place = " ".join(word for word in (routine["library"], routine["where"]) if word)
        lines.append(
            f"{_percent(routine['share'], 1)[:-2]} {_percent(routine['main']['share'], 1)[:-2]}"
            + "".join(f"{value:11.4f}" for value in seconds)
            + f"{routine['imbalance']:10.3f}{routine['slowest_rank']:8d}  {routine['function']}"
            + (f" ({place})" if place else "")
        )
    more = len(busy) - TOP
    notes = [f"({more} more)"] if more > 0 else []
    return [
        *lines,
        *notes,
        "Shares refer to the processor time outside MPI; that of (not running) to USER",
    ]


def _calls(profile: dict[str, Any]) -> list[str]:
    lines = ["Call                        count        bytes    time [s]    wait [s]  where"]
    for call in profile["calls"][:TOP]:
        lines.append(
            f"{call['name']:22} {call['count']:10d} {bytes_text(call['bytes']):>12} "
            f"{call['time_s']:11.4f} {call['wait_s']:11.4f}  {call['where']}"
        )
    more = len(profile["calls"]) - TOP
    return [*lines, f"({more} more; times are sums over the ranks)"] if more > 0 else lines


def _sizes(profile: dict[str, Any]) -> list[str]:
    lines = ["Message size               count        bytes    time [s]"]
    for size in profile["sizes"]:
        low, high = size["from_bytes"], size["below_bytes"]
        label = "0 B" if low == 0 else f"{bytes_text(low)} to < {bytes_text(high)}"
        lines.append(
            f"{label:22} {size['count']:9d} {bytes_text(size['bytes']):>12} {size['time_s']:11.4f}"
        )
    return lines


def _matrix(profile: dict[str, Any]) -> list[str]:
    cells = profile["matrix"] or profile.get("node_matrix", [])
    pairs = {(cell["from"], cell["to"]): cell for cell in cells}
    if not pairs:
        return []
    ranks = profile["ranks"]
    if ranks > MATRIX_RANKS or not profile["matrix"]:
        lines = [f"From -> to, the largest of {len(pairs)} pairs       bytes     messages"]
        largest = sorted(cells, key=lambda cell: -cell["bytes"])[:TOP]
        for cell in largest:
            pair = f"{cell['from']} -> {cell['to']}"
            lines.append(f"{pair:34} {bytes_text(cell['bytes']):>12} {cell['messages']:12d}")
        return lines
    lines = ["Bytes sent, from (line) to" + "".join(f"{to:>11}" for to in range(ranks))]
    for sender in range(ranks):
        cells = [pairs.get((sender, to)) for to in range(ranks)]
        words = [bytes_text(cell["bytes"]) if cell else "." for cell in cells]
        lines.append(f"{sender:26d}" + "".join(f"{word:>11}" for word in words))
    return lines


def _collectives(profile: dict[str, Any]) -> list[str]:
    calls = profile.get("collectives") or []
    if not calls:
        return []
    lines = ["Collective call            ranks      count  bytes given  most of a rank    time [s]"]
    for call in calls[:TOP]:
        lines.append(
            f"{call['name']:26}{call['ranks']:6d} {call['count']:10d} "
            f"{bytes_text(call['bytes']):>12} {bytes_text(call['max_rank_bytes']):>15} "
            f"{call['time_s']:11.4f}"
        )
    more = len(calls) - TOP
    return [*lines, f"({more} more)"] if more > 0 else lines


def _files(profile: dict[str, Any]) -> list[str]:
    files = profile.get("io") or []
    if not files:
        return []
    lines = [
        "  opens    reads   writes    small    jumps        read     written    time [s]  file"
    ]
    for file in files[:TOP]:
        counts = [file.get(key, 0) for key in ("opens", "reads", "writes", "small", "jumps")]
        sizes = [bytes_text(file.get(key, 0)) for key in ("read_bytes", "written_bytes")]
        lines.append(
            f"{counts[0]:7d}"
            + "".join(f" {count:8d}" for count in counts[1:])
            + "".join(f" {size:>11}" for size in sizes)
            + f" {file.get('time_s', 0.0):11.4f}  {file['path']}"
        )
        by_mpi = [file.get(key, 0) for key in ("mpi_reads", "mpi_writes")]
        if any(by_mpi):
            sizes = [bytes_text(file[key]) for key in ("mpi_read_bytes", "mpi_written_bytes")]
            lines.append(
                f"  MPI-IO {by_mpi[0]:7d} {by_mpi[1]:8d} {'':17}"
                + "".join(f" {size:>11}" for size in sizes)
                + f" {file['mpi_time_s']:11.4f}"
            )
    if len(files) > TOP:
        lines.append(f"({len(files) - TOP} more)")
    return [*lines, *(f"Advice: {line}" for line in io_advice(profile)[:LATE_RANKS])]


def _ranks(profile: dict[str, Any]) -> list[str]:
    """Return what each rank used and where it ran, of few ranks."""
    usage = [rank for rank in profile["usage"] if "max_memory_kib" in rank]
    if not usage or profile["ranks"] > MATRIX_RANKS:
        return []
    lines = ["Rank    memory  page faults  gave up core  preempted  threads  core  may use  host"]
    where = {rank["rank"]: rank["threads"] for rank in profile.get("placement") or []}
    for rank in usage:
        threads = where.get(rank["rank"], [])
        first = threads[0] if threads else {"cpu": "", "allowed": ""}
        lines.append(
            f"{rank['rank']:4d}{bytes_text(1024 * rank['max_memory_kib']):>10}"
            f"{rank.get('minor_faults', 0) + rank.get('major_faults', 0):13d}"
            f"{rank.get('waits', 0):14d}{rank.get('preemptions', 0):11d}"
            f"{len(threads):9d}{first['cpu']:6}{first['allowed']:>9}  {rank['host']}"
        )
    return lines


def as_text(profile: dict[str, Any]) -> str:
    """Return the page, ending in a new line."""
    parts = [
        [f"Profile of {profile['ranks']} ranks, {profile['wall_s']:.3f} s of MPI_Init to Finalize"],
        _groups(profile),
        _efficiency(profile),
        _over_time(profile),
        _regions(profile),
        _routines(profile),
        _calls(profile),
        _sizes(profile),
        _matrix(profile),
        _collectives(profile),
        _files(profile),
        _ranks(profile),
        list(counter_lines(profile)),
        [f"Note: {note}" for note in profile["notes"]],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"
