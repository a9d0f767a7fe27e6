// SPDX-License-Identifier: BSD-3-Clause
// Every transform against the plain sum over points, on every grid of ranks, kernel and method.
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "environment.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {
namespace {

using Extents = std::array<std::ptrdiff_t, 3>;
using Field = std::vector<std::complex<double>>;

// exp(-2 pi i k n / N) sums along one axis at a time: the definition, in O(N^4).
Field reference_transform(const Extents& n, Field field) {
  std::ptrdiff_t stride = 1;
  for (int axis = 2; axis >= 0; --axis) {
    const auto len = n[static_cast<std::size_t>(axis)];
    Field out(field.size());
    for (std::size_t i = 0; i < field.size(); ++i) {
      const auto k = static_cast<std::ptrdiff_t>(i) / stride % len;
      const auto base = static_cast<std::ptrdiff_t>(i) - k * stride;
      for (std::ptrdiff_t j = 0; j < len; ++j) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(k * j % len) / static_cast<double>(len);
        out[i] += field[static_cast<std::size_t>(base + j * stride)] * std::polar(1.0, angle);
      }
    }
    field = std::move(out);
    stride *= len;
  }
  return field;
}

Field random_field(const Extents& n, bool real, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Field field(static_cast<std::size_t>(n[0] * n[1] * n[2]));
  for (auto& value : field) {
    const double re = uniform(generator);
    value = {re, real ? 0 : uniform(generator)};
  }
  return field;
}

std::size_t place(const Extents& n, std::ptrdiff_t z, std::ptrdiff_t y, std::ptrdiff_t x) {
  return static_cast<std::size_t>((z * n[1] + y) * n[2] + x);
}
std::size_t wrap(int k, std::ptrdiff_t n) { return static_cast<std::size_t>(k < 0 ? k + n : k); }

template <class Real, class Item>
void check(const Comm& comm, const Problem& problem, const Options& options, int num_fields) {
  const auto n = problem.extents;
  Transform<Real> transform(comm, problem, options);
  const auto box = transform.physical_box();
  const auto& modes = transform.modes();
  const bool real = problem.kind == Kind::real_to_complex;
  std::vector<Field> global;
  std::vector<std::vector<Item>> fields;
  std::vector<std::vector<std::complex<Real>>> spectra;
  for (int f = 0; f < num_fields; ++f) {
    global.push_back(random_field(n, real, static_cast<unsigned>(f + 1)));
    auto& field = fields.emplace_back();
    for (std::ptrdiff_t z = 0; z < box.extents[0]; ++z)
      for (std::ptrdiff_t y = 0; y < box.extents[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n[2]; ++x) {
          const auto value = global.back()[place(n, z + box.start[0], y + box.start[1], x)];
          if constexpr (std::is_same_v<Item, Real>) {
            field.push_back(static_cast<Real>(value.real()));
          } else {
            field.emplace_back(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
          }
        }
    spectra.emplace_back(static_cast<std::size_t>(modes.num_modes()));
  }
  std::vector<const Item*> in;
  std::vector<std::complex<Real>*> out;
  for (int f = 0; f < num_fields; ++f) {
    in.push_back(fields[static_cast<std::size_t>(f)].data());
    out.push_back(spectra[static_cast<std::size_t>(f)].data());
  }
  const double points = static_cast<double>(n[0] * n[1] * n[2]);
  const double tolerance = (sizeof(Real) == 4 ? 2e-6 : 1e-14) * points;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (auto& s : spectra) std::fill(s.begin(), s.end(), std::complex<Real>(7, 7));
    transform.forward(in, out);
    for (int f = 0; f < num_fields; ++f) {
      const auto expected = reference_transform(n, global[static_cast<std::size_t>(f)]);
      double error = 0;
      for (std::size_t j = 0; j < modes.ky.size(); ++j)
        for (std::size_t l = 0; l < modes.kz.size(); ++l)
          for (std::size_t i = 0; i < modes.kx.size(); ++i) {
            const auto at =
                modes.index(static_cast<std::ptrdiff_t>(j), static_cast<std::ptrdiff_t>(l),
                            static_cast<std::ptrdiff_t>(i));
            const auto want = expected[(wrap(modes.kz[l], n[0]) * static_cast<std::size_t>(n[1]) +
                                        wrap(modes.ky[j], n[1])) *
                                           static_cast<std::size_t>(n[2]) +
                                       wrap(modes.kx[i], n[2])];
            const auto got = spectra[static_cast<std::size_t>(f)][static_cast<std::size_t>(at)];
            error = std::max(error, std::abs(std::complex<double>(got) - want));
          }
      EXPECT_LE(error, tolerance) << transform.describe();
    }
  }
  // Backward of the kept modes: the field with the others removed, by the plain sum again
  // (conjugate).
  std::vector<std::vector<Item>> back(fields.size());
  std::vector<Item*> back_out;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    back[f].resize(fields[f].size());
    back_out.push_back(back[f].data());
  }
  std::vector<const std::complex<Real>*> back_in(out.begin(), out.end());
  transform.backward(back_in, back_out);
  const auto is_kept = [&](std::ptrdiff_t k, std::size_t axis) {
    const auto number = k > (n[axis] - 1) / 2 && !(2 * k == n[axis]) ? n[axis] - k : k;
    return problem.cutoff[axis] < 0 || number <= problem.cutoff[axis];
  };
  for (std::size_t f = 0; f < fields.size(); ++f) {
    auto spectrum = reference_transform(n, global[f]);
    for (std::ptrdiff_t z = 0; z < n[0]; ++z)
      for (std::ptrdiff_t y = 0; y < n[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n[2]; ++x) {
          auto& mode = spectrum[place(n, z, y, x)];
          const bool keep = is_kept(z, 0) && is_kept(y, 1) && is_kept(x, 2);
          mode = keep ? std::conj(mode) : 0;
        }
    const auto expected = reference_transform(n, spectrum);
    double error = 0;
    std::size_t at = 0;
    for (std::ptrdiff_t z = 0; z < box.extents[0]; ++z)
      for (std::ptrdiff_t y = 0; y < box.extents[1]; ++y)
        for (std::ptrdiff_t x = 0; x < n[2]; ++x, ++at) {
          const auto want = std::conj(expected[place(n, z + box.start[0], y + box.start[1], x)]);
          if constexpr (std::is_same_v<Item, Real>) {
            error = std::max(error, std::abs(static_cast<double>(back[f][at]) - want.real()));
          } else {
            error = std::max(error, std::abs(std::complex<double>(back[f][at]) - want));
          }
        }
    EXPECT_LE(error, tolerance * points) << transform.describe();
  }
}

std::vector<std::array<int, 2>> grids(int num_ranks) {
  std::vector<std::array<int, 2>> list{{0, 0}};
  for (int pz = 1; pz <= num_ranks; ++pz) {
    if (num_ranks % pz == 0) list.push_back({pz, num_ranks / pz});
  }
  return list;
}

const std::vector<Extents> shapes{{1, 1, 1},  {2, 3, 1},    {7, 8, 9},   {8, 7, 6},
                                  {3, 2, 20}, {16, 16, 16}, {1, 18, 33}, {12, 1, 17}};

TEST(Transform, EqualsThePlainSumOnEveryGrid) {
  Comm comm(MPI_COMM_WORLD);
  for (const auto& shape : shapes) {
    for (const auto& grid : grids(comm.num_ranks())) {
      Problem problem{Kind::real_to_complex, shape, {-1, -1, -1}, grid, 2};
      check<double, double>(comm, problem, {}, 3);
      problem.kind = Kind::complex_to_complex;
      check<double, std::complex<double>>(comm, problem, {}, 2);
    }
  }
}

TEST(Transform, KeepsOnlyTheModesAskedFor) {
  Comm comm(MPI_COMM_WORLD);
  for (const auto& shape : shapes) {
    Extents cutoff{};
    for (std::size_t d = 0; d < 3; ++d) cutoff[d] = (shape[d] - 1) / 3;
    for (const auto& grid : grids(comm.num_ranks())) {
      Problem problem{Kind::real_to_complex, shape, cutoff, grid, 3};
      check<double, double>(comm, problem, {}, 2);
      check<float, float>(comm, problem, {}, 1);
      problem.kind = Kind::complex_to_complex;
      problem.cutoff[0] = -1;
      check<double, std::complex<double>>(comm, problem, {}, 1);
    }
  }
}

// With every method that applies here; returns their number.
int check_methods(const Comm& comm, const Problem& problem) {
  int checked = 0;
  for (const auto& method : exchange_methods()) {
    Options options;
    options.method = std::string(method.name);
    try {
      const Transform<double> trial(comm, problem, options);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("does not apply"), std::string::npos)
          << error.what();
      continue;
    }
    check<double, double>(comm, problem, options, 3);
    ++checked;
  }
  return checked;
}

TEST(Transform, EveryMethodAndKernelGivesTheSame) {
  Comm comm(MPI_COMM_WORLD);
  for (const auto& grid : grids(comm.num_ranks())) {
    Problem problem{Kind::real_to_complex, {9, 10, 12}, {2, 3, 4}, grid, 2};
    const int checked = check_methods(comm, problem);
    EXPECT_GE(checked, 4) << "all ranks share a node";
    for (const auto& kernel : kernels()) {
      if (!kernel.available) continue;
      Options options;
      options.kernel = std::string(kernel.name);
      check<double, double>(comm, problem, options, 1);
      check<float, float>(comm, problem, options, 1);
      problem.kind = Kind::complex_to_complex;
      check<double, std::complex<double>>(comm, problem, options, 1);
      problem.kind = Kind::real_to_complex;
    }
  }
}

TEST(Transform, ThreadsGiveTheSame) {
  Comm comm(MPI_COMM_WORLD);
  Options options;
  options.threads = 2;
  check<double, double>(comm, {Kind::real_to_complex, {9, 10, 12}, {-1, 3, 4}, {0, 0}, 2}, options,
                        2);
}

TEST(Transform, KeepsItsRowsOnANode) {
  Comm comm(MPI_COMM_WORLD);
  if (comm.num_ranks() != 4) GTEST_SKIP() << "4 ranks make two nodes of two";
  const Environment two_nodes("TAILRACE_RANKS_PER_NODE", "2");
  const Environment unmeasured("TAILRACE_TUNE", "off");
  const Problem problem{Kind::real_to_complex, {16, 12, 20}, {-1, -1, -1}, {0, 0}, 2};
  const Transform<double> transform(comm, problem);
  EXPECT_EQ(transform.problem().grid, (std::array<int, 2>{2, 2}));
  EXPECT_EQ(transform.method(), "node_direct in rows, alltoallv in columns");
  EXPECT_NE(transform.grid_why().find("rows of 2 stays on a node"), std::string::npos)
      << transform.grid_why();
  EXPECT_NE(transform.describe().find(transform.grid_why()), std::string::npos);
  check<double, double>(comm, problem, {}, 2);
  Options options;
  options.row_method = "node_direct";
  options.method = "pairwise";
  check<double, double>(comm, problem, options, 3);
  auto by_hand = problem;
  by_hand.grid = {4, 1};
  EXPECT_GE(check_methods(comm, by_hand), 4);
}

TEST(Transform, RefusesWhatItCannotDo) {
  Comm comm(MPI_COMM_WORLD);
  const auto message = [&](const Problem& problem, const Options& options) {
    try {
      Transform<double> transform(comm, problem, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Problem good{Kind::real_to_complex, {8, 8, 8}, {-1, -1, -1}, {0, 0}, 1};
  Problem bad = good;
  bad.extents[1] = 0;
  EXPECT_NE(message(bad, {}).find("axis y"), std::string::npos);
  bad = good;
  bad.cutoff[0] = 4;
  EXPECT_NE(message(bad, {}).find("must be 0 to 3"), std::string::npos);
  bad = good;
  bad.grid = {comm.num_ranks(), 2};
  EXPECT_NE(message(bad, {}).find("does not fit"), std::string::npos);
  Options options;
  options.kernel = "fftpack";
  EXPECT_NE(message(good, options).find("unknown"), std::string::npos);
  options = {};
  options.method = "carrier_pigeon";
  EXPECT_NE(message(good, options).find("carrier_pigeon"), std::string::npos);
}

}  // namespace
}  // namespace tailrace::fft
