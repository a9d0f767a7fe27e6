// SPDX-License-Identifier: BSD-3-Clause
// The transpose between slabs by FFTW-MPI, MEASURE.

#include <fftw3-mpi.h>

#include "transpose_part.hpp"

namespace {

void run(const bench::Arguments& args) {
  const std::ptrdiff_t n = args.number("n", 256);
  std::ptrdiff_t planes = 0, first = 0, planes_y = 0, first_y = 0;
  const std::ptrdiff_t sizes[2] = {n, n};
  const std::ptrdiff_t reals = fftw_mpi_local_size_many_transposed(
      2, sizes, 2 * n, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK, MPI_COMM_WORLD, &planes,
      &first, &planes_y, &first_y);
  double* source = fftw_alloc_real(static_cast<std::size_t>(reals));
  double* target = fftw_alloc_real(static_cast<std::size_t>(reals));
  const fftw_plan plan =
      fftw_mpi_plan_many_transpose(n, n, 2 * n, FFTW_MPI_DEFAULT_BLOCK, FFTW_MPI_DEFAULT_BLOCK,
                                   source, target, MPI_COMM_WORLD, FFTW_MEASURE);
  bench::PeerTranspose peer{"FFTW-MPI", "slabs", n,      {},
                            {},         source,  target, [&] { fftw_execute(plan); }};
  peer.from = {{first, 0, 0}, {planes, n, n}};
  peer.to = {{0, first_y, 0}, {n, planes_y, n}, {1, 0, 2}};
  bench::measure(peer, bench::Effort::from(args));
  fftw_destroy_plan(plan);
  fftw_free(source);
  fftw_free(target);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::MpiProgram program(&argc, &argv);
  fftw_mpi_init();
  run(bench::Arguments(argc, argv));
  fftw_mpi_cleanup();
  return 0;
}
