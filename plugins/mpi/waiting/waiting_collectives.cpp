// SPDX-License-Identifier: BSD-3-Clause
// The blocking collective calls: each becomes its non-blocking twin on a communicator of our own,
// tested with naps between.
#include "waiting/waiting.hpp"

using namespace tailrace::plugins;

#define NEXT TAILRACE_NEXT

extern "C" {
#pragma GCC visibility push(default)

int MPI_Barrier(MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Barrier)(comm);
  return run_on(comm, [&](MPI_Request* request) { return NEXT(MPI_Ibarrier)(own, request); });
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Bcast)(data, count, type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ibcast)(data, count, type, root, own, request);
  });
}

int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Reduce)(in, out, count, type, op, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ireduce)(in, out, count, type, op, root, own, request);
  });
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Allreduce)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iallreduce)(in, out, count, type, op, own, request);
  });
}

int MPI_Scan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Scan)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iscan)(in, out, count, type, op, own, request);
  });
}

int MPI_Exscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Exscan)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iexscan)(in, out, count, type, op, own, request);
  });
}

int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Reduce_scatter_block)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ireduce_scatter_block)(in, out, count, type, op, own, request);
  });
}

int MPI_Reduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Reduce_scatter)(in, out, counts, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ireduce_scatter)(in, out, counts, type, op, own, request);
  });
}

int MPI_Gather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Gather)(in, in_count, in_type, out, out_count, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Igather)(in, in_count, in_type, out, out_count, out_type, root, own, request);
  });
}

int MPI_Scatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Scatter)(in, in_count, in_type, out, out_count, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iscatter)(in, in_count, in_type, out, out_count, out_type, root, own, request);
  });
}

int MPI_Allgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Allgather)(in, in_count, in_type, out, out_count, out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iallgather)(in, in_count, in_type, out, out_count, out_type, own, request);
  });
}

int MPI_Alltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                 MPI_Datatype out_type, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Alltoall)(in, in_count, in_type, out, out_count, out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ialltoall)(in, in_count, in_type, out, out_count, out_type, own, request);
  });
}

int MPI_Gatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                const int* displs, MPI_Datatype out_type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Gatherv)(in, in_count, in_type, out, counts, displs, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Igatherv)(in, in_count, in_type, out, counts, displs, out_type, root, own,
                              request);
  });
}

int MPI_Scatterv(const void* in, const int* counts, const int* displs, MPI_Datatype in_type,
                 void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Scatterv)(in, counts, displs, in_type, out, out_count, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iscatterv)(in, counts, displs, in_type, out, out_count, out_type, root, own,
                               request);
  });
}

int MPI_Allgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                   const int* displs, MPI_Datatype out_type, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Allgatherv)(in, in_count, in_type, out, counts, displs, out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iallgatherv)(in, in_count, in_type, out, counts, displs, out_type, own,
                                 request);
  });
}

int MPI_Alltoallv(const void* in, const int* in_counts, const int* in_displs, MPI_Datatype in_type,
                  void* out, const int* out_counts, const int* out_displs, MPI_Datatype out_type,
                  MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Alltoallv)(in, in_counts, in_displs, in_type, out, out_counts, out_displs,
                               out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ialltoallv)(in, in_counts, in_displs, in_type, out, out_counts, out_displs,
                                out_type, own, request);
  });
}

int MPI_Alltoallw(const void* in, const int* in_counts, const int* in_displs,
                  const MPI_Datatype* in_types, void* out, const int* out_counts,
                  const int* out_displs, const MPI_Datatype* out_types, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Alltoallw)(in, in_counts, in_displs, in_types, out, out_counts, out_displs,
                               out_types, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ialltoallw)(in, in_counts, in_displs, in_types, out, out_counts, out_displs,
                                out_types, own, request);
  });
}

// With large counts, as mpi4py makes them with MPI 4.
#if MPI_VERSION >= 4

int MPI_Bcast_c(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Bcast_c)(data, count, type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ibcast_c)(data, count, type, root, own, request);
  });
}

int MPI_Reduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                 MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Reduce_c)(in, out, count, type, op, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ireduce_c)(in, out, count, type, op, root, own, request);
  });
}

int MPI_Allreduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Allreduce_c)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iallreduce_c)(in, out, count, type, op, own, request);
  });
}

int MPI_Scan_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Scan_c)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iscan_c)(in, out, count, type, op, own, request);
  });
}

int MPI_Exscan_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                 MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Exscan_c)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iexscan_c)(in, out, count, type, op, own, request);
  });
}

int MPI_Reduce_scatter_block_c(const void* in, void* out, MPI_Count count, MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Reduce_scatter_block_c)(in, out, count, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ireduce_scatter_block_c)(in, out, count, type, op, own, request);
  });
}

int MPI_Reduce_scatter_c(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL) return NEXT(MPI_Reduce_scatter_c)(in, out, counts, type, op, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ireduce_scatter_c)(in, out, counts, type, op, own, request);
  });
}

int MPI_Gather_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                 MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Gather_c)(in, in_count, in_type, out, out_count, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Igather_c)(in, in_count, in_type, out, out_count, out_type, root, own, request);
  });
}

int MPI_Scatter_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                  MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Scatter_c)(in, in_count, in_type, out, out_count, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iscatter_c)(in, in_count, in_type, out, out_count, out_type, root, own,
                                request);
  });
}

int MPI_Allgather_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                    MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Allgather_c)(in, in_count, in_type, out, out_count, out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iallgather_c)(in, in_count, in_type, out, out_count, out_type, own, request);
  });
}

int MPI_Alltoall_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                   MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Alltoall_c)(in, in_count, in_type, out, out_count, out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ialltoall_c)(in, in_count, in_type, out, out_count, out_type, own, request);
  });
}

int MPI_Gatherv_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                  const MPI_Count* counts, const MPI_Aint* displs, MPI_Datatype out_type, int root,
                  MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Gatherv_c)(in, in_count, in_type, out, counts, displs, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Igatherv_c)(in, in_count, in_type, out, counts, displs, out_type, root, own,
                                request);
  });
}

int MPI_Scatterv_c(const void* in, const MPI_Count* counts, const MPI_Aint* displs,
                   MPI_Datatype in_type, void* out, MPI_Count out_count, MPI_Datatype out_type,
                   int root, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Scatterv_c)(in, counts, displs, in_type, out, out_count, out_type, root, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iscatterv_c)(in, counts, displs, in_type, out, out_count, out_type, root, own,
                                 request);
  });
}

int MPI_Allgatherv_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                     const MPI_Count* counts, const MPI_Aint* displs, MPI_Datatype out_type,
                     MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Allgatherv_c)(in, in_count, in_type, out, counts, displs, out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Iallgatherv_c)(in, in_count, in_type, out, counts, displs, out_type, own,
                                   request);
  });
}

int MPI_Alltoallv_c(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_displs,
                    MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                    const MPI_Aint* out_displs, MPI_Datatype out_type, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Alltoallv_c)(in, in_counts, in_displs, in_type, out, out_counts, out_displs,
                                 out_type, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ialltoallv_c)(in, in_counts, in_displs, in_type, out, out_counts, out_displs,
                                  out_type, own, request);
  });
}

int MPI_Alltoallw_c(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_displs,
                    const MPI_Datatype* in_types, void* out, const MPI_Count* out_counts,
                    const MPI_Aint* out_displs, const MPI_Datatype* out_types, MPI_Comm comm) {
  const MPI_Comm own = napping_comm(comm);
  if (own == MPI_COMM_NULL)
    return NEXT(MPI_Alltoallw_c)(in, in_counts, in_displs, in_types, out, out_counts, out_displs,
                                 out_types, comm);
  return run_on(comm, [&](MPI_Request* request) {
    return NEXT(MPI_Ialltoallw_c)(in, in_counts, in_displs, in_types, out, out_counts, out_displs,
                                  out_types, own, request);
  });
}
#endif
}
