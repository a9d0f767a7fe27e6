// SPDX-License-Identifier: BSD-3-Clause
// What recording costs a call: run it alone and with LD_PRELOAD=libtailrace_mpi.so, and subtract.
// Prints the best of 15 batches, in nanoseconds a call: a test of no request (nothing but the
// call itself), an 8-byte allreduce of one rank with itself, and one of all ranks. There is room
// for an event of each.
#include <mpi.h>

#include <algorithm>
#include <cstdio>

namespace {

constexpr int batches = 15;

// Best time of a batch of `calls` calls [ns a call]. Collective if `call` is.
template <class Call>
double best_ns(int calls, const Call& call) {
  double best = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call();
    best = std::min(best, 1e9 * (MPI_Wtime() - begin) / calls);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Request request = MPI_REQUEST_NULL;
  int flag = 0;
  const double one = 1.0;
  double sum = 0.0;
  const double test_ns = best_ns(100000, [&] { MPI_Test(&request, &flag, MPI_STATUS_IGNORE); });
  const double self_ns =
      best_ns(40000, [&] { MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); });
  const double all_ns =
      best_ns(20000, [&] { MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
  if (rank == 0)
    std::printf("PERF test_ns=%.1f self_allreduce_ns=%.1f allreduce_ns=%.1f\n", test_ns, self_ns,
                all_ns);
  MPI_Finalize();
  return 0;
}
