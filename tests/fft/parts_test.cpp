// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "environment.hpp"
#include "fft/axis.hpp"
#include "fft/geometry.hpp"
#include "fft/kernel.hpp"
#include "tailrace/more/lanes.hpp"
#include "temp_folder.hpp"

namespace tailrace::fft {
namespace {

TEST(Axis, OrdersSignedModesAndCuts) {
  const auto all = Axis::make(6, -1, false);
  EXPECT_EQ(all.k, (std::vector<int>{0, 1, 2, -3, -2, -1}));
  EXPECT_EQ(all.num_nonnegative, 3);
  const auto cut = Axis::make(7, 2, false);
  EXPECT_EQ(cut.k, (std::vector<int>{0, 1, 2, -2, -1}));
  EXPECT_EQ(cut.row, (std::vector<std::ptrdiff_t>{0, 1, 2, 5, 6}));
  const auto half = Axis::make(8, -1, true);
  EXPECT_EQ(half.k, (std::vector<int>{0, 1, 2, 3, 4}));
}

template <class Real>
void check_lanes() {
  constexpr auto w = lanes<Real>;
  Vector<Real> rows[w];
  for (std::ptrdiff_t i = 0; i < w; ++i)
    for (std::ptrdiff_t j = 0; j < w; ++j) rows[i][j] = static_cast<Real>(10 * i + j);
  transpose<Real>(rows);
  for (std::ptrdiff_t i = 0; i < w; ++i)
    for (std::ptrdiff_t j = 0; j < w; ++j) EXPECT_EQ(rows[i][j], static_cast<Real>(10 * j + i));
  Real pairs[2 * w];
  for (std::ptrdiff_t i = 0; i < 2 * w; ++i) pairs[i] = static_cast<Real>(i);
  for (std::ptrdiff_t count = 1; count <= w; ++count) {
    Vector<Real> re, im;
    load_interleaved<Real>(pairs, count, re, im);
    for (std::ptrdiff_t i = 0; i < w; ++i) {
      EXPECT_EQ(re[i], i < count ? static_cast<Real>(2 * i) : Real(0));
      EXPECT_EQ(im[i], i < count ? static_cast<Real>(2 * i + 1) : Real(0));
    }
    std::vector<Real> out(static_cast<std::size_t>(2 * w), Real(-1));
    store_interleaved<Real>(out.data(), count, re, im);
    for (std::ptrdiff_t i = 0; i < 2 * w; ++i) {
      EXPECT_EQ(out[static_cast<std::size_t>(i)], i < 2 * count ? static_cast<Real>(i) : Real(-1));
    }
  }
}

TEST(Lanes, TransposeAndInterleave) {
  check_lanes<float>();
  check_lanes<double>();
}

TEST(Geometry, EveryModeAndPointHasOneOwner) {
  for (int pz = 1; pz <= 5; ++pz) {
    for (int py = 1; py <= 5; ++py) {
      const Problem problem{Kind::real_to_complex, {7, 3, 10}, {2, -1, 3}, {pz, py}, 1};
      std::ptrdiff_t points = 0;
      std::ptrdiff_t modes = 0;
      for (int rank = 0; rank < pz * py; ++rank) {
        const auto g = Geometry::make(problem, rank);
        points += g.zs().count * g.ys().count * g.x.points;
        modes += g.kys().count * g.kxs().count * g.z.kept();
      }
      EXPECT_EQ(points, 7 * 3 * 10);
      EXPECT_EQ(modes, 5 * 3 * 4);
    }
  }
}

TEST(Geometry, ChoosesTheGridByPlanesAndNodes) {
  const Problem problem{Kind::real_to_complex, {8, 8, 8}, {-1, -1, -1}, {0, 0}, 1};
  const auto on_one_node = [&](int ranks) {
    return choose_grid(problem, 16, NodeMap(std::vector<int>(static_cast<std::size_t>(ranks))))
        .grid;
  };
  EXPECT_EQ(on_one_node(4), (std::array<int, 2>{4, 1}));
  EXPECT_EQ(on_one_node(16), (std::array<int, 2>{8, 2}));
  const NodeMap two_nodes({0, 0, 0, 0, 1, 1, 1, 1});
  const Problem larger{Kind::real_to_complex, {16, 16, 16}, {-1, -1, -1}, {0, 0}, 1};
  EXPECT_EQ(choose_grid(larger, 16, two_nodes).grid, (std::array<int, 2>{2, 4}));
}

/// What FFTW has measured lies in a file of the cache, which each new kernel replaces.
template <class Real>
void check_wisdom(const std::string& name) {
  if (!fftw_available()) GTEST_SKIP() << "FFTW is not built in";
  // A pipe first: the first kernel of a process reads the file.
  for (const mode_t kind : {S_IFIFO, S_IFCHR, S_IFREG}) {
    for (const bool linked : {false, true}) {
      const TempFolder folder;
      const Environment cache("TAILRACE_CACHE", folder.path());
      const auto path = folder / name;
      const auto target = linked ? folder / "target" : path;
      if (mknod(target.c_str(), kind | 0600, makedev(1, 3)) != 0) continue;  // not root
      if (linked) std::filesystem::create_symlink(target, path);
      struct stat before {
      }, after{};
      ASSERT_EQ(stat(path.c_str(), &before), 0);
      static std::ptrdiff_t n = 3;
      find_kernel_library("fftw")->make<Real>(n++, false);
      ASSERT_EQ(stat(target.c_str(), &after), 0);
      EXPECT_EQ(after.st_mode, before.st_mode);
      EXPECT_EQ(std::filesystem::is_symlink(path), linked);
      if (kind == S_IFREG) {
        EXPECT_GT(after.st_size, 0);
      } else {
        EXPECT_EQ(after.st_ino, before.st_ino);
      }
      const std::filesystem::directory_iterator entries(folder.path());
      EXPECT_EQ(std::distance(begin(entries), end(entries)), linked ? 2 : 1);
    }
  }
}

TEST(Wisdom, KeepsLinksModesAndDevicesInDouble) { check_wisdom<double>("fftw-wisdom"); }
TEST(Wisdom, KeepsLinksModesAndDevicesInFloat) { check_wisdom<float>("fftwf-wisdom"); }

}  // namespace
}  // namespace tailrace::fft
