/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Calls of MPI that the watch has seen in this process: 0 after a test means that it is not in the
   way of the calls, and would see nothing. */
long mpi_threads_watch_calls(void);

#ifdef __cplusplus
}
#endif
