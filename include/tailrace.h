/* SPDX-License-Identifier: BSD-3-Clause */
/* Tailrace for C (C11): moves parallel arrays between layouts, transforms them, and writes them to
   HDF5 files while the program computes.

   #include "tailrace.h"
   ...
   tailrace_comm* comm = NULL;
   if (tailrace_comm_create(MPI_COMM_WORLD, &comm) != TAILRACE_OK) fail(tailrace_error());

   Rules of all functions:
   - A function that can fail returns an int: TAILRACE_OK (0) or a `tailrace_status`. After an
     error, `tailrace_error()` and the functions next to it describe the last failed call of this
     thread. No C++ exception leaves the library.
   - Handles are opaque. `..._create` creates one; `..._destroy(&handle)` destroys it and sets it to
     NULL; destroying NULL does nothing. Any other call refuses a handle that is NULL, destroyed or
     of another kind (TAILRACE_INVALID_INPUT). A handle keeps the objects that it uses alive: a
     communicator may be destroyed before an exchange on it.
   - "Collective" calls are made by all ranks of the communicator, in the same order; they fail on
     all ranks alike. The only exceptions are a refused handle, and a NULL address for a result:
     these fail on their rank alone.
   - Arrays belong to the caller, and are copied only where a comment says so. Sizes are counted in
     items unless the name ends in _bytes. Items are row-major: the last axis is the fastest.
   - A text that a function returns belongs to the handle, and is valid until its next text.
   - Call from one thread at a time; make collective calls from the rank's main thread.
   docs/bindings.md has the table of C++, C and Fortran calls, and lists what C and Fortran lack. */
#ifndef TAILRACE_H
#define TAILRACE_H

#include "tailrace/c/array_transform.h"
#include "tailrace/c/comm.h"
#include "tailrace/c/error.h"
#include "tailrace/c/exchange.h"
#include "tailrace/c/fft.h"
#include "tailrace/c/file.h"
#include "tailrace/c/hints.h"
#include "tailrace/c/input.h"
#include "tailrace/c/layout.h"
#include "tailrace/c/log.h"
#include "tailrace/c/output.h"
#include "tailrace/c/reduction.h"
#include "tailrace/c/session.h"
#include "tailrace/c/stream.h"
#include "tailrace/c/trace.h"
#include "tailrace/c/tune.h"

#endif
