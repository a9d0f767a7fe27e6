// SPDX-License-Identifier: BSD-3-Clause
#include "move/memory_rates.hpp"

#include <array>

#include "tailrace/trace.hpp"

namespace tailrace {

MemoryRates MemoryRates::measure(const Comm& comm, std::ptrdiff_t bytes, int repeats) {
  MemoryLoops loops(bytes);
  std::array<double, 3> best{1e30, 1e30, 1e30};
  const auto note = [&](std::size_t which, auto&& run) {
    check_mpi(MPI_Barrier(comm.raw()));
    const double start = now_s();
    run();
    double taken = now_s() - start;
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, comm.raw()));
    best[which] = std::min(best[which], taken);
  };
  for (int i = 0; i <= repeats; ++i) {
    note(0, [&] { loops.copy(); });
    note(1, [&] { loops.scatter_ordinary(); });
    note(2, [&] { loops.scatter_streaming(); });
  }
  const auto moved = static_cast<double>(loops.bytes());
  return {2 * moved / best[0], moved / best[1], moved / best[2]};
}

void copy_past_caches(const std::byte* from, std::byte* to, std::ptrdiff_t bytes) {
  copy_loops().front()->stream_rows({}, {}, bytes, from, to);
  fence_streamed();
}

}  // namespace tailrace
