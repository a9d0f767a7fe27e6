# SPDX-License-Identifier: BSD-3-Clause
"""The Python face on the ranks of a job: `mpirun -n N python face_program.py FOLDER [CASE ...]`.

Runs the functions whose names begin with case_; the job fails with the first that does.
"""

import os
import sys
import traceback

import face_files
import face_moves
from face_common import COMM, FOLDER


def main() -> None:
    cases = {**vars(face_moves), **vars(face_files)}
    chosen = sys.argv[2:] or [name for name in cases if name.startswith("case_")]
    for name in chosen:
        try:
            cases[name]()
        except BaseException:
            print(f"rank {COMM.rank} of {COMM.size}: {name}", file=sys.stderr)
            traceback.print_exc()
            sys.stderr.flush()
            COMM.Abort(1)
    if COMM.rank == 0:
        print(f"{len(chosen)} cases passed")


if __name__ == "__main__":
    os.chdir(FOLDER)
    main()
