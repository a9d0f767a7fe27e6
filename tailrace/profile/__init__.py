# SPDX-License-Identifier: BSD-3-Clause
"""The profile of any MPI program: runs it with libtailrace_mpi_*.so, joins the ranks' records."""
