// SPDX-License-Identifier: BSD-3-Clause
// bench_helium_kernel POINTS LMAX REPEATS: one application of H of the helium application in each
// form, and one Krylov vector, as a line of JSON: the best of so many times on each number of
// ranks. Beside the velocity gauge stand its limits on one core: the products and sums, and the
// loads, of its inner loops at the rates that this core reaches with vectors of the kernel's width,
// and the bytes of its functions at the rate of a plain pass over them.
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

/// What the inner loops in the velocity gauge do to a vector of complex numbers of all channels.
struct Work {
  double operations = 0;  ///< products, sums, or both in one
  double loads = 0;
};

Work work_of(const KernelTables& t) {
  const double channels = t.num_channels;
  const auto terms = static_cast<double>(t.terms.size());
  const auto links = static_cast<double>(t.links.size());
  const auto dipoles = static_cast<double>(t.dipoles.size());
  Work work;
  // A part: 8 neighbours, of which 2 slopes and the kinetic energy; the vector before, 3 products.
  work.operations = 2 * channels * (16 + 4) + channels + terms + 2 * links + 4 * dipoles;
  // A part: those, the kinetic energy, x and the vector before. A link's potential is for both.
  work.loads = 2 * channels * (8 + 3) + channels + terms + 3 * links + 2 * dipoles + dipoles / 2;
  return work;
}

constexpr int turns = 4000, vectors_at_once = 8;

typedef double Vector2 __attribute__((vector_size(16), may_alias));
typedef double Vector4 __attribute__((vector_size(32), may_alias));
typedef double Vector8 __attribute__((vector_size(64), may_alias));

/// Products and sums in one, or loads with sums, of vectors: `turns` times `vectors_at_once`.
template <class Vector>
[[gnu::always_inline]] inline double run_operations(double factor) {
  Vector sums[vectors_at_once] = {};
  for (int n = 0; n < turns; ++n) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors_at_once; ++v) sums[v] = sums[v] * factor + (factor + v);
  }
  double total = 0;
  for (int v = 0; v < vectors_at_once; ++v) total += sums[v][0];
  return total;
}

template <class Vector>
[[gnu::always_inline]] inline double run_loads(const double* from) {
  Vector sums[vectors_at_once] = {};
  for (int n = 0; n < turns; ++n) {
    asm volatile("" : "+r"(from));  // it might be another place each time
#pragma GCC unroll 8
    for (int v = 0; v < vectors_at_once; ++v) sums[v] += reinterpret_cast<const Vector*>(from)[v];
  }
  double total = 0;
  for (int v = 0; v < vectors_at_once; ++v) total += sums[v][0];
  return total;
}

/// The loops for the vectors of a kernel.
struct Loops {
  double (*operations)(double factor);
  double (*loads)(const double* from);
  int lanes;
};

[[gnu::noinline]] double operations_of_2(double factor) { return run_operations<Vector2>(factor); }
[[gnu::noinline]] double loads_of_2(const double* from) { return run_loads<Vector2>(from); }
#if defined(__x86_64__)
#define FOR_AVX2 gnu::target("avx2,fma"), gnu::noinline
#define FOR_AVX512 gnu::target("avx512f"), gnu::noinline
[[FOR_AVX2]] double operations_of_4(double factor) { return run_operations<Vector4>(factor); }
[[FOR_AVX2]] double loads_of_4(const double* from) { return run_loads<Vector4>(from); }
[[FOR_AVX512]] double operations_of_8(double factor) { return run_operations<Vector8>(factor); }
[[FOR_AVX512]] double loads_of_8(const double* from) { return run_loads<Vector8>(from); }
#endif

Loops loops_of(std::string_view kernel) {
#if defined(__x86_64__)
  if (kernel == "avx512") return {operations_of_8, loads_of_8, 8};
  if (kernel == "avx2") return {operations_of_4, loads_of_4, 4};
#endif
  return {operations_of_2, loads_of_2, 2};
}

/// Seconds of the limits of one application on one core.
struct Limits {
  double operations_s, loads_s, bytes_s;
};

/// `pass_s` is the time of a pass that reads x and reads and writes y, as the kernel does.
Limits limits_of(const Comm& comm, const Hamiltonian& hamiltonian, double unknowns, double pass_s) {
  const auto loops = loops_of(hamiltonian.kernel());
  alignas(64) static double memory[vectors_at_once * 8];
  volatile double kept = 0;
  constexpr int repeats = 200;
  const double operations_s = best_of(comm, repeats, [&] { kept = loops.operations(0.5); });
  const double loads_s = best_of(comm, repeats, [&] { kept = loops.loads(memory); });
  const auto work = work_of(hamiltonian.tables());
  const double vectors = unknowns / hamiltonian.tables().num_channels / loops.lanes;
  constexpr double times = turns * vectors_at_once;
  return {vectors * work.operations * operations_s / times, vectors * work.loads * loads_s / times,
          pass_s};
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
    return best_of(comm, repeats, [&] { hamiltonian.apply(coupling, 0.1, parts, 0.1); });
  };
  const double real = time(Coupling::none, 1), free = time(Coupling::none, 2);
  const double length = time(Coupling::length, 2), velocity = time(Coupling::velocity, 2);
  const double pass = best_of(comm, repeats, [&] { hamiltonian.subtract(1e-3, 2); });
  constexpr int vectors = 10;
  Krylov krylov(hamiltonian, 2, vectors);
  const double basis = best_of(comm, std::max(1, repeats / vectors), [&] {
    krylov.begin(x.data(), 1);
    for (int k = 0; k < vectors; ++k) krylov.extend(Coupling::velocity, 0.1);
  });
  const auto limits = limits_of(comm, hamiltonian, static_cast<double>(size), pass);
  if (comm.rank() != 0) return;
  const auto channels = static_cast<double>(hamiltonian.channels().size());
  const double unknowns = channels * points * (points + 1) / 2;
  const double most = std::max({limits.operations_s, limits.loads_s, limits.bytes_s});
  std::printf(
      "{\"kernel\": \"%s\", \"ranks\": %d, \"unknowns\": %.0f, \"real_s\": %.4g, \"free_s\": %.4g, "
      "\"length_s\": %.4g, \"velocity_s\": %.4g, \"krylov_vector_s\": %.4g, "
      "\"velocity_ns_an_unknown\": %.3g, \"velocity_limits_s\": {\"operations\": %.4g, "
      "\"loads\": %.4g, \"bytes\": %.4g}, \"velocity_over_limit\": %.3g}\n",
      std::string(hamiltonian.kernel()).c_str(), comm.num_ranks(), unknowns, real, free, length,
      velocity, basis / vectors, velocity / unknowns * 1e9, limits.operations_s, limits.loads_s,
      limits.bytes_s, velocity / most);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto number = [&](int i, int usual) { return argc > i ? std::atoi(argv[i]) : usual; };
  measure(number(1, 160), number(2, 2), number(3, 200));
  MPI_Finalize();
}
