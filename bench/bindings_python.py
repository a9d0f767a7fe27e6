# SPDX-License-Identifier: BSD-3-Clause
"""The calls of bindings_problem.hpp from Python: seconds of a call, a line of JSON each."""

import argparse
import json
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import tailrace

EDGE = 8


def main() -> None:
    """Time each call and print its line on rank 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    comm = MPI.COMM_WORLD
    rows = tailrace.slabs((EDGE, EDGE), axis=0, num_ranks=comm.size)
    columns = tailrace.slabs((EDGE, EDGE), axis=1, num_ranks=comm.size)
    u = np.ones(rows.num_items(comm.rank))
    v = np.empty(columns.num_items(comm.rank))
    x = np.ones(1)
    exchange = tailrace.Exchange(comm, rows, columns, method="alltoallv")
    reduction = tailrace.Reduction(comm, method="mpi")
    problems: dict[str, Callable[[], object]] = {
        "progress of an exchange": exchange.progress,
        "exchange of 8 x 8 doubles": lambda: exchange.run(u, v),
        "allreduce of one double": lambda: reduction.allreduce(x, "max"),
    }
    for problem, call in problems.items():
        seconds = []
        for _ in range(args.repeats + 1):
            comm.Barrier()
            start_s = MPI.Wtime()
            for _ in range(args.calls):
                call()
            seconds.append(comm.allreduce((MPI.Wtime() - start_s) / args.calls, MPI.MAX))
        if comm.rank == 0:
            record = {"problem": f"{problem}, ranks {comm.size}", "seconds": seconds[1:]}
            print(json.dumps(record), flush=True)
    reduction.close()
    exchange.close()


if __name__ == "__main__":
    main()
