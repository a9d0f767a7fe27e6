// SPDX-License-Identifier: BSD-3-Clause
// What recording costs a call: run it alone and with LD_PRELOAD=libtailrace_mpi.so, and subtract.
// Prints the best of 15 batches, in nanoseconds a call: a test of no request (nothing but the
// call itself), an 8-byte allreduce of one rank with itself, and one of all ranks. Then the
// allreduce of all ranks in pairs of short batches, by MPI_Allreduce and by PMPI_Allreduce, which
// is not recorded: quartiles of the ratio. There is room for an event of each.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace {

constexpr int batches = 15;
constexpr std::size_t pairs = 201;

// Time of a batch of `calls` calls [ns a call]. Collective if `call` is.
template <class Call>
double batch_ns(int calls, const Call& call) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call();
  return 1e9 * (MPI_Wtime() - begin) / calls;
}

template <class Call>
double best_ns(int calls, const Call& call) {
  double best = 1e9;
  for (int batch = 0; batch < batches; ++batch) best = std::min(best, batch_ns(calls, call));
  return best;
}

// Ratios of the times of pairs of batches, one of either call, who is first in turn; ascending.
template <class Call, class Other>
std::array<double, pairs> ratios_of(int calls, const Call& call, const Other& other) {
  std::array<double, pairs> ratios{};
  for (std::size_t i = 0; i < pairs; ++i) {
    const bool first = i % 2 == 0;
    const double early_ns = first ? batch_ns(calls, call) : batch_ns(calls, other);
    const double late_ns = first ? batch_ns(calls, other) : batch_ns(calls, call);
    ratios[i] = first ? early_ns / late_ns : late_ns / early_ns;
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios;
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
  const auto ratios = ratios_of(
      1000, [&] { MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
      [&] { PMPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
  if (rank == 0)
    std::printf(
        "PERF test_ns=%.1f self_allreduce_ns=%.1f allreduce_ns=%.1f ratio=%.3f (%.3f to %.3f)\n",
        test_ns, self_ns, all_ns, ratios[pairs / 2], ratios[pairs / 4], ratios[3 * pairs / 4]);
  MPI_Finalize();
  return 0;
}
