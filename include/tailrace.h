/* SPDX-License-Identifier: BSD-3-Clause */
/* Tailrace from C (C11): parallel arrays moved between layouts, transformed, and written to HDF5
   files while the program computes.

   #include "tailrace.h"
   ...
   tailrace_comm* comm = NULL;
   if (tailrace_comm_create(MPI_COMM_WORLD, &comm) != TAILRACE_OK) fail(tailrace_error());

   Rules of all functions:
   - A function that can fail returns an int: TAILRACE_OK (0) or a `tailrace_status`. What went
   wrong is then reported by `tailrace_error()` and the functions next to it, for the last failed
   call of this thread. No C++ exception leaves the library.
   - Handles are opaque. `..._create` makes one and `..._destroy(&handle)` ends it and sets it to
     NULL; destroying NULL does nothing. Any other call refuses a handle that is NULL, destroyed or
     of another kind (TAILRACE_INVALID_INPUT). A handle keeps alive what it was made from: a
     communicator may be destroyed before an exchange on it.
   - "Collective" calls are made by all ranks of the communicator, in the same order; they fail on
     all ranks alike. Only a handle that is refused, or NULL where an address is wanted for the
     result, fails on its rank alone.
   - Arrays are the caller's, and never copied but where a call says so. Sizes are counted in items,
     if the name does not end in _bytes. Items are row-major, the last axis is the fastest.
   - Texts that functions return belong to the handle, until the next text of that handle.
   - Calls come from one thread at a time, the rank's main thread where they are collective.
   docs/bindings.md has the table of C++, C and Fortran calls, and says what C and Fortran lack. */
#ifndef TAILRACE_H
#define TAILRACE_H

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
