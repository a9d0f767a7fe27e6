// SPDX-License-Identifier: BSD-3-Clause
// The C names, and those with large counts of MPI 4. What is passed on goes to the library behind
// ours, which may be the one that naps (waiting.hpp).
#include "collectives/calls.hpp"
#include "common/mpi_start.hpp"

namespace tailrace::plugins {

int fail(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace tailrace::plugins

using namespace tailrace::plugins;

#define NEXT(name) const auto next = TAILRACE_NEXT(name)

extern "C" {
#pragma GCC visibility push(default)

int MPI_Barrier(MPI_Comm comm) {
  NEXT(MPI_Barrier);
  return barrier(comm, [&] { return next(comm); });
}

#define TAILRACE_BCAST(name, Count)                                               \
  int name(void* data, Count count, MPI_Datatype type, int root, MPI_Comm comm) { \
    NEXT(name);                                                                   \
    return bcast(data, count, type, root, comm,                                   \
                 [&] { return next(data, count, type, root, comm); });            \
  }

#define TAILRACE_REDUCE(name, Count)                                                       \
  int name(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, \
           MPI_Comm comm) {                                                                \
    NEXT(name);                                                                            \
    return reduce(in, out, count, type, op, root, comm,                                    \
                  [&] { return next(in, out, count, type, op, root, comm); });             \
  }

#define TAILRACE_ALLREDUCE(name, Count)                                                           \
  int name(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) { \
    NEXT(name);                                                                                   \
    return allreduce(in, out, count, type, op, comm,                                              \
                     [&] { return next(in, out, count, type, op, comm); });                       \
  }

#define TAILRACE_ALLGATHER(name, Count)                                                            \
  int name(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,       \
           MPI_Datatype out_type, MPI_Comm comm) {                                                 \
    NEXT(name);                                                                                    \
    return allgather(in, in_count, in_type, out, out_count, out_type, comm,                        \
                     [&] { return next(in, in_count, in_type, out, out_count, out_type, comm); }); \
  }

#define TAILRACE_ALLGATHERV(name, Count, Displ)                                                  \
  int name(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts, \
           const Displ* displs, MPI_Datatype out_type, MPI_Comm comm) {                          \
    NEXT(name);                                                                                  \
    return allgatherv(in, in_count, in_type, out, counts, displs, out_type, comm, [&] {          \
      return next(in, in_count, in_type, out, counts, displs, out_type, comm);                   \
    });                                                                                          \
  }

#define TAILRACE_ALLTOALL(name, Count)                                                            \
  int name(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,      \
           MPI_Datatype out_type, MPI_Comm comm) {                                                \
    NEXT(name);                                                                                   \
    return alltoall(in, in_count, in_type, out, out_count, out_type, comm,                        \
                    [&] { return next(in, in_count, in_type, out, out_count, out_type, comm); }); \
  }

#define TAILRACE_ALLTOALLV(name, Count, Displ)                                                     \
  int name(const void* in, const Count* in_counts, const Displ* in_displs, MPI_Datatype in_type,   \
           void* out, const Count* out_counts, const Displ* out_displs, MPI_Datatype out_type,     \
           MPI_Comm comm) {                                                                        \
    NEXT(name);                                                                                    \
    return alltoallv(in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type,     \
                     comm, [&] {                                                                   \
                       return next(in, in_counts, in_displs, in_type, out, out_counts, out_displs, \
                                   out_type, comm);                                                \
                     });                                                                           \
  }

TAILRACE_BCAST(MPI_Bcast, int)
TAILRACE_REDUCE(MPI_Reduce, int)
TAILRACE_ALLREDUCE(MPI_Allreduce, int)
TAILRACE_ALLGATHER(MPI_Allgather, int)
TAILRACE_ALLGATHERV(MPI_Allgatherv, int, int)
TAILRACE_ALLTOALL(MPI_Alltoall, int)
TAILRACE_ALLTOALLV(MPI_Alltoallv, int, int)
#if MPI_VERSION >= 4
TAILRACE_BCAST(MPI_Bcast_c, MPI_Count)
TAILRACE_REDUCE(MPI_Reduce_c, MPI_Count)
TAILRACE_ALLREDUCE(MPI_Allreduce_c, MPI_Count)
TAILRACE_ALLGATHER(MPI_Allgather_c, MPI_Count)
TAILRACE_ALLGATHERV(MPI_Allgatherv_c, MPI_Count, MPI_Aint)
TAILRACE_ALLTOALL(MPI_Alltoall_c, MPI_Count)
TAILRACE_ALLTOALLV(MPI_Alltoallv_c, MPI_Count, MPI_Aint)
#endif
}
