// SPDX-License-Identifier: BSD-3-Clause
// Random transforms against the plain sums: any extents, cut-offs, grid of ranks, kernel, methods,
// precision, real or complex, any number of fields; one or two alive, with guards around all arrays
// and a rank that is late.
#include <complex>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "fft/check_transform.hpp"
#include "random_problems.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {
namespace {

using testing::Extents;

Extents draw_extents(Dice& dice) {
  // Odd primes among them, and few points for many ranks.
  constexpr std::ptrdiff_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 19, 23, 31, 37};
  Extents extents{};
  constexpr std::ptrdiff_t most_points = 3000;
  do {
    for (auto& extent : extents) extent = dice.one_of(lengths);
  } while (extents[0] * extents[1] * extents[2] > most_points);
  return extents;
}

Problem draw_problem(Dice& dice, int num_ranks) {
  Problem problem;
  problem.kind = dice.chance(60) ? Kind::real_to_complex : Kind::complex_to_complex;
  problem.extents = draw_extents(dice);
  for (std::size_t d = 0; d < 3; ++d) {
    const bool half = d == 2 && problem.kind == Kind::real_to_complex;
    const auto most = half ? problem.extents[d] / 2 : (problem.extents[d] - 1) / 2;
    if (dice.chance(50)) problem.cutoff[d] = dice.between(0, most);
  }
  std::vector<int> rows;
  for (int pz = 1; pz <= num_ranks; ++pz) {
    if (num_ranks % pz == 0) rows.push_back(pz);
  }
  const int pz = dice.one_of(rows);
  if (dice.chance(80)) problem.grid = {pz, num_ranks / pz};
  problem.max_fields = static_cast<int>(dice.between(1, 3));
  return problem;
}

Options draw_options(Dice& dice) {
  std::vector<std::string> kernel_names{"auto"}, methods{"auto"};
  for (const auto& kernel : kernels()) {
    if (kernel.available) kernel_names.emplace_back(kernel.name);
  }
  for (const auto& method : exchange_methods()) methods.emplace_back(method.name);
  Options options;
  options.kernel = dice.one_of(kernel_names);
  options.method = dice.one_of(methods);
  if (dice.chance(30)) options.row_method = dice.one_of(methods);
  options.threads = dice.chance(10) ? 2 : 1;
  std::vector<std::string> stores{"auto"};
  for (const auto& kind : store_kinds()) stores.emplace_back(kind.name);
  options.stores = dice.one_of(stores);
  std::vector<std::string> reads{"auto"};
  for (const auto& kind : read_kinds()) reads.emplace_back(kind.name);
  options.reads = dice.one_of(reads);
  return options;
}

std::string describe(const Problem& problem, const Options& options, int num_fields, bool single) {
  return fmt::format(
      "{} {} of {}, cut-off {}, grid {}, kernel {}, methods {} and \"{}\", stores {}, reads "
      "{}, {} fields",
      single ? "single" : "double", problem.kind == Kind::real_to_complex ? "real" : "complex",
      problem.extents, problem.cutoff, problem.grid, options.kernel, options.method,
      options.row_method, options.stores, options.reads, num_fields);
}

template <class Real>
std::unique_ptr<testing::Checked> make(const Comm& comm, const Problem& problem,
                                       const Options& options, int num_fields) {
  using testing::CheckedTransform;
  if (problem.kind == Kind::real_to_complex) {
    return std::make_unique<CheckedTransform<Real, Real>>(comm, problem, options, num_fields);
  }
  return std::make_unique<CheckedTransform<Real, std::complex<Real>>>(comm, problem, options,
                                                                      num_fields);
}

/// A transform and how it was drawn.
struct Drawn {
  std::unique_ptr<testing::Checked> transform;
  std::string text;
};

// Other options are drawn until they apply here.
Drawn draw_transform(const Comm& comm, Dice& dice) {
  const auto problem = draw_problem(dice, comm.num_ranks());
  const int num_fields = static_cast<int>(dice.between(1, 4));
  const bool single = dice.chance(30);
  while (true) {
    const auto options = draw_options(dice);
    const auto text = describe(problem, options, num_fields, single);
    try {
      return {single ? make<float>(comm, problem, options, num_fields)
                     : make<double>(comm, problem, options, num_fields),
              text};
    } catch (const Error& error) {
      const std::string what = error.what();
      if (what.find("does not apply here") == std::string::npos) {
        throw std::runtime_error(what + " in " + text);
      }
    }
  }
}

// One or two transforms, used in turn with other fields each time.
std::string solve(const Comm& comm, std::uint64_t seed) {
  Dice dice(seed);
  LateRank late(comm, seed);
  std::vector<Drawn> drawn;
  for (auto left = dice.between(1, 2); left > 0; --left) {
    drawn.push_back(draw_transform(comm, dice));
  }
  std::string wrong;
  for (auto uses = dice.between(1, 3); uses > 0; --uses) {
    dice.shuffle(drawn);
    for (auto& [transform, text] : drawn) {
      late.nap();
      if (const auto what = transform->forward(); !what.empty()) wrong = what + " in " + text;
    }
    dice.shuffle(drawn);
    for (auto& [transform, text] : drawn) {
      if (dice.chance(25)) continue;
      late.nap();
      if (const auto what = transform->backward(); !what.empty()) wrong = what + " in " + text;
    }
  }
  return wrong;
}

TEST(RandomTransforms, ArePlainSums) {
  const Comm comm(MPI_COMM_WORLD);
  RandomProblems(comm, 40).run([&](std::uint64_t seed) { return solve(comm, seed); });
}

}  // namespace
}  // namespace tailrace::fft
