# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms of the MPI library's own collective calls, as `tailrace tune mpi` measured them."""

import re
from pathlib import Path

from tailrace.advice.setting import Setting
from tailrace.advice.tips.situation import DoesNotApplyError, Situation
from tailrace.errors import TailraceError
from tailrace.files import write_whole
from tailrace.tuning import memory, mpich, openmpi
from tailrace.tuning.rules import Rules, collect

FAMILIES = {"Open MPI": "openmpi", "MPICH": "mpich"}
LIBMPICH = r"libmpi(ch)?\.so\.12"


def propose(situation: Situation) -> list[Setting]:
    """Propose the rules of the tuner's record, written beside it."""
    ranks = len(situation.launch.ranks)
    if ranks == 1 or situation.family not in FAMILIES:
        raise DoesNotApplyError("there is one rank, or the MPI is neither Open MPI nor MPICH")
    family = FAMILIES[situation.family]
    file = memory.default_file()
    try:
        rules, machine = collect(memory.read(file), family)
    except TailraceError as error:
        raise DoesNotApplyError("tailrace tune mpi has no measurements yet") from error
    if not any(ranks in of_ranks for of_ranks in rules.values()):
        raise DoesNotApplyError(f"tailrace tune mpi has no measurements for {ranks} ranks")
    if _version(str(machine["mpi"])) != _version(situation.launch.mpi):
        raise DoesNotApplyError(f"measured with {machine['mpi']}")
    try:
        if family == "openmpi":
            return [_open_mpi(file.parent / "collectives.conf", openmpi.text(rules, machine))]
        return [_mpich(file.parent / "collectives.json", rules, situation)]
    except TailraceError as error:
        raise DoesNotApplyError(str(error)) from error


def _version(text: str) -> tuple[str, ...]:
    """Return name and version of an MPI library, as far as algorithms are the same.

    >>> _version("Open MPI v4.1.4, package"), _version("MPICH Version:\\t4.0.2")
    (('Open MPI', '4.1'), ('MPICH', '4.0'))
    """
    found = re.search(r"(Open MPI|MPICH)\D*(\d+\.\d+)", text)
    return found.groups() if found else (text,)


def _open_mpi(path: Path, text: str) -> Setting:
    write_whole(path, text)
    rules = {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(path),
    }
    return Setting("tuned", rules)


def _mpich(path: Path, rules: Rules, situation: Situation) -> Setting:
    library = situation.loaded(LIBMPICH)
    write_whole(path, mpich.text(rules, mpich.own_selection(Path(library))))
    return Setting("tuned", {"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(path)})
