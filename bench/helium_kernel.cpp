// SPDX-License-Identifier: BSD-3-Clause
// bench_helium_kernel POINTS LMAX REPEATS: one application of H of the helium application in each
// form, and one Krylov vector, as a line of JSON: the best of so many times on each number of
// ranks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "krylov.hpp"
#include "tailrace/trace.hpp"

namespace {

using namespace tailrace;
using namespace tailrace::helium;

double best_of(const Comm& comm, int repeats, const std::function<void()>& work) {
  double best = 1e300;
  for (int r = 0; r < repeats; ++r) {
    check_mpi(MPI_Barrier(comm.raw()));
    const double start = now_s();
    work();
    double spent = now_s() - start;
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, comm.raw()));
    best = std::min(best, spent);
  }
  return best;
}

void measure(int points, int lmax, int repeats) {
  const Comm comm(MPI_COMM_WORLD);
  AtomOptions options;
  options.num_points = points;
  options.lmax = lmax;
  Hamiltonian hamiltonian(comm, options);
  const auto size = static_cast<std::size_t>(hamiltonian.blocks().packed_size());
  Wave x(2 * size);
  for (std::size_t i = 0; i < 2 * size; ++i) x[i] = std::sin(0.1 * static_cast<double>(i)) * 1e-3;
  hamiltonian.set_input(x.data(), 1, 2);
  const auto time = [&](Coupling coupling, int parts) {
    return best_of(comm, repeats, [&] { hamiltonian.apply(coupling, 0.1, parts, 0); });
  };
  const double real = time(Coupling::none, 1), free = time(Coupling::none, 2);
  const double length = time(Coupling::length, 2), velocity = time(Coupling::velocity, 2);
  constexpr int vectors = 10;
  Krylov krylov(hamiltonian, 2, vectors);
  const double basis = best_of(comm, std::max(1, repeats / vectors), [&] {
    krylov.begin(x.data(), 1);
    for (int k = 0; k < vectors; ++k) krylov.extend(Coupling::velocity, 0.1);
  });
  if (comm.rank() != 0) return;
  const auto channels = static_cast<double>(hamiltonian.channels().size());
  const double unknowns = channels * points * (points + 1) / 2;
  std::printf(
      "{\"kernel\": \"%s\", \"ranks\": %d, \"unknowns\": %.0f, \"real_s\": %.4g, \"free_s\": %.4g, "
      "\"length_s\": %.4g, \"velocity_s\": %.4g, \"krylov_vector_s\": %.4g, "
      "\"velocity_ns_an_unknown\": %.3g}\n",
      std::string(hamiltonian.kernel()).c_str(), comm.num_ranks(), unknowns, real, free, length,
      velocity, basis / vectors, velocity / unknowns * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto number = [&](int i, int usual) { return argc > i ? std::atoi(argv[i]) : usual; };
  measure(number(1, 160), number(2, 2), number(3, 200));
  MPI_Finalize();
}
