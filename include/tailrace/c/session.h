/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks split into those that compute and those that serve output. See tailrace.h for the rules of
   all calls. */
#ifndef TAILRACE_C_SESSION_H
#define TAILRACE_C_SESSION_H

#include <stdint.h>

#include "tailrace/c/output.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tailrace_session tailrace_session;

/* Splits the ranks of `world`. `options` say who writes; NULL: the defaults. Fails on all ranks
   alike: TAILRACE_INVALID_INPUT for options out of range, and for those of the files and of what is
   written; TAILRACE_IO if a server cannot be started. Collective, blocking. */
int tailrace_session_create(MPI_Comm world, const tailrace_output_options* options,
                            tailrace_session** session);
/* The same from a communicator of Fortran. */
int tailrace_session_create_fortran(MPI_Fint world, const tailrace_output_options* options,
                                    tailrace_session** session);
/* 1 where this rank computes. Local. */
int tailrace_session_computes(const tailrace_session* session, int* computes);
/* The ranks that compute (a new handle). Only where they do. Collective over them, blocking. */
int tailrace_session_comm(const tailrace_session* session, tailrace_comm** comm);
/* Serves until all compute ranks have closed; `*lost` is 1 if output was lost. Only where this rank
   does not compute. Blocking. */
int tailrace_session_serve(tailrace_session* session, int* lost);
/* Number of servers (0: none), transport, and a line about both. Local. */
int tailrace_session_num_servers(const tailrace_session* session, int* num_servers);
int tailrace_session_transport(const tailrace_session* session, const char** name);
int tailrace_session_describe(const tailrace_session* session, const char** text);
/* Opens an output. `options` say what is written, and how; NULL: the defaults. Names are distinct;
   the same calls in the same order on all compute ranks. TAILRACE_INVALID_INPUT on all of them for
   options out of range, and for those of who writes. Collective over the compute ranks, blocking.
 */
int tailrace_session_open_output(tailrace_session* session, const char* name,
                                 const tailrace_output_options* options, tailrace_output** output);
/* Finishes all outputs and ends the servers; fails as `tailrace_output_finish`. Collective over the
   compute ranks, blocking. */
int tailrace_session_close(tailrace_session* session);
/* Closes if that has not been done; errors are then only printed. Collective, blocking. */
int tailrace_session_destroy(tailrace_session** session);

/* The rest of a program that `server_program` names, instead of MPI_Init: serves, with these
   functions, the programs that started it, until they have left. `words` are those that follow its
   own. `*exit_status` is what `main` is to return: 0 if nothing was lost; a failure is printed. It
   takes no cores and open files of its parent over, runs at a lower priority, and makes no MPI
   call. Blocking. */
int tailrace_serve_as_process(int num_words, const char* const* words, int num_functions,
                              const tailrace_function* functions, int* exit_status);

#ifdef __cplusplus
}
#endif
#endif
