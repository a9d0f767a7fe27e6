// SPDX-License-Identifier: BSD-3-Clause
// What is behind the handles that several files use.
#pragma once

#include <memory>
#include <string>

#include "guard.hpp"
#include "handles.hpp"
#include "tailrace.h"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/more/node_array.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::c {

TAILRACE_BEHIND(tailrace_comm, Comm)
TAILRACE_BEHIND(tailrace_layout, Layout)
TAILRACE_BEHIND(tailrace_memory, Memory)
TAILRACE_BEHIND(tailrace_node_array, NodeArray)
TAILRACE_BEHIND(tailrace_trace, Trace)
TAILRACE_BEHIND(tailrace_hints, Hints)

/// The object of a handle that may be NULL: then none.
template <class Handle>
std::shared_ptr<Object<Handle>> get_if(const Handle* handle) {
  return handle == nullptr ? nullptr : get(handle);
}

/// Hints of a handle that may be NULL.
inline Hints hints_of(const tailrace_hints* hints) {
  return hints == nullptr ? Hints() : *get(hints);
}

/// The number that C knows a box by.
tailrace_box to_c(const Box& box);
/// Throws `Errc::invalid_input` for numbers that are no box. Local.
Box from_c(const tailrace_box& box);

/// Throws `Errc::invalid_input`, where MPI would end the job, unless `raw` is the communicator of
/// one group of ranks. Local.
void require_communicator(MPI_Comm raw);
/// The communicator of a handle of Fortran. Local.
inline MPI_Comm comm_of_fortran(int handle) {
#ifdef MPI_ABI
  return MPI_Comm_fromint(handle);
#else
  return MPI_Comm_f2c(handle);
#endif
}

/// Runs `prepare`, which checks arguments and makes no MPI call, on all ranks: all fail alike.
/// Collective, blocking.
template <class Prepare>
void prepare_together(const Comm& comm, Prepare&& prepare) {
  run_agreed(comm.raw(), std::forward<Prepare>(prepare));
}

/// A line of a table of methods, whose texts end with a 0 and stay. Throws behind its end. Local.
template <class Row>
void table_row(std::span<const Row> rows, int index, const char** name, const char** summary) {
  require(index >= 0 && index < std::ssize(rows), "the table has no entry of this index");
  *name = rows[static_cast<std::size_t>(index)].name.data();
  *summary = rows[static_cast<std::size_t>(index)].summary.data();
}

}  // namespace tailrace::c
