// SPDX-License-Identifier: BSD-3-Clause
// The transpose of x-pencils to y-pencils by dtFFT, each of its host backends that need no window.
// Its y-pencils have y fastest, as ours have, but x slowest, where ours have z.

#include <mpi.h>

#include <dtfft.hpp>

#include <complex>
#include <vector>

#include "transpose_part.hpp"

namespace {

using bench::TransposePart;

TransposePart part_of(const dtfft::Pencil& pencil, std::array<std::size_t, 3> order) {
  TransposePart part;
  for (std::size_t i = 0; i < 3; ++i) {  // dtFFT lists its axes fastest first
    part.start[order[2 - i]] = pencil.get_starts()[i];
    part.extents[order[2 - i]] = pencil.get_counts()[i];
  }
  part.order = order;
  return part;
}

/// The part of this rank in x-pencils on our grid.
dtfft::Pencil x_pencil(int n, int rank, int num_ranks) {
  const auto grid = bench::transpose_grid(num_ranks);
  const int row = rank / grid[1];
  const int column = rank % grid[1];
  const int z = n * row / grid[0];
  const int y = n * column / grid[1];
  return dtfft::Pencil({0, y, z}, {n, n * (column + 1) / grid[1] - y, n * (row + 1) / grid[0] - z});
}

void run(const bench::Arguments& args, const bench::MpiProgram& program) {
  const int n = args.number("n", 256);
  const std::pair<dtfft::Backend, const char*> ways[] = {
      {dtfft::Backend::MPI_DATATYPE, "dtFFT, mpi_datatype"},
      {dtfft::Backend::MPI_P2P, "dtFFT, mpi_p2p"},
      {dtfft::Backend::MPI_P2P_PIPELINED, "dtFFT, mpi_p2p_pipelined"},
      {dtfft::Backend::MPI_A2A, "dtFFT, mpi_a2a"},
      {dtfft::Backend::MPI_P2P_FUSED, "dtFFT, mpi_p2p_fused"}};
  for (const auto& [way, name] : ways) {
    dtfft::Config config;
    config.set_backend(way).set_enable_z_slab(false);
    DTFFT_CXX_CALL(dtfft::set_config(config));
    dtfft::PlanC2C plan(x_pencil(n, program.rank, program.num_ranks), MPI_COMM_WORLD,
                        dtfft::Precision::DOUBLE, dtfft::Effort::MEASURE);
    const auto items = plan.get_alloc_size();
    std::vector<std::complex<double>> source(items), target(items);
    std::vector<std::complex<double>> aux(std::max(items, plan.get_aux_size_transpose()));
    const bench::PeerTranspose peer{
        name,
        "pencils",
        n,
        part_of(plan.get_pencil(dtfft::Layout::X_PENCILS), {0, 1, 2}),
        part_of(plan.get_pencil(dtfft::Layout::Y_PENCILS), {2, 0, 1}),
        source.data(),
        target.data(),
        [&] {
          DTFFT_CXX_CALL(
              plan.transpose(source.data(), target.data(), dtfft::Transpose::X_TO_Y, aux.data()));
        }};
    bench::measure(peer, bench::Effort::from(args));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  run(bench::Arguments(argc, argv), program);
  return 0;
}
