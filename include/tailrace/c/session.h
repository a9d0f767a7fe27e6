/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits ranks into those that compute and those that serve output. See tailrace.h for the rules of
   all calls. */
#ifndef TAILRACE_C_SESSION_H
#define TAILRACE_C_SESSION_H

#include <stdint.h>

#include "tailrace/c/output.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tailrace_session tailrace_session;

/* Splits the ranks of `world`. `options` determine who writes; NULL: the defaults. Fails on all
   ranks alike: TAILRACE_INVALID_INPUT for options out of range, or options for files and their
   contents; TAILRACE_IO if a server cannot be started. Collective, blocking. */
int tailrace_session_create(MPI_Comm world, const tailrace_output_options* options,
                            tailrace_session** session);
/* Like `tailrace_session_create`, from a communicator of Fortran. */
int tailrace_session_create_fortran(tailrace_fint world, const tailrace_output_options* options,
                                    tailrace_session** session);
/* `*computes` is 1 if this rank computes. Local. */
int tailrace_session_computes(const tailrace_session* session, int* computes);
/* The compute ranks (a new handle). Call it only on ranks that compute. Collective over them,
   blocking. */
int tailrace_session_comm(const tailrace_session* session, tailrace_comm** comm);
/* Serves until all compute ranks have closed; `*lost` is 1 if output was lost. Call it only on
   ranks that do not compute. Blocking. */
int tailrace_session_serve(tailrace_session* session, int* lost);
/* Number of servers (0: none), transport, and a line that describes both. Local. */
int tailrace_session_num_servers(const tailrace_session* session, int* num_servers);
int tailrace_session_transport(const tailrace_session* session, const char** name);
int tailrace_session_describe(const tailrace_session* session, const char** text);
/* Opens an output. `options` determine what is written, and how; NULL: the defaults. Names must be
   distinct, and all compute ranks make the same calls in the same order. Fails on all of them with
   TAILRACE_INVALID_INPUT for options out of range, or options that determine who writes. Collective
   over the compute ranks, blocking. */
int tailrace_session_open_output(tailrace_session* session, const char* name,
                                 const tailrace_output_options* options, tailrace_output** output);
/* Finishes all outputs and ends the servers; fails like `tailrace_output_finish`. Collective over
   the compute ranks, blocking. */
int tailrace_session_close(tailrace_session* session);
/* Closes the session if it is still open; errors are then only printed. Collective, blocking. */
int tailrace_session_destroy(tailrace_session** session);

/* For the program that `server_program` names, instead of MPI_Init: serves the jobs that started
   it, with these functions, until they have ended. `words` are the arguments that follow the
   program's own. `*exit_status` is the value for `main` to return: 0 if nothing was lost; a failure
   is printed. The process does not inherit its parent's core binding or open files, runs at a lower
   priority, and makes no MPI calls. Blocking. */
int tailrace_serve_as_process(int num_words, const char* const* words, int num_functions,
                              const tailrace_function* functions, int* exit_status);

#ifdef __cplusplus
}
#endif
#endif
