// SPDX-License-Identifier: BSD-3-Clause
// Threads of a rank that exchange at the same time, each on a communicator of its own, where MPI
// allows calls from any thread.
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

#include "mpi_program.hpp"
#include "tailrace/exchange.hpp"

namespace {

using namespace tailrace;

/// Items that arrived wrong in `runs` transposes of numbers that change from run to run.
long wrong_items(const Comm& comm, const char* method, int thread, int runs) {
  const std::vector<std::ptrdiff_t> extents{12, 10};
  const Plan plan(slabs(extents, 0, comm.num_ranks()), slabs(extents, 1, comm.num_ranks()),
                  comm.rank());
  const auto from = Memory::dense(plan.from_boxes());
  const auto to = Memory::dense(plan.to_boxes());
  std::vector<double> source(static_cast<std::size_t>(from.num_items));
  std::vector<double> arrived(static_cast<std::size_t>(to.num_items));
  Exchange exchange(comm, plan, from, to, {8, 1}, method);
  const auto number = [&](const Box& box, std::ptrdiff_t i, int run) {
    const auto row = box.start[0] + i / box.extents[1];
    const auto column = box.start[1] + i % box.extents[1];
    return static_cast<double>((row * extents[1] + column) * 100 + run + 1000000 * thread);
  };
  long wrong = 0;
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      source[i] = number(plan.from_boxes()[0], static_cast<std::ptrdiff_t>(i), run);
    }
    const std::array<const void*, 1> sources{source.data()};
    const std::array<void*, 1> destinations{arrived.data()};
    exchange.run(sources, destinations);
    for (std::size_t i = 0; i < arrived.size(); ++i) {
      if (arrived[i] != number(plan.to_boxes()[0], static_cast<std::ptrdiff_t>(i), run)) ++wrong;
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  long wrong = 0;
  if (provided == MPI_THREAD_MULTIPLE) {
    const Comm world(MPI_COMM_WORLD);
    for (const char* method : {"alltoallv", "pairwise", "node_direct"}) {
      const std::array<Comm, 2> comms{Comm(world.raw()), Comm(world.raw())};
      std::array<long, 2> found{};
      std::thread other([&] { found[1] = wrong_items(comms[1], method, 1, 50); });
      found[0] = wrong_items(comms[0], method, 0, 50);
      other.join();
      wrong += found[0] + found[1];
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, world.raw());
    if (world.rank() == 0) std::printf("%ld items arrived wrong\n", wrong);
  } else {
    std::printf("skipped: this MPI does not allow calls from several threads\n");
  }
  MPI_Finalize();
  return provided != MPI_THREAD_MULTIPLE ? 77 : wrong == 0 ? 0 : 1;
}
