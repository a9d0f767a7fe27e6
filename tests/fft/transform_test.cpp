// SPDX-License-Identifier: BSD-3-Clause
// Every transform against the plain sum over points, on every grid of ranks, kernel and method.
#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "environment.hpp"
#include "fft/check_transform.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {
namespace {

using testing::check;
using testing::Extents;

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

TEST(Transform, ModesInTheOtherOrderAndScaled) {
  Comm comm(MPI_COMM_WORLD);
  Options others;
  others.stores = "streaming";
  others.reads = "ahead";
  for (const auto& shape : shapes) {
    for (const auto& grid : grids(comm.num_ranks())) {
      Problem problem{Kind::real_to_complex, shape, {-1, -1, -1}, grid, 2};
      problem.mode_order = ModeOrder::kz_ky_kx;
      problem.scale = 0.375;
      check<double, double>(comm, problem, others, 2);
      problem.kind = Kind::complex_to_complex;
      for (std::size_t d = 0; d < 3; ++d) problem.cutoff[d] = (shape[d] - 1) / 3;
      check<float, std::complex<float>>(comm, problem, {}, 1);
    }
  }
}

// Where `spectral_memory` has the modes is where `index` has them.
TEST(Transform, SaysHowModesLieInMemory) {
  Comm comm(MPI_COMM_WORLD);
  for (const auto order : {ModeOrder::ky_kz_kx, ModeOrder::kz_ky_kx}) {
    Problem problem{Kind::real_to_complex, {9, 7, 8}};
    problem.mode_order = order;
    const Transform<double> transform(comm, problem);
    const auto& modes = transform.modes();
    const auto memory = transform.spectral_memory();
    ASSERT_EQ(memory.num_items, modes.num_modes());
    if (memory.boxes.empty()) continue;
    const auto& [offset, strides] = memory.boxes.front();
    for (std::ptrdiff_t j = 0; j < std::ssize(modes.ky); ++j) {
      for (std::ptrdiff_t l = 0; l < std::ssize(modes.kz); ++l) {
        EXPECT_EQ(modes.index(j, l, 1), offset + l * strides[0] + j * strides[1] + strides[2]);
      }
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

TEST(Transform, MeasuresWhichKernelIsFastest) {
  const Environment tune("TAILRACE_TUNE", "first_use");
  const Environment memory("TAILRACE_TUNE_FILE", "");
  const Environment budget("TAILRACE_TUNE_BUDGET_S", "0.1");
  const Comm comm(MPI_COMM_WORLD);
  const Transform<double> real(comm, {Kind::real_to_complex, {9, 10, 12}});
  const Transform<float> complex(comm, {Kind::complex_to_complex, {9, 10, 12}});
  for (const auto name : {real.kernel(), complex.kernel()}) {
    EXPECT_TRUE(std::ranges::any_of(kernels(), [&](const KernelInfo& kernel) {
      return kernel.available && kernel.name == name;
    })) << name;
  }
}

// Modes and fields of a pair, between guards, that begin `shift` items behind a line.
template <class Real, class Item>
std::vector<std::complex<Real>> pair_by(const Comm& comm, const Problem& problem,
                                        const Options& options, std::size_t shift) {
  using Complex = std::complex<Real>;
  Transform<Real> transform(comm, problem, options);
  const auto points = static_cast<std::size_t>(transform.physical_box().num_items());
  const auto kept = static_cast<std::size_t>(transform.modes().num_modes());
  std::vector<Item> field(points), back(points + 2 * shift + 64, Item(7));
  std::vector<Complex> modes(kept + 2 * shift + 64, Complex(7));
  for (std::size_t i = 0; i < points; ++i) field[i] = static_cast<Real>(i * i % 89) / 8;
  const auto spectrum = std::span(modes).subspan(shift, kept);
  transform.forward(field, spectrum);
  transform.backward(spectrum, std::span(back).subspan(shift, points));
  modes.insert(modes.end(), back.begin(), back.end());
  return modes;
}

template <class Real, class Item>
void check_memory_ways(const Comm& comm, const Problem& problem) {
  for (const std::size_t shift : {0, 1, 3, 5}) {
    Options options;
    options.kernel = std::string(std::ranges::find(kernels(), true, &KernelInfo::available)->name);
    options.stores = std::string(store_kinds().front().name);
    options.reads = std::string(read_kinds().front().name);
    const auto plain = pair_by<Real, Item>(comm, problem, options, shift);
    for (const auto& stores : store_kinds()) {
      for (const auto& reads : read_kinds()) {
        options.stores = std::string(stores.name);
        options.reads = std::string(reads.name);
        const auto same = pair_by<Real, Item>(comm, problem, options, shift);
        ASSERT_EQ(std::memcmp(plain.data(), same.data(), plain.size() * sizeof plain[0]), 0)
            << stores.name << ", " << reads.name << ", " << shift;
      }
    }
  }
}

TEST(Transform, EveryWayOfTouchingMemoryGivesTheSameBits) {
  Comm comm(MPI_COMM_WORLD);
  for (const auto& shape : {Extents{6, 5, 47}, Extents{9, 16, 32}, Extents{5, 4, 6}}) {
    for (const auto& grid : grids(comm.num_ranks())) {
      Problem problem{Kind::real_to_complex, shape, {-1, -1, -1}, grid, 1};
      check_memory_ways<double, double>(comm, problem);
      check_memory_ways<float, float>(comm, problem);
      problem.kind = Kind::complex_to_complex;
      problem.cutoff[0] = 1;
      check_memory_ways<double, std::complex<double>>(comm, problem);
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
  bad.extents = {99999999, 99999999, 99999999};
  EXPECT_NE(message(bad, {}).find("points: more than 7.2e+16"), std::string::npos);
  bad = good;
  bad.cutoff[0] = 4;
  EXPECT_NE(message(bad, {}).find("must be 0 to 3"), std::string::npos);
  bad = good;
  bad.grid = {comm.num_ranks(), 2};
  EXPECT_NE(message(bad, {}).find("does not fit"), std::string::npos);
  bad = good;
  bad.scale = 0;
  EXPECT_NE(message(bad, {}).find("scale 0: must be"), std::string::npos);
  if (comm.num_ranks() > 1) {
    bad = good;
    if (comm.rank() == 0) bad.mode_order = ModeOrder::kz_ky_kx;
    EXPECT_NE(message(bad, {}).find("mode_order"), std::string::npos);
  }
  Options options;
  options.kernel = "fftpack";
  EXPECT_NE(message(good, options).find("unknown"), std::string::npos);
  options = {};
  options.reads = "aloud";
  EXPECT_NE(message(good, options).find("there are: auto, plain, ahead"), std::string::npos);
  options = {};
  options.method = "carrier_pigeon";
  EXPECT_NE(message(good, options).find("carrier_pigeon"), std::string::npos);
}

/// Arrays of the caller, of which all ranks give one of a wrong size; the call may be made again.
TEST(Transform, ArraysOfAnotherSizeAreRefused) {
  Comm comm(MPI_COMM_WORLD);
  using Complex = std::complex<double>;
  Transform<double> transform(comm, {.extents = {7, 8, 9}, .max_fields = 2});
  const auto points = static_cast<std::size_t>(transform.physical_box().num_items());
  const auto kept = static_cast<std::size_t>(transform.modes().num_modes());
  std::vector<double> u(points, 1), v(points, 2), long_u(points + 1);
  std::vector<Complex> u_hat(kept), v_hat(kept), long_hat(kept + 2), c(points);
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto expect = [&](const std::string& part, auto&& call) {
    const auto text = message(call);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto wanted = "this rank's part has " + std::to_string(points);
  expect("physical array of field 0", [&] { transform.forward(long_u, u_hat); });
  expect(wanted, [&] { transform.forward(long_u, u_hat); });
  expect("spectral array of field 0", [&] { transform.forward(u, long_hat); });
  expect("spectral array of field 0", [&] { transform.backward(long_hat, u); });
  expect("physical array of field 1", [&] { transform.backward({u_hat, v_hat}, {u, long_u}); });
  expect("2 input fields and 1 output fields", [&] { transform.forward({u, v}, {u_hat}); });
  expect("of the other kind", [&] { transform.forward(c, u_hat); });
  transform.forward({u, v}, {u_hat, v_hat});
  transform.backward({u_hat, v_hat}, {u, v});
  for (std::size_t i = 0; i < points; ++i) {
    EXPECT_NEAR(u[i], 7 * 8 * 9, 1e-9);
    EXPECT_NEAR(v[i], 2 * 7 * 8 * 9, 1e-9);
  }
}

}  // namespace
}  // namespace tailrace::fft
