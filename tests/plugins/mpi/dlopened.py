# SPDX-License-Identifier: BSD-3-Clause
"""A program that opens the MPI library itself: ``dlopened.py LIBRARY``; seven barriers."""

import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL if sys.argv[2] == "global" else 0)
world: object = 0x44000000  # MPICH
if "40" in sys.argv[1]:
    world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
mpi.MPI_Init(None, None)
for _ in range(7):
    mpi.MPI_Barrier(world)
mpi.MPI_Finalize()
