# SPDX-License-Identifier: BSD-3-Clause
"""What the sweeps share: wrong values, a call that is tried with each, and what was called.

`sweep` calls something with all arguments right, which must succeed; then with each argument wrong
in turn on all ranks; then, of calls whose ranks agree on their arguments, on the last rank alone.
All ranks have an exception with a text, or none has, and the job goes on. What is taken though it
is wrong must be in `ALLOWED`. A hang is ended by a watchdog, which prints where each rank stands.
"""

import ast
import faulthandler
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from face_common import COMM, FOLDER
from mpi4py import MPI

import tailrace

OWN = COMM.Dup()  # else a rank that returns would meet one that waits in a call
LAST = COMM.rank == COMM.size - 1
FAULTS = (tailrace.Error, TypeError, ValueError, KeyError, IndexError, AttributeError, OSError)
FAULTS = (*FAULTS, MemoryError)
# One in so many wrong values of each argument, another one for each argument.
EVERY = int(os.environ.get("TAILRACE_SWEEP_EVERY", "1"))
HANG_S = 40

counts = {"refused": 0, "taken": 0}
swept: dict[str, set[str]] = {}
complaints: list[str] = []

FREED = MPI.COMM_SELF.Dup()
FREED.Free()
WRONG: dict[str, Any] = {
    "None": None,
    "a text": "nonsense",
    "no text": "",
    "a negative number": -3,
    "zero": 0,
    "a fraction": 2.5,
    "not a number": float("nan"),
    "the largest int": 2**31 - 1,
    "a number of 62 bits": 1 << 62,
    "a number of 70 bits": 1 << 70,
    "a list of several things": [1, "a", None],
    "negative numbers": (-1, -1, -1),
    "huge numbers": (1 << 62, 1 << 62, 1 << 62),
    "no numbers": (),
    "an object": object(),
    "bytes": b"\xff\xfe",
    "a text with a null": "a\0b",
    "a function": len,
    "a freed communicator": FREED,
    "no communicator": MPI.COMM_NULL,
}

# Right by chance, or with a meaning of its own: (call.argument, what), as patterns.
ALLOWED: list[tuple[str, str]] = []


def allow(argument: str, *whats: str) -> None:
    ALLOWED.extend((argument, what) for what in whats)


def allowed(argument: str, what: str) -> bool:
    return any(
        re.fullmatch(one, argument) is not None and re.fullmatch(other, what) is not None
        for one, other in ALLOWED
    )


def wrong_arrays(good: np.ndarray) -> dict[str, Any]:
    """What an array may be that is not `good`."""
    fixed = good.copy()
    fixed.flags.writeable = False
    released = memoryview(good.copy())
    released.release()
    wide = np.zeros((*good.shape, 2), good.dtype)
    return {
        "another type": np.zeros(good.shape, "float16"),
        "another precision": np.zeros(good.shape, "float32"),
        "the other byte order": good.astype(good.dtype.newbyteorder(">")),
        "booleans": good > 0,
        "objects": good.astype(object),
        "records": np.zeros(good.shape, [("a", "f8")]),
        "texts": np.zeros(good.shape, "U3"),
        "a read-only array": fixed,
        "gaps": wide[..., 0],
        "backwards": good[..., ::-1],
        "one row less": good[1:],
        "one axis more": good[None],
        "no axis": np.float64(3),
        "a scalar array": np.array(3.0),
        "no items": np.zeros((0,)),
        "broadcast": np.broadcast_to(good.dtype.type(1), good.shape),
        "items between items": np.zeros(good.nbytes + 1, "u1")[1:]
        .view(good.dtype)
        .reshape(good.shape),
        "a list": good.tolist(),
        "a released buffer": released,
        "a matrix of sparse shape": {"shape": good.shape},
        **{name: WRONG[name] for name in ("None", "a text", "an object", "a fraction")},
    }


def attempt(label: str, call: Callable[[], Any]) -> bool:
    """Whether the call is refused: on all ranks, with a text, or on none."""
    (FOLDER / f"last-{COMM.rank}").write_text(label)
    faulthandler.dump_traceback_later(HANG_S, exit=True)
    faulty, text = False, ""
    try:
        made = call()
        for end in ("close", "destroy"):
            if hasattr(made, end):
                getattr(made, end)()
    except FAULTS as error:
        faulty, text = True, f"{type(error).__name__}: {error}"
    seen = OWN.allgather((faulty, text))
    faulthandler.cancel_dump_traceback_later()
    if len({one for one, _ in seen}) != 1:
        raise AssertionError(f"{label}: some ranks are refused and some are not: {seen}")
    if faulty and not text.partition(": ")[2].strip():
        complaints.append(f"{label}: refused without a word")
    counts["refused" if faulty else "taken"] += 1
    return faulty


def chosen(wrong: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """All wrong values, or one in EVERY."""
    first = sum(map(len, swept.values()))
    yield from list(wrong.items())[first % EVERY :: EVERY]


def sweep(
    name: str, call: Callable[..., Any], good: dict[str, Any], alone: bool = True,
    arguments: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Replace each argument in turn; `alone`: also on the last rank alone.

    `arguments`: of these alone, as others were swept before.
    """
    if attempt(f"{name} with nothing wrong", lambda: call(**good)):
        raise AssertionError(f"{name}: is refused though nothing is wrong")
    for key, value in good.items():
        if arguments and key not in arguments:
            continue
        array = isinstance(value, np.ndarray) and key != "extents"
        for what, wrong in chosen(wrong_arrays(value) if array else WRONG):
            label = f"{name}({key}={what})"
            changed = {**good, key: wrong}
            refused = attempt(label, lambda changed=changed: call(**changed))
            if not refused and not allowed(f"{name}.{key}", what):
                complaints.append(f"{label}: is taken")
            if alone and key != "comm":  # without a communicator a rank can tell nobody
                mixed = {**good, key: wrong if LAST else value}
                attempt(f"{label} on one rank", lambda mixed=mixed: call(**mixed))
        swept.setdefault(name, set()).add(key)


def closed(name: str, thing: Any) -> None:
    """Every call and property of something closed is refused, or says no more than that it is."""
    thing.close()
    thing.close()
    for key in public(type(thing)):
        if key in ("close", "closed"):
            continue
        method = callable(getattr(type(thing), key))
        count = len(signatures().get(f"{name}.{key}", ()))

        def call(key: str = key, method: bool = method, count: int = count) -> Any:
            found = getattr(thing, key)
            return found(*[None] * count) if method else found

        refused = attempt(f"{name}.{key} after close", call)
        if not refused and not allowed(f"{name}.{key}", "after close"):
            complaints.append(f"{name}.{key}: is taken after close")
        swept.setdefault(f"{name}.{key}", set())


def public(kind: Any) -> list[str]:
    return [key for key in dir(kind) if not key.startswith("_")]


def signatures() -> dict[str, tuple[str, ...]]:
    """Arguments of what tailrace._core has, by "function" or "Class.function", from its stub."""
    if not _known:
        tree = ast.parse((Path(tailrace.__file__).parent / "_core.pyi").read_text())
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                _known[node.name] = _arguments(node)
            for part in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(part, ast.FunctionDef) and not _is_property(part):
                    _known[f"{node.name}.{part.name}"] = _arguments(part)
    return _known


_known: dict[str, tuple[str, ...]] = {}


def _is_property(function: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in function.decorator_list)


def _arguments(function: ast.FunctionDef) -> tuple[str, ...]:
    names = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
    return tuple(name for name in names if name != "self")


def finish(words: str) -> None:
    """Print the counts; fail with what was taken or refused without a word, each once."""
    if COMM.rank == 0:
        print(f"{words}: {counts['refused']} refused, {counts['taken']} taken")
    if complaints:
        raise AssertionError("\n".join(dict.fromkeys(complaints)))
