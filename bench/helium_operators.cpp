// SPDX-License-Identifier: BSD-3-Clause
// The helium application beside SLEPc on one rank, with the same H: the ground state from the same
// guess, and steps of exp(-i dt H) in a constant field in the velocity gauge. SLEPc gets H as a
// matrix (AIJ), and each the loosest tolerance that gives the same error. Arguments: --n points,
// --step, --lmax, --steps, --repeats.
#include <cmath>
#include <functional>
#include <stdexcept>

#include "helium_operator.hpp"
#include "helium_other.hpp"
#include "mpi_driver.hpp"

namespace {

using namespace tailrace::helium;
using bench::HeliumOperator;
using Numbers = std::vector<double>;

constexpr double ground_tolerance = 1e-9;  // of |H f - E f|, and for the energy
constexpr double field = 0.1, dt = 0.16;   // A and the step, atomic units
constexpr double wave_tolerance = 1e-9;    // of the wave at the end

double distance(const Numbers& one, const Numbers& other) {
  double squared = 0;
  for (std::size_t i = 0; i < one.size(); ++i) squared += std::pow(one[i] - other[i], 2);
  return std::sqrt(squared);
}

/// |h f - E f| of f of norm 1.
double residual(const bench::Rows& h, const Numbers& f) {
  const auto y = h.times(f);
  double energy = 0, squared = 0;
  for (std::size_t i = 0; i < f.size(); ++i) energy += f[i] * y[i];
  for (std::size_t i = 0; i < f.size(); ++i) squared += std::pow(y[i] - energy * f[i], 2);
  return std::sqrt(squared);
}

/// Both parts of a wave as unknowns, and back.
Numbers unknowns_of(const HeliumOperator& helium, const Wave& wave) {
  auto both = helium.unknowns(wave.data());
  const auto other = helium.unknowns(wave.data() + wave.size() / 2);
  both.insert(both.end(), other.begin(), other.end());
  return both;
}

/// What is compared, ours first; each in turn.
struct Comparison {
  std::string problem;
  std::vector<std::string> entries{};
  std::vector<std::function<Numbers()>> runs{};
  std::function<double(const Numbers&)> error{};
  double tolerance = 0;

  void measure(int repeats) const {
    std::vector<Numbers> seconds(runs.size());
    Numbers errors(runs.size());
    for (int repeat = -1; repeat < repeats; ++repeat) {
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const double start = bench::cpu_s(CLOCK_THREAD_CPUTIME_ID);
        const auto found = runs[i]();
        if (repeat >= 0) seconds[i].push_back(bench::cpu_s(CLOCK_THREAD_CPUTIME_ID) - start);
        errors[i] = std::max(errors[i], error(found));
      }
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      bench::JsonLine line;
      line.text("entry", entries[i]).text("problem", problem).numbers("seconds", seconds[i]);
      line.flag("ours", i == 0).flag("reference", i == 0);
      line.number("error", errors[i]).number("tolerance", tolerance).print();
    }
    if (runs.size() > 1) return;
    bench::JsonLine line;
    line.text("entry", "SLEPc").text("problem", problem);
    line.text("failure", "not built in (Debian: slepc-dev)").print();
  }
};

using Steps = std::function<Numbers(double tolerance)>;

/// The loosest power of ten with which the steps end as close to `exact` as is wanted.
double loosest(const Steps& steps, const Numbers& exact) {
  double tolerance = 0.1;
  while (tolerance > 1e-15 && distance(steps(tolerance), exact) > wave_tolerance) tolerance /= 10;
  return tolerance;
}

/// Ours through `steps` steps of length `length`.
Wave propagate(Hamiltonian& hamiltonian, Wave wave, double tolerance, int steps, double length) {
  Propagator propagator(hamiltonian, {60, tolerance});
  for (int step = 0; step < steps; ++step) {
    propagator.step(wave, length, Coupling::velocity, field);
  }
  return wave;
}

void run(const bench::MpiProgram&, const bench::Arguments& args) {
  const tailrace::Comm comm(MPI_COMM_SELF);
  AtomOptions options;
  options.num_points = args.number("n", 100);
  options.step = args.real("step", 0.25);
  options.lmax = args.number("lmax", 2);
  const int repeats = args.number("repeats", 3), steps = args.number("steps", 5);
  Hamiltonian hamiltonian(comm, options);
  const HeliumOperator helium(hamiltonian);
  const auto problem = [&](const char* what) {
    return std::string(what) + ", " + std::to_string(helium.h0().size()) + " unknowns";
  };

  Comparison ground{problem("ground state")};
  ground.tolerance = 10 * ground_tolerance;
  ground.error = [&](const Numbers& f) { return residual(helium.h0(), f); };
  ground.entries.push_back("tailrace");
  ground.runs.push_back([&] {
    return helium.unknowns(find_ground_state(hamiltonian, ground_tolerance, 20000).wave.data());
  });
  Comparison moved{problem((std::to_string(steps) + " steps in a field").c_str())};
  moved.tolerance = wave_tolerance;
  Wave start = find_ground_state(hamiltonian, 1e-12, 20000).wave;
  start.resize(2 * start.size());
  const auto exact = unknowns_of(helium, propagate(hamiltonian, start, 1e-14, 4 * steps, dt / 4));
  moved.error = [&](const Numbers& wave) { return distance(wave, exact); };
  const auto add_steps = [&](const std::string& entry, const Steps& take) {
    const double tolerance = loosest(take, exact);
    moved.entries.push_back(entry);
    moved.runs.push_back([=] { return take(tolerance); });
  };
  add_steps("tailrace", [&](double tolerance) {
    return unknowns_of(helium, propagate(hamiltonian, start, tolerance, steps, dt));
  });
#ifdef BENCH_HAVE_SLEPC
  const auto guess = helium.unknowns(hamiltonian.first_guess().data());
  for (const auto& peer : bench::slepc_ground(helium.h0(), ground_tolerance)) {
    ground.entries.push_back(peer.entry);
    ground.runs.push_back([=] { return peer.solve(guess); });
  }
  const auto first = unknowns_of(helium, start);
  for (const auto& peer : bench::slepc_steps(helium, field, dt)) {
    add_steps(peer.entry, [=](double tolerance) { return peer.run(first, steps, tolerance); });
  }
#endif
  ground.measure(repeats);
  moved.measure(repeats);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("bench_helium_operators", argc, argv, run);
}
