# SPDX-License-Identifier: BSD-3-Clause
"""Ranks fail together: what one rank finds wrong, all raise. For the modules written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from tailrace.errors import Error, FileFailure, InvalidInput


def require_comm(comm: Any) -> Any:
    """Return `comm`, if it is a communicator that can be used. Local: there is nobody to tell."""
    if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise InvalidInput(f"comm: needs a communicator of mpi4py, not {comm!r}")
    return comm


def together(comms: Any, check: Callable[[], Any], same: bool = False) -> Any:
    """Return what `check` gives on this rank; if it raises on one, all ranks raise.

    `comms`: a communicator, or one for each axis of a grid of ranks. `same`: `check` has to give
    the same everywhere. Collective.
    """
    result, failure = None, None
    try:
        result = check()
    except Exception as error:
        ours = isinstance(error, Error)
        failure = str(error) if ours else f"{type(error).__name__}: {error}"
    several = [comms] if isinstance(comms, MPI.Comm) else comms
    for comm in several:
        told = comm.allgather((failure, repr(result) if same else ""))
        for rank, (text, _) in enumerate(told):
            if text is not None and failure is None:
                failure = text if text.startswith("rank ") else f"rank {rank}: {text}"
        if failure is None and len({one for _, one in told}) > 1:
            failure = f"differs between ranks: {', '.join(sorted({one for _, one in told}))}"
    if failure is not None:
        raise InvalidInput(failure)
    return result


def on_rank_0(comm: MPI.Intracomm, action: Callable[[], Any]) -> Any:
    """Return what `action` gives on rank 0, once all have come; what it raises, all raise."""
    result, failure = None, None
    comm.Barrier()
    if comm.Get_rank() == 0:
        try:
            result = action()
        except Exception as error:
            failure = (getattr(error, "errno", None), str(error), isinstance(error, OSError))
    result, failure = comm.bcast((result, failure))
    if failure is not None:
        errno, text, of_file = failure
        raised: Exception = FileFailure(text) if of_file else InvalidInput(text)
        if isinstance(raised, FileFailure):
            raised.errno = errno
        raise raised
    return result
