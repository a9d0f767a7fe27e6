// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipeline_fixture.hpp"

namespace tailrace::server {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

/// The cell of column `name` in line `line` of a table.
double cell(const std::vector<std::vector<std::string>>& table, std::size_t line,
            const std::string& name) {
  const auto& head = table.at(0);
  const auto column = std::find(head.begin(), head.end(), name) - head.begin();
  return std::stod(table.at(line).at(static_cast<std::size_t>(column)));
}

using SpaceTest = PipelineTest;

TEST_F(SpaceTest, EveryTypeAgainstASerialSum) {
  for (const auto type : real_types) {
    const Values values = [](const Index& at) {
      return static_cast<double>((at[0] * 31 + at[1] * 17 + at[2] * 7) % 101);
    };
    const auto name = "t" + std::to_string(static_cast<int>(type));
    Pipeline pipeline(Products{{.name = name, .stages = {"mean", "sum", "minmax", "variance"}}});
    EXPECT_TRUE(run(pipeline, one_field(3, type, values)).empty());  // only the table
    barrier();
    const auto table = cells_of(folder_ / (name + ".csv"));
    const auto all = all_values(type, uneven_boxes({5, 9, 6}, group_.size()), values);
    ASSERT_EQ(table.size(), 2U);
    EXPECT_EQ(table[0][0], "step");
    EXPECT_EQ(cell(table, 1, "step"), 30);
    EXPECT_EQ(cell(table, 1, "time"), 1.5);
    EXPECT_NEAR(cell(table, 1, "u_mean"), mean_of(all), 1e-12);
    EXPECT_EQ(cell(table, 1, "u_sum"), std::accumulate(all.begin(), all.end(), 0.0));
    EXPECT_EQ(cell(table, 1, "u_min"), *std::min_element(all.begin(), all.end()));
    EXPECT_EQ(cell(table, 1, "u_max"), *std::max_element(all.begin(), all.end()));
    EXPECT_NEAR(cell(table, 1, "u_variance"), variance_of(all), 1e-10);
    barrier();
  }
}

TEST_F(SpaceTest, ManyItemsFarFromZeroLoseNoDigits) {
  // Mean 1e9, deviations +-1: the sum of squares would leave nothing of them.
  const std::vector<std::ptrdiff_t> extents{50, 60, 70};
  const Values values = [](const Index& at) {
    return 1e9 + ((at[0] + at[1] + at[2]) % 2 == 0 ? 1 : -1);
  };
  Step step = one_field(0, ItemType::float64, values);
  step.fields = {make_field(step, "u", ItemType::float64, extents,
                            uneven_boxes(extents, group_.size())[own()], values)};
  Pipeline pipeline(Products{{.name = "s", .stages = {"variance", "mean"}}});
  run(pipeline, step);
  barrier();
  const auto table = cells_of(folder_ / "s.csv");
  EXPECT_NEAR(cell(table, 1, "u_variance"), 1, 1e-12);
  EXPECT_EQ(cell(table, 1, "u_mean"), 1e9);
}

TEST_F(SpaceTest, TrianglesAndNothingAtAll) {
  Step step = one_field(0, ItemType::float64, [](const Index&) { return 0; });
  const Values values = [](const Index& at) { return static_cast<double>(at[0] * 100 + at[1]); };
  const auto boxes = triangle_boxes(11, 4, group_.size());
  step.fields = {make_field(step, "w", ItemType::float64, {11, 11}, boxes[own()], values),
                 make_field(step, "none", ItemType::float64, {4}, {}, values)};
  Pipeline pipeline(Products{{.name = "s", .stages = {"mean", "minmax", "sum"}}});
  run(pipeline, step);
  barrier();
  const auto table = cells_of(folder_ / "s.csv");
  const auto all = all_values(ItemType::float64, boxes, values);
  EXPECT_NEAR(cell(table, 1, "w_mean"), mean_of(all), 1e-10);
  EXPECT_EQ(cell(table, 1, "w_max"), 1010);
  EXPECT_TRUE(std::isnan(cell(table, 1, "none_mean")));
  EXPECT_EQ(cell(table, 1, "none_sum"), 0);
}

TEST_F(SpaceTest, ANanIsSeen) {
  const Values values = [](const Index& at) { return at[1] == 4 ? std::nan("") : 1.0; };
  Pipeline pipeline(Products{{.name = "s", .stages = {"mean", "minmax"}}});
  run(pipeline, one_field(0, ItemType::float32, values));
  barrier();
  const auto table = cells_of(folder_ / "s.csv");
  for (const char* column : {"u_mean", "u_min", "u_max"}) {
    EXPECT_TRUE(std::isnan(cell(table, 1, column))) << column;
  }
}

using HistogramTest = PipelineTest;

TEST_F(HistogramTest, CountsOfEveryType) {
  for (const auto type : real_types) {
    const Values values = [](const Index& at) {
      return static_cast<double>((at[0] * 31 + at[1] * 17 + at[2] * 7) % 101);
    };
    Pipeline pipeline(Products{{.name = "h", .stages = {"histogram bins=10 min=10 max=60"}}});
    const auto results = run(pipeline, one_field(0, type, values));
    ASSERT_EQ(results.size(), 1U);
    const auto& field = results[0].step.fields.at(0);
    EXPECT_EQ(field.name, "u_histogram");
    std::vector<double> counts(10);
    std::int64_t below = 0, above = 0;
    for (const double value : all_values(type, uneven_boxes({5, 9, 6}, group_.size()), values)) {
      if (value < 10) {
        ++below;
      } else if (value > 60) {
        ++above;
      } else {
        ++counts[std::min<std::size_t>(9, static_cast<std::size_t>((value - 10) / 5))];
      }
    }
    if (rank() == 0) {
      EXPECT_EQ(row_of(field), counts);
    } else {
      EXPECT_TRUE(field.parts.empty());
    }
    EXPECT_EQ(std::get<std::int64_t>(field.attributes.at(2).second), below);
    EXPECT_EQ(std::get<std::int64_t>(field.attributes.at(3).second), above);
    const auto& centres = results[0].step.coordinates.back();
    EXPECT_EQ(centres.name, "bin");
    EXPECT_EQ(centres.values.front(), 12.5);
    EXPECT_EQ(centres.values.back(), 57.5);
  }
}

TEST_F(HistogramTest, RangeOfTheStepHoldsEverything) {
  Pipeline pipeline(Products{{.name = "h", .stages = {"histogram bins=7"}},
                             {.name = "flat", .stages = {"histogram bins=4"}, .every = 2}});
  const auto results = run(pipeline, one_field(1, ItemType::float64, [](const Index& at) {
                             return std::sin(static_cast<double>(at[0] + 3 * at[1] + 7 * at[2]));
                           }));
  ASSERT_EQ(results.size(), 1U);
  const auto row = row_of(results[0].step.fields.at(0));
  if (rank() == 0) {
    EXPECT_EQ(std::accumulate(row.begin(), row.end(), 0.0), 5 * 9 * 6);
  }
  const auto flat = run(pipeline, one_field(2, ItemType::int32, [](const Index&) { return 3; }));
  ASSERT_EQ(flat.size(), 2U);
  const auto counts = row_of(flat[1].step.fields.at(0));
  if (rank() == 0) {
    EXPECT_EQ(counts, (std::vector<double>{0, 0, 270, 0}));
  }
}

TEST_F(HistogramTest, InfiniteValuesAreRefusedWithoutARange) {
  Pipeline pipeline(Products{{.name = "h", .stages = {"histogram"}}});
  const auto step = one_field(0, ItemType::float64, [](const Index& at) {
    return at[1] == 8 && at[0] == 0 && at[2] == 0 ? HUGE_VAL : 1.0;
  });
  expect_holds(failure_of(pipeline, step), {"product h", "histogram", "u", "not finite", "min="});
}

using TimeTest = PipelineTest;

/// Another value for each step and item.
double at_step(std::int64_t number, const Index& at) {
  return static_cast<double>((number * number * 13 + at[0] * 31 + at[1] * (number + 3) + at[2]) %
                             97);
}

TEST_F(TimeTest, EveryTypeAgainstTwoPasses) {
  constexpr std::int64_t steps = 7;
  for (const auto type : real_types) {
    Pipeline pipeline(
        Products{{.name = "t", .stages = {"time what=mean,variance,min,max,skewness every=7"}}});
    std::vector<Pipeline::Result> results;
    for (std::int64_t number = 0; number < steps; ++number) {
      EXPECT_TRUE(results.empty());
      auto step = one_field(number, type, [&](const Index& at) { return at_step(number, at); });
      std::reverse(step.fields[0].parts.begin(), step.fields[0].parts.end());  // in any order
      if (number % 2 == 0) std::reverse(step.fields[0].parts.begin(), step.fields[0].parts.end());
      results = run(pipeline, step);
    }
    ASSERT_EQ(results.size(), 1U);
    const auto& fields = results[0].step.fields;
    ASSERT_EQ(fields.size(), 5U);
    const auto check = [&](const Field& field, const char* name, auto&& expected) {
      EXPECT_EQ(field.name, name);
      EXPECT_EQ(field.type, ItemType::float64);
      for_each_value(field, [&](const Index& at, double value) {
        std::vector<double> series;
        for (std::int64_t number = 0; number < steps; ++number) {
          series.push_back(at_step(number, at));
        }
        ASSERT_NEAR(value, expected(series), 1e-9) << name;
      });
    };
    check(fields[0], "u_mean", mean_of);
    check(fields[1], "u_variance", variance_of);
    check(fields[2], "u_min", [](const auto& s) { return *std::min_element(s.begin(), s.end()); });
    check(fields[3], "u_max", [](const auto& s) { return *std::max_element(s.begin(), s.end()); });
    check(fields[4], "u_skewness", [](const auto& s) {
      double cubes = 0;
      for (const double x : s) cubes += std::pow(x - mean_of(s), 3);
      return cubes / static_cast<double>(s.size()) / std::pow(variance_of(s), 1.5);
    });
  }
}

TEST_F(TimeTest, WindowsStartAgain) {
  Pipeline pipeline(Products{{.name = "t", .stages = {"time what=max every=2 reset=yes"}}});
  for (const double value : {5.0, 3.0, 1.0, 2.0}) {
    const auto number = static_cast<std::int64_t>(value);
    const auto results =
        run(pipeline, one_field(number, ItemType::float64, [&](const Index&) { return value; }));
    if (value == 5 || value == 1) {
      EXPECT_TRUE(results.empty());
      continue;
    }
    ASSERT_EQ(results.size(), 1U);
    for_each_value(results[0].step.fields[0],
                   [&](const Index&, double most) { EXPECT_EQ(most, value == 3 ? 5 : 2); });
  }
}

TEST_F(TimeTest, OtherBoxesAreRefusedOnAllServersAndCountNowhere) {
  Pipeline pipeline(Products{{.name = "t", .stages = {"time what=mean"}}});
  const Values one = [](const Index&) { return 1; };
  run(pipeline, one_field(0, ItemType::float64, one));
  auto other = one_field(1, ItemType::float64, one);
  if (rank() == 0) other.fields[0].parts.pop_back();
  expect_holds(failure_of(pipeline, other), {"product t", "time", "boxes of u", "first step (0)"});
  const auto results = run(pipeline, one_field(2, ItemType::float64, one));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(results[0].step.attributes[1].second), 2);
}

}  // namespace
}  // namespace tailrace::server
