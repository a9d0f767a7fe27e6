// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <complex>
#include <numeric>

#include <fmt/format.h>

#include "pipeline_fixture.hpp"

namespace tailrace::server {
namespace {

class SpectrumTest : public PipelineTest {
 protected:
  /// A step of fields u, v, ... on a grid.
  Step fields(const std::vector<std::ptrdiff_t>& extents, ItemType type,
              const std::vector<Values>& values) {
    Step step = one_field(0, ItemType::float64, [](const Index&) { return 0; });
    step.fields.clear();
    std::string name = "u";
    for (const auto& value : values) {
      step.fields.push_back(make_field(step, name, type, extents,
                                       uneven_boxes(extents, group_.size())[own()], value));
      ++name[0];
    }
    return step;
  }

  /// Row `field` of the only result, on every server.
  std::vector<double> spectrum(const std::string& stage, const Step& step, std::size_t field = 0) {
    Pipeline pipeline(Products{{.name = "s", .stages = {stage}}});
    const auto results = run(pipeline, step);
    if (results.size() != 1) return {};
    last_ = results[0].step;
    auto row = row_of(last_.fields.at(field));
    row.resize(static_cast<std::size_t>(last_.fields.at(field).extents[0]));
    group_.sum(row);
    return row;
  }
  Step last_;
};

double noise(const Index& at) {
  return std::sin(static_cast<double>(at[0] * 12 + at[1] * 78 + at[2] * 37 + 1) * 437.5);
}

using WholeLengths = std::array<std::int64_t, 3>;

/// The shell of a mode by whole numbers: the largest s with (s - 1/2)^2 <= (|k| / unit)^2.
std::size_t exact_shell(const Index& mode, const WholeLengths& lengths) {
  const std::int64_t common = lengths[0] * lengths[1] * lengths[2];
  const std::int64_t longest = std::max({lengths[0], lengths[1], lengths[2]});
  std::int64_t square = 0;  // of |k| / unit times `common`
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t k = mode[d] * longest * (common / lengths[d]);
    square += k * k;
  }
  std::int64_t shell = 0;
  while ((2 * shell + 1) * (2 * shell + 1) * common * common <= 4 * square) ++shell;
  return static_cast<std::size_t>(shell);
}

/// The definition: a plain sum for each mode, shells of width 2 pi / (longest period). Periods are
/// `lengths` times `scale`.
std::vector<double> by_definition(const std::array<std::ptrdiff_t, 3>& n,
                                  const WholeLengths& lengths, const Values& value,
                                  double scale = 1) {
  const double longest = static_cast<double>(std::max({lengths[0], lengths[1], lengths[2]}));
  const double unit = 2 * M_PI / (scale * longest);
  std::vector<double> shells(64);
  const auto box = box_of({0, 0, 0}, {n[0], n[1], n[2]});
  for_each_item(box, [&](const Index& mode) {
    std::complex<double> sum;
    Index wave = mode;
    for (std::size_t d = 0; d < 3; ++d) {
      wave[d] = 2 * mode[d] <= n[d] ? mode[d] : mode[d] - n[d];
    }
    for_each_item(box, [&](const Index& at) {
      double phase = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        phase += 2 * M_PI * static_cast<double>(at[d] * mode[d]) / static_cast<double>(n[d]);
      }
      sum += value(at) * std::polar(1.0, -phase);
    });
    const double points = static_cast<double>(n[0] * n[1] * n[2]);
    shells.at(exact_shell(wave, lengths)) += std::norm(sum) / (points * points) / unit;
  });
  return shells;
}

TEST_F(SpectrumTest, EqualsItsDefinition) {
  const std::array<std::ptrdiff_t, 3> n{5, 6, 7};
  const auto row = spectrum("spectrum", fields({5, 6, 7}, ItemType::float64, {noise}));
  const auto expected = by_definition(n, {1, 1, 1}, noise, 2 * M_PI);
  ASSERT_GT(row.size(), 4U);
  for (std::size_t s = 0; s < row.size(); ++s) EXPECT_NEAR(row[s], expected[s], 1e-14) << s;
  EXPECT_EQ(last_.fields[0].name, "u_spectrum");
  EXPECT_EQ(last_.coordinates.at(0).values.at(2), 2);

  const auto long_row =
      spectrum("spectrum lengths=1,2,4", fields({5, 6, 7}, ItemType::float64, {noise}));
  const auto long_expected = by_definition(n, {1, 2, 4}, noise);
  for (std::size_t s = 0; s < long_row.size(); ++s) {
    EXPECT_NEAR(long_row[s], long_expected[s], 1e-14) << s;
  }
}

TEST_F(SpectrumTest, ModesOnAnEdgeOfAShellAreInTheUpperOne) {
  const std::array<std::ptrdiff_t, 3> n{6, 8, 10};
  const std::vector<WholeLengths> boxes{{1, 1, 1}, {1, 1, 2}, {2, 1, 4}, {2, 3, 4}, {4, 3, 2},
                                        {4, 4, 6}, {6, 5, 4}, {3, 4, 8}, {2, 8, 2}, {8, 12, 6},
                                        {3, 3, 5}, {5, 6, 7}, {10, 4, 6}};
  for (const auto& box : boxes) {
    const auto expected = by_definition(n, box, noise);
    for (const double scale : {1.0, 0.1, 2 * M_PI, 2 * M_PI / 7, 1e-3 / 3, 1234.567}) {
      std::string stage = "spectrum lengths=";
      for (std::size_t d = 0; d < 3; ++d) {
        stage += (d > 0 ? "," : "") + fmt::format("{}", scale * static_cast<double>(box[d]));
      }
      const auto row = spectrum(stage, fields({6, 8, 10}, ItemType::float64, {noise}));
      for (std::size_t s = 0; s < row.size(); ++s) {
        EXPECT_NEAR(row[s] / scale, expected[s], 1e-12) << stage << ", shell " << s;
      }
    }
  }
}

TEST_F(SpectrumTest, ParsevalOnEvenAndOddGridsAndFewRows) {
  const std::vector<std::vector<std::ptrdiff_t>> grids{{8, 8, 8}, {9, 15, 10}, {1, 4, 6},
                                                       {2, 3, 1}, {16, 10},    {33}};
  for (const auto& extents : grids) {
    const auto row = spectrum("spectrum", fields(extents, ItemType::float64, {noise}));
    const auto all = all_values(
        ItemType::float64, {{box_of(std::vector<std::ptrdiff_t>(extents.size()), extents)}}, noise);
    double squares = 0;
    for (const double value : all) squares += value * value;
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0),
                squares / static_cast<double>(all.size()), 1e-13)
        << extents.size() << " axes";
  }
}

TEST_F(SpectrumTest, AWaveIsInItsShell) {
  for (const auto type : {ItemType::float32, ItemType::float64, ItemType::int32, ItemType::int8}) {
    const auto row =
        spectrum("spectrum",
                 fields({12, 12, 12}, type, {[](const Index& at) {
                          return std::round(
                              100 * std::cos(2 * M_PI * static_cast<double>(at[0]) / 4));  // k = 3
                        }}));
    for (std::size_t s = 0; s < row.size(); ++s) {
      EXPECT_NEAR(row[s], s == 3 ? 5000 : 0, 1e-9) << s;
    }
  }
}

TEST_F(SpectrumTest, EnergyIsHalfTheSumAndPeriodsComeFromCoordinates) {
  const Values other = [](const Index& at) { return 3 * noise(at); };
  auto step = fields({6, 6, 6}, ItemType::float64, {noise, other});
  for (const char* axis : {"z", "y", "x"}) {
    step.coordinates.push_back({axis, {0, 0.5, 1, 1.5, 2, 2.5}, {}});  // period 3
  }
  const auto energy = spectrum("spectrum energy=yes", step);
  EXPECT_EQ(last_.fields[0].name, "energy_spectrum");
  EXPECT_NEAR(last_.coordinates.at(0).values.at(1), 2 * M_PI / 3, 1e-14);
  const auto u = spectrum("spectrum", step, 0), v = spectrum("spectrum", step, 1);
  for (std::size_t s = 0; s < u.size(); ++s) EXPECT_NEAR(energy[s], (u[s] + v[s]) / 2, 1e-14);
}

TEST_F(SpectrumTest, ATableOfLines) {
  Pipeline pipeline(
      Products{{.name = "s", .stages = {"spectrum"}, .path = folder_ / "spectrum.csv"}});
  auto step = fields({4, 4, 4}, ItemType::float64, {noise});
  for (std::int64_t number = 0; number < 2; ++number) {
    step.number = step.step = number;
    EXPECT_TRUE(run(pipeline, step).empty());
  }
  barrier();
  const auto row = spectrum("spectrum", step);
  const auto table = cells_of(folder_ / "spectrum.csv");
  ASSERT_EQ(table.size(), 1 + 2 * row.size());
  EXPECT_EQ(table[0], (std::vector<std::string>{"step", "time", "k", "u_spectrum"}));
  EXPECT_EQ(table.back()[0], "1");
  EXPECT_EQ(table[2][2], "1");
  EXPECT_EQ(std::stod(table[2][3]), row[1]);
}

TEST_F(SpectrumTest, WhatHasNoSpectrum) {
  auto step = one_field(0, ItemType::float64, noise);
  step.fields = {make_field(step, "w", ItemType::float64, {8, 8},
                            triangle_boxes(8, 3, group_.size())[own()], noise)};
  Pipeline triangle(Products{{.name = "s", .stages = {"spectrum"}}});
  expect_holds(failure_of(triangle, step), {"spectrum", "all items of w", "in no box"});
  Pipeline wrong(Products{{.name = "s", .stages = {"spectrum lengths=1,2"}}});
  expect_holds(failure_of(wrong, one_field(0, ItemType::float64, noise)),
               {"lengths has 2 numbers", "u has 3 axes"});
}

}  // namespace
}  // namespace tailrace::server
