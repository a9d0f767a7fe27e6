// SPDX-License-Identifier: BSD-3-Clause
// Fortran's names of Open MPI, which do not call C's (mpif.h, use mpi: NAME_; mpi_f08: NAME_f08_).
// What is passed on goes to Fortran's as it came. Of MPICH, all but the barrier of mpi_f08 call
// C's.
#include "collectives/calls.hpp"
#include "common/fortran.hpp"

namespace tailrace::plugins {

namespace {

MPI_Comm comm_at(const void* handle) {
  return PMPI_Comm_f2c(*static_cast<const MPI_Fint*>(handle));
}

#ifdef OPEN_MPI

MPI_Datatype type_at(const void* handle) {
  return PMPI_Type_f2c(*static_cast<const MPI_Fint*>(handle));
}
MPI_Op op_at(const void* handle) { return PMPI_Op_f2c(*static_cast<const MPI_Fint*>(handle)); }
int int_at(const void* number) { return *static_cast<const int*>(number); }
const int* ints_at(const void* numbers) { return static_cast<const int*>(numbers); }
const void* in_at(const void* buffer) { return fortran_in_place(buffer) ? MPI_IN_PLACE : buffer; }

#endif

}  // namespace
}  // namespace tailrace::plugins

using namespace tailrace::plugins;

// A wrapper that makes `...`, with `pass`, and leaves its code in `error`.
#define TAILRACE_FORTRAN(name, parameters, arguments, ...)                             \
  void name parameters {                                                               \
    static void* const next = next_symbol(#name);                                      \
    int own_error = MPI_SUCCESS;                                                       \
    const auto pass = [&] { return call_fortran(next, error, own_error, arguments); }; \
    const int code = __VA_ARGS__;                                                      \
    if (error != nullptr) *static_cast<int*>(error) = code;                            \
  }
#define WORDS(...) __VA_ARGS__

extern "C" {
#pragma GCC visibility push(default)

#ifdef OPEN_MPI

#define TAILRACE_BARRIER(name) \
  TAILRACE_FORTRAN(name, (void* comm, void* error), WORDS(comm), barrier(comm_at(comm), pass))
#define TAILRACE_BCAST(name)                                                                   \
  TAILRACE_FORTRAN(name,                                                                       \
                   (void* data, void* count, void* type, void* root, void* comm, void* error), \
                   WORDS(data, count, type, root, comm),                                       \
                   bcast(data, int_at(count), type_at(type), int_at(root), comm_at(comm), pass))
#define TAILRACE_REDUCE(name)                                                                    \
  TAILRACE_FORTRAN(name,                                                                         \
                   (void* in, void* out, void* count, void* type, void* op, void* root,          \
                    void* comm, void* error),                                                    \
                   WORDS(in, out, count, type, op, root, comm),                                  \
                   reduce(in_at(in), out, int_at(count), type_at(type), op_at(op), int_at(root), \
                          comm_at(comm), pass))
#define TAILRACE_ALLREDUCE(name)                                                               \
  TAILRACE_FORTRAN(                                                                            \
      name, (void* in, void* out, void* count, void* type, void* op, void* comm, void* error), \
      WORDS(in, out, count, type, op, comm),                                                   \
      allreduce(in_at(in), out, int_at(count), type_at(type), op_at(op), comm_at(comm), pass))
#define TAILRACE_OF_BLOCKS(name, call)                                                         \
  TAILRACE_FORTRAN(name,                                                                       \
                   (void* in, void* in_count, void* in_type, void* out, void* out_count,       \
                    void* out_type, void* comm, void* error),                                  \
                   WORDS(in, in_count, in_type, out, out_count, out_type, comm),               \
                   call(in_at(in), int_at(in_count), type_at(in_type), out, int_at(out_count), \
                        type_at(out_type), comm_at(comm), pass))
#define TAILRACE_ALLGATHERV(name)                                                                  \
  TAILRACE_FORTRAN(name,                                                                           \
                   (void* in, void* in_count, void* in_type, void* out, void* counts,              \
                    void* displs, void* out_type, void* comm, void* error),                        \
                   WORDS(in, in_count, in_type, out, counts, displs, out_type, comm),              \
                   allgatherv(in_at(in), int_at(in_count), type_at(in_type), out, ints_at(counts), \
                              ints_at(displs), type_at(out_type), comm_at(comm), pass))
#define TAILRACE_ALLTOALLV(name)                                                               \
  TAILRACE_FORTRAN(                                                                            \
      name,                                                                                    \
      (void* in, void* in_counts, void* in_displs, void* in_type, void* out, void* out_counts, \
       void* out_displs, void* out_type, void* comm, void* error),                             \
      WORDS(in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm),   \
      alltoallv(in_at(in), ints_at(in_counts), ints_at(in_displs), type_at(in_type), out,      \
                ints_at(out_counts), ints_at(out_displs), type_at(out_type), comm_at(comm), pass))

TAILRACE_BARRIER(mpi_barrier_)
TAILRACE_BARRIER(mpi_barrier_f08_)
TAILRACE_BCAST(mpi_bcast_)
TAILRACE_BCAST(mpi_bcast_f08_)
TAILRACE_REDUCE(mpi_reduce_)
TAILRACE_REDUCE(mpi_reduce_f08_)
TAILRACE_ALLREDUCE(mpi_allreduce_)
TAILRACE_ALLREDUCE(mpi_allreduce_f08_)
TAILRACE_OF_BLOCKS(mpi_allgather_, allgather)
TAILRACE_OF_BLOCKS(mpi_allgather_f08_, allgather)
TAILRACE_OF_BLOCKS(mpi_alltoall_, alltoall)
TAILRACE_OF_BLOCKS(mpi_alltoall_f08_, alltoall)
TAILRACE_ALLGATHERV(mpi_allgatherv_)
TAILRACE_ALLGATHERV(mpi_allgatherv_f08_)
TAILRACE_ALLTOALLV(mpi_alltoallv_)
TAILRACE_ALLTOALLV(mpi_alltoallv_f08_)

#else

TAILRACE_FORTRAN(mpi_barrier_f08_, (void* comm, void* error), WORDS(comm),
                 barrier(comm_at(comm), pass))

#endif
}
