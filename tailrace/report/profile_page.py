# SPDX-License-Identifier: BSD-3-Clause
"""The page of a profile: groups, efficiencies, call sites, messages, matrix, ranks, files."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from tailrace.planning.quantities import seconds_text
from tailrace.profile.counters import HEADS as COUNTER_HEADS
from tailrace.profile.counters import counter_rows
from tailrace.profile.io import io_advice
from tailrace.profile.routines import routine_head
from tailrace.profile.summary import MATRIX_RANKS
from tailrace.profile.text import bytes_text
from tailrace.report import profile_figures as figures
from tailrace.report.efficiency import efficiency_tree
from tailrace.report.html import fill, picture, png
from tailrace.report.style import GROUPS, OTHERS, ROUTINES, WITHOUT
from tailrace.runs.folder import Floats

Profile = dict[str, Any]

SHOWN_CALLS, MOST_CALLS = 15, 200
BAR_ROUTINES, SHOWN_ROUTINES, MOST_ROUTINES = 10, 15, 200
SHOWN_RANKS, MOST_RANKS = 16, 1024
SHOWN_FILES, MOST_FILES = 15, 200
SVG_RANKS = 1024  # beyond, a picture of pixels is smaller
CROWDED_NODES = 8

USAGE = (  # key, heading, unit
    ("user_s", "processor, user", seconds_text),
    ("system_s", "system", seconds_text),
    ("max_memory_kib", "most memory", lambda kib: bytes_text(1024 * kib)),
    ("minor_faults", "page faults", "{:,.0f}".format),
    ("major_faults", "from disk", "{:,.0f}".format),
    ("waits", "gave up the core", "{:,.0f}".format),
    ("preemptions", "was preempted", "{:,.0f}".format),
)

FILE_HEADS = ["file", "opens", "reads", "writes", "syncs", "small", "jumps", "by MPI"]
FILE_HEADS += ["read", "written", "time", "MPI-IO read", "written", "time"]


ROUTINE_HEADS = ["routine", "where", "share", "main thread", "mean", "per rank", "imbalance"]
ROUTINE_HEADS += ["slowest"]


def render_profile(profile: Profile, name: str) -> str:
    """Return the page of a profile as HTML; `name` is its title where it knows no program.

    Keys that the profile lacks leave out their part of the page.
    """
    values = parts(profile, "Where the time went")
    title = profile.get("program") or name
    return fill("profile.html.j2", title=title, cards=list(cards(profile)), **values)


def parts(profile: Profile, title: str) -> dict[str, Any]:
    """Return what `profile_parts.html.j2` shows, on this page or on that of a run."""
    calls = profile.get("calls", [])
    total_s = sum(group["wall_s"] for group in profile["by_rank"])
    return dict(
        groups_title=title,
        notes=profile.get("notes", []),
        groups_picture=_groups_picture(profile),
        group_rows=list(_group_rows(profile)),
        tree=efficiency_tree(profile),
        windows=_windows_picture(profile),
        regions=[_region_row(region) for region in profile.get("regions") or []],
        **_routine_parts(profile),
        calls=[_call_row(call, total_s) for call in calls[:SHOWN_CALLS]],
        more_calls=[_call_row(call, total_s) for call in calls[SHOWN_CALLS:MOST_CALLS]],
        num_calls=len(calls),
        most_calls=MOST_CALLS,
        sizes=_size_pictures(profile),
        matrices=_matrix_pictures(profile),
        pairs=list(_pair_rows(profile)),
        ranks_picture=_ranks_picture(profile),
        usage_heads=[heading for _, heading, _ in USAGE] + ["threads", "core", "may use"],
        usage_spread=list(_usage_spread(profile)),
        usage_rows=list(_usage_rows(profile)),
        counter_heads=COUNTER_HEADS,
        counter_rows=counter_rows(profile),
        num_ranks=profile["ranks"],
        most_ranks=MOST_RANKS,
        files=[_file_row(file) for file in _files(profile)[:SHOWN_FILES]],
        more_files=[_file_row(file) for file in _files(profile)[SHOWN_FILES:MOST_FILES]],
        num_files=len(_files(profile)),
        file_heads=FILE_HEADS,
        file_advice=io_advice(profile)[:SHOWN_FILES],
        most_files=MOST_FILES,
    )


def hosts(profile: Profile) -> list[str]:
    """Return the hosts of the ranks in order of rank, each once."""
    found = sorted(profile.get("usage", []), key=lambda usage: int(usage["rank"]))
    return list(dict.fromkeys(str(usage["host"]) for usage in found))


def cards(profile: Profile) -> Iterable[tuple[str, str]]:
    """Yield the few figures at the top of the page: text and what it means."""
    ranks, nodes = profile["ranks"], len(hosts(profile))
    yield (
        f"{ranks:,}",
        ("rank" if ranks == 1 else "ranks") + (f" on {nodes} nodes" if nodes > 1 else ""),
    )
    yield seconds_text(profile["wall_s"]), "from MPI_Init to MPI_Finalize"
    efficiency = profile.get("efficiency", {})
    for key, name in (
        ("parallel", "parallel efficiency"),
        ("load_balance", "load balance"),
        ("communication", "communication efficiency"),
    ):
        if key in efficiency:
            yield f"{100 * efficiency[key]:.0f} %", name
    total = sum(profile["groups"].values())
    if total > 0 and profile.get("matched", {"collectives": 1})["collectives"]:
        yield f"{100 * profile['groups']['sync_s'] / total:.0f} %", "waiting for late ranks"


def _groups_picture(profile: Profile) -> Markup:
    return picture(lambda axes: figures.draw_groups(axes, profile["groups"]), (9.0, 1.15))


def _group_rows(profile: Profile) -> Iterable[dict[str, str]]:
    total = sum(profile["groups"].values())
    for key, name, _ in GROUPS:
        mean = profile["groups"][key]
        worst = max(profile["by_rank"], key=lambda group, k=key: group[k])  # type: ignore[misc]
        yield {
            "name": name,
            "colour": figures.GROUP_COLOURS[key],
            "mean": seconds_text(mean),
            "share": f"{100 * mean / total:.1f} %" if total > 0 else "-",
            "imbalance": f"{100 * profile['imbalance'][key]:.1f} %",
            "worst": f"{seconds_text(worst[key])} on rank {worst['rank']}",
        }


def _windows_picture(profile: Profile) -> Markup | None:
    windows = profile.get("windows") or []
    if not any(windows):
        return None
    height = 0.8 + max(0.24 * min(len(windows), figures.NAMED_RANKS), 0.5)
    if len(windows) > figures.NAMED_RANKS:
        height = 4.0
    return picture(lambda axes: figures.draw_windows(axes, windows), (10.0, height), png)


def _region_row(region: dict[str, Any]) -> dict[str, Any]:
    time_s = region["time_s"]
    scale = 100 / time_s if time_s > 0 else 0.0
    return {
        "name": region["name"].rpartition("/")[2],
        "depth": region["depth"],
        "count": f"{region['count']:,}",
        "time": seconds_text(time_s),
        "shares": [scale * region[key] for key, _, _ in GROUPS],
        "imbalance": f"{100 * region['imbalance']:.0f} %",
        "spread": f"{seconds_text(region['min_rank_s'])} to {seconds_text(region['max_rank_s'])}",
    }


def _routine_parts(profile: Profile) -> dict[str, Any]:
    """Return what the page has of the routines: nothing where they were not sampled."""
    routines = profile.get("routines") or []
    if not routines:
        return dict(routine_head="", routines=[], more_routines=[], routine_heads=ROUTINE_HEADS)
    *busy, idle = routines  # of a bar of the first ten, and strips
    first = busy[:BAR_ROUTINES]
    in_user = sorted(busy, key=lambda one: -one["main"]["time_s"])
    bar = [
        (one["function"], one["main"]["time_s"], colour)
        for one, colour in zip(in_user, ROUTINES, strict=False)
    ]
    bar.append(("others", sum(one["main"]["time_s"] for one in in_user[len(ROUTINES) :]), OTHERS))
    bar.append((idle["function"], idle["time_s"], WITHOUT))
    names = [one["function"] for one in (*first, idle) if "rank_s" in one]
    seconds = np.array([one["rank_s"] for one in (*first, idle) if "rank_s" in one])
    strips = None
    if seconds.ndim == 2 and seconds.shape[1] > 1:
        height = 0.7 + 0.26 * len(names)
        strips = picture(
            lambda axes: figures.draw_strips(axes, names, seconds), (10.0, height), png
        )
    return dict(
        routine_head=routine_head(profile),
        routine_bar=picture(lambda axes: figures.draw_routines(axes, bar), (10.0, 1.0)),
        routine_strips=strips,
        routine_heads=ROUTINE_HEADS,
        routines=[_routine_row(one) for one in (*busy[:SHOWN_ROUTINES], idle)],
        more_routines=[_routine_row(one) for one in busy[SHOWN_ROUTINES:MOST_ROUTINES]],
    )


def _routine_row(routine: dict[str, Any]) -> list[str]:
    main = routine["main"]
    return [
        routine["function"],
        " ".join(word for word in (routine["library"], routine["where"]) if word),
        f"{100 * routine['share']:.1f} %",
        f"{100 * main['share']:.1f} %",
        seconds_text(routine["time_s"]),
        f"{seconds_text(routine['min_rank_s'])} to {seconds_text(routine['max_rank_s'])}",
        f"{100 * routine['imbalance']:.0f} %",
        f"rank {routine['slowest_rank']}",
    ]


def _call_row(call: dict[str, Any], total_s: float) -> dict[str, Any]:
    """Return the words of a call; `share` is its part of the time of all ranks [%]."""
    time_s = call["time_s"]
    wait_s = min(call.get("wait_s", 0.0), time_s)
    scale = 100 / total_s if total_s > 0 else 0.0
    return {
        "name": call["name"],
        "where": call["where"],
        "count": f"{call['count']:,}",
        "bytes": bytes_text(call["bytes"]),
        "time": seconds_text(time_s),
        "wait": seconds_text(wait_s) if wait_s > 0 else "",
        "share": f"{scale * time_s:.1f} %",
        "moving": min(100.0, scale * (time_s - wait_s)),
        "waiting": min(100.0, scale * wait_s),
        "imbalance": f"{100 * call['imbalance']:.0f} %" if "imbalance" in call else "",
        "spread": f"{seconds_text(call['min_rank_s'])} to {seconds_text(call['max_rank_s'])}"
        if "max_rank_s" in call
        else "",
    }


def _size_pictures(profile: Profile) -> list[Markup]:
    sizes = profile.get("sizes") or []
    if not sizes:
        return []
    kinds = (("count", "Calls"), ("bytes", "Bytes"), ("time_s", "Time, sum over the ranks"))
    return [
        picture(
            lambda axes, k=key, t=title: figures.draw_sizes(axes, sizes, k, t),  # type: ignore[misc]
            (3.5, 2.3),
        )
        for key, title in kinds
    ]


def byte_matrix(profile: Profile, key: str = "matrix") -> Floats:
    """Return the bytes that each rank (line) sent to each (column), ranks x ranks."""
    ranks = int(profile["ranks"])
    matrix = np.zeros((ranks, ranks))
    for cell in profile[key]:
        matrix[cell["from"], cell["to"]] += cell["bytes"]
    return matrix


def node_matrix(profile: Profile) -> tuple[Floats, list[str]]:
    """Return the bytes between nodes (within them on the diagonal), and the nodes' names."""
    names = hosts(profile)
    number: dict[Any, int] = {
        usage["rank"]: names.index(str(usage["host"])) for usage in profile["usage"]
    }
    matrix = np.zeros((len(names), len(names)))
    if "node_matrix" in profile:
        number = {name: i for i, name in enumerate(names)}
    for cell in profile["node_matrix" if "node_matrix" in profile else "matrix"]:
        if cell["from"] in number and cell["to"] in number:
            matrix[number[cell["from"]], number[cell["to"]]] += cell["bytes"]
    return matrix, names


def _matrix_pictures(profile: Profile) -> list[tuple[str, Markup]]:
    is_there = {
        key: any(cell["bytes"] > 0 for cell in profile.get(key, []))
        for key in ("matrix", "node_matrix", "collective_matrix")
    }

    def drawn(matrix: Floats, what: str, names: list[str] | None = None) -> Markup:
        def draw(axes: Axes) -> None:
            figures.draw_matrix(axes, matrix, what, names)

        return picture(draw, (4.8, 3.9), png)

    pictures = []
    if is_there["matrix"]:
        pictures.append(("Ranks", drawn(byte_matrix(profile), "rank")))
    if (is_there["matrix"] or is_there["node_matrix"]) and len(hosts(profile)) > 1:
        pictures.append(("Nodes", drawn(*_before_names(node_matrix(profile)))))
    if is_there["collective_matrix"] and profile["ranks"] <= MATRIX_RANKS:
        matrix = byte_matrix(profile, "collective_matrix")
        pictures.append(("Ranks, all-to-alls and allgathers", drawn(matrix, "rank")))
    return pictures


def _before_names(found: tuple[Floats, list[str]]) -> tuple[Floats, str, list[str]]:
    return found[0], "node", found[1]


def _pair_rows(profile: Profile) -> Iterable[list[str]]:
    largest = sorted(profile.get("matrix", []), key=lambda cell: -cell["bytes"])[:10]
    for cell in largest:
        mean = bytes_text(cell["bytes"] / max(1, cell["messages"]))
        yield [
            f"{cell['from']} to {cell['to']}",
            bytes_text(cell["bytes"]),
            f"{cell['messages']:,}",
            mean,
        ]


def _ranks_picture(profile: Profile) -> Markup | None:
    by_rank = profile["by_rank"]
    if len(by_rank) < 2:
        return None
    kind = png if len(by_rank) > SVG_RANKS else None
    arguments = (lambda axes: figures.draw_ranks(axes, by_rank), (10.0, 2.9))
    return picture(*arguments, kind) if kind else picture(*arguments)


def _usage_spread(profile: Profile) -> Iterable[list[str]]:
    """Yield name, least, mean, most and the rank of the most, of what the ranks used."""
    usage = profile.get("usage", [])
    for key, heading, words in USAGE:
        values = [(float(rank[key]), rank["rank"]) for rank in usage if key in rank]
        if values:
            numbers = [value for value, _ in values]
            most, rank = max(values, key=lambda value: value[0])
            mean = sum(numbers) / len(numbers)
            yield [heading, words(min(numbers)), words(mean), words(most), f"rank {rank}"]


def _usage_rows(profile: Profile) -> Iterable[list[str]]:
    where = {rank["rank"]: rank["threads"] for rank in profile.get("placement") or []}
    for rank in profile.get("usage", [])[:MOST_RANKS]:
        cells = [_word(words, rank.get(key)) for key, _, words in USAGE]
        threads = where.get(rank["rank"]) or []
        place = (
            [f"{len(threads)}", str(threads[0]["cpu"]), threads[0]["allowed"]] if threads else []
        )
        yield [f"{rank['rank']}", str(rank.get("host", "")), *cells, *(place or ["", "", ""])]


def _word(words: Callable[[float], str], value: float | None) -> str:
    return "" if value is None else words(value)


def _files(profile: Profile) -> list[dict[str, Any]]:
    def longest(file: dict[str, Any]) -> float:
        return max(float(file.get("time_s", 0.0)), float(file.get("mpi_time_s", 0.0)))

    return sorted(profile.get("io") or [], key=lambda file: -longest(file))


def _file_row(file: dict[str, Any]) -> list[str]:
    keys = ("opens", "reads", "writes", "syncs", "small", "jumps", "in_mpi")
    counts = [f"{file.get(key, 0):,}" for key in keys]
    read, written = (bytes_text(file.get(key, 0)) for key in ("read_bytes", "written_bytes"))
    row = [str(file["path"]), *counts, read, written, seconds_text(file.get("time_s", 0.0))]
    if not file.get("mpi_time_s"):
        return [*row, "", "", ""]
    by_mpi = (bytes_text(file.get(f"mpi_{key}", 0)) for key in ("read_bytes", "written_bytes"))
    return [*row, *by_mpi, seconds_text(file["mpi_time_s"])]
