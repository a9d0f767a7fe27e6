# SPDX-License-Identifier: BSD-3-Clause
"""A selection file for MPICH 3.4 to 4.x: ``MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE``.

The file replaces the selection of all collectives, and MPICH stops if it finds none for one. So
the rules are put into the selection that the library itself holds: a JSON text inside its shared
object (or one given by hand).
"""

import json
import re
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.tuning.rules import Rule, Rules

Tree = dict[str, Any]

# What an algorithm asks for beyond what its caller may pass, and what serves instead.
PLAIN_ALLREDUCE: Tree = {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}}


def own_selection(library: Path) -> Tree:
    """Return the selection that the shared object of MPICH holds."""
    try:
        content = library.read_bytes()
    except OSError as error:
        raise TailraceError(f"{library}: {error.strerror}") from None
    for found in re.finditer(rb'\{"collective=[^\x00]*', content):
        if b"algorithm=MPIR_Alltoall_intra" in found[0]:
            tree: Tree = json.loads(found[0])
            return tree
    raise TailraceError(
        f"{library} contains no selection of collectives (not MPICH 3.4 to 4.x, or linked "
        "statically); give a file with one by --base (coll_selection.json or generic.json of its "
        "source)"
    )


def read_base(path: Path) -> Tree:
    """Return the selection of a file."""
    try:
        tree = json.loads(path.read_text())
    except OSError as error:
        raise TailraceError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise TailraceError(f"{path} is not JSON: {error}") from None
    if not isinstance(tree, dict) or not all(key.startswith("collective=") for key in tree):
        raise TailraceError(f"{path} is not a selection file of MPICH collectives")
    return tree


def _leaf(collective: str, rule: Rule, otherwise: Tree) -> Tree:
    if rule.number == 0:
        return otherwise
    leaf: Tree = {f"algorithm=MPIR_{collective.capitalize()}_intra_{rule.algorithm}": {}}
    if collective == "allreduce" and rule.algorithm != "recursive_doubling":
        counted = {"count<pow2": PLAIN_ALLREDUCE, "count=any": leaf}
        return {"is_op_built_in=no": PLAIN_ALLREDUCE, "is_op_built_in=yes": counted}
    return leaf


def _by_size(collective: str, rules: list[Rule], otherwise: Tree) -> Tree:
    tree: Tree = {}
    for rule, following in zip(rules, [*rules[1:], None], strict=True):
        limit = f"avg_msg_size<{following.from_bytes}" if following else "avg_msg_size=any"
        tree[limit] = _leaf(collective, rule, otherwise)
    return tree


def _by_ranks(collective: str, rules: dict[int, list[Rule]], otherwise: Tree) -> Tree:
    """Branches are tried in order: ranks below a measured number come before it."""
    tree: Tree = {}
    last = 0
    for ranks, found in rules.items():
        if ranks > last + 1:
            tree[f"comm_size<{ranks}"] = otherwise
        tree[f"comm_size<={ranks}"] = _by_size(collective, found, otherwise)
        last = ranks
    tree["comm_size=any"] = otherwise
    return tree


def text(rules: Rules, base: Tree) -> str:
    """Return the file's text: `base` with the rules in it."""
    tree: Tree = json.loads(json.dumps(base))
    for collective, of_ranks in rules.items():
        intra = tree[f"collective={collective}"]["comm_type=intra"]
        if collective == "allreduce":
            tree["collective=allreduce"]["comm_type=intra"] = _by_ranks(collective, of_ranks, intra)
        else:
            plain = intra["is_sendbuf_inplace=no"]
            intra["is_sendbuf_inplace=no"] = _by_ranks(collective, of_ranks, plain)
    return json.dumps(tree, indent=1) + "\n"
