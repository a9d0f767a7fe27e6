// SPDX-License-Identifier: BSD-3-Clause
// The transposes by AccFFT's T_Plan, the class behind its transforms, tuned by its own measurement:
// --pattern kept is what its pencil transforms do, slabs what its slab transforms do.

#include <accfft.h>
#include <mpi.h>
#include <transpose.h>

#include <complex>
#include <vector>

#include "transpose_part.hpp"

namespace {

using bench::TransposePart;

void run(const bench::Arguments& args, int rank, int num_ranks) {
  const int n = args.number("n", 256);
  const std::string pattern = args.text("pattern", "kept");
  const bool slabs = pattern == "slabs";
  const auto grid = slabs ? std::array{1, num_ranks} : bench::transpose_grid(num_ranks);
  MPI_Comm row = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / grid[1], rank, &row);
  const int planes = slabs ? 1 : n / grid[0];
  const int first_plane = slabs ? 0 : planes * (rank / grid[1]);
  const int tuple = slabs ? 2 * n : 2;
  Mem_Mgr<double> memory(n, n, tuple, row, planes);
  T_Plan<double> plan(n, n, tuple, &memory, row, planes);
  const auto reals = static_cast<std::size_t>(plan.alloc_local) / sizeof(double);
  std::vector<double> data(reals);
  if (rank / grid[1] == 0) plan.which_fast_method(&plan, data.data(), 2, planes, 0);
  int chosen[3] = {plan.method, plan.kway, plan.kway_async ? 1 : 0};
  MPI_Bcast(chosen, 3, MPI_INT, 0, MPI_COMM_WORLD);
  plan.method = chosen[0];
  plan.kway = chosen[1];
  plan.kway_async = chosen[2] != 0;
  bench::PeerTranspose peer{"AccFFT", pattern, n, {}, {}, data.data(), data.data(), {}};
  if (slabs) {
    peer.from = {{plan.local_0_start, 0, 0}, {plan.local_n0, n, n}};
    peer.to = {{0, plan.local_1_start, 0}, {n, plan.local_n1, n}};
  } else {
    peer.from = {{first_plane, plan.local_0_start, 0}, {planes, plan.local_n0, n}};
    peer.to = {{first_plane, 0, plan.local_1_start}, {planes, n, plan.local_n1}};
  }
  const auto flags = static_cast<unsigned>(args.number("flags", 2));
  peer.run = [&] {
    double timings[5] = {};
    plan.execute(&plan, data.data(), timings, flags, planes, rank / grid[1]);
  };
  bench::measure(peer, bench::Effort::from(args));
  MPI_Comm_free(&row);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  run(bench::Arguments(argc, argv), program.rank, program.num_ranks);
  return 0;
}
