// SPDX-License-Identifier: BSD-3-Clause
// Stages for what moves through space: sums and means by a weight, times of arrival.
#include <cmath>

#include "pipeline_fixture.hpp"

namespace tailrace::server {
namespace {

const std::vector<std::ptrdiff_t> extents{5, 9, 6};

double weight(const Index& at) { return static_cast<double>(1 + at[0] + 2 * at[1]); }
double value(const Index& at) { return static_cast<double>(at[2] - at[1]); }

class WeightedTest : public PipelineTest {
 protected:
  Step two_fields(ItemType of_values, ItemType of_weights) {
    Step step = one_field(2, of_values, value);
    const auto boxes = uneven_boxes(extents, group_.size());
    step.fields.push_back(make_field(step, "w", of_weights, extents, boxes[own()], weight));
    return step;
  }
};

TEST_F(WeightedTest, AgainstASerialSum) {
  double sum = 0, all = 0;
  for_each_item(box_of({0, 0, 0}, extents), [&](const Index& at) {
    sum += weight(at) * value(at);
    all += weight(at);
  });
  for (const auto& types : {std::pair{ItemType::float64, ItemType::float64},
                            std::pair{ItemType::float32, ItemType::int16},
                            std::pair{ItemType::int64, ItemType::float64}}) {
    const auto name = "t" + std::to_string(static_cast<int>(types.first));
    Pipeline pipeline(Products{{.name = name, .stages = {"weighted by=w what=sum,mean"}}});
    EXPECT_TRUE(run(pipeline, two_fields(types.first, types.second)).empty());
    barrier();
    const auto table = cells_of(folder_ / (name + ".csv"));
    const std::vector<std::string> head{"step", "time", "u_w_sum", "u_w_mean"};
    ASSERT_EQ(table.size(), 2U);
    EXPECT_EQ(table[0], head);
    EXPECT_EQ(std::stod(table[1][2]), sum);  // whole numbers: exact in any order
    EXPECT_DOUBLE_EQ(std::stod(table[1][3]), sum / all);
    barrier();
  }
}

TEST_F(WeightedTest, OfASlice) {
  double sum = 0;
  for_each_item(box_of({0, 0, 4}, {5, 9, 1}),
                [&](const Index& at) { sum += weight(at) * value(at); });
  Pipeline pipeline(
      Products{{.name = "s", .stages = {"slice axis=x index=4", "weighted by=w what=sum"}}});
  run(pipeline, two_fields(ItemType::float64, ItemType::float64));
  barrier();
  EXPECT_EQ(std::stod(cells_of(folder_ / "s.csv").at(1).at(2)), sum);
}

TEST_F(WeightedTest, WrongInput) {
  expect_holds(message_of([] { Pipeline(Products{{.name = "s", .stages = {"weighted"}}}); }),
               {"weighted", "by"});
  expect_holds(
      message_of([] { Pipeline(Products{{.name = "s", .stages = {"weighted by=w what=men"}}}); }),
      {"men", "mean"});
  Pipeline missing(Products{{.name = "s", .stages = {"weighted by=water"}}});
  expect_holds(failure_of(missing, two_fields(ItemType::float64, ItemType::float64)),
               {"water is not among the variables of product s"});
  auto step = two_fields(ItemType::float64, ItemType::float64);
  step.fields[1].dims[0] = "t";
  Pipeline other(Products{{.name = "s", .stages = {"weighted by=w"}}});
  const auto message = failure_of(other, step);
  EXPECT_NE(message.find("u and w must have the same axes and boxes"), std::string::npos)
      << message;
}

using ArrivalTest = PipelineTest;

/// A front that is at x = 2 time: 1 behind it, 0 from one item ahead on.
double front(double time, const Index& at) {
  return std::clamp(2 * time - static_cast<double>(at[2]) + 1, 0.0, 1.0);
}

TEST_F(ArrivalTest, LinearBetweenSteps) {
  Pipeline pipeline(Products{{.name = "a", .stages = {"arrival at=0.25"}}});
  for (std::int64_t number = 0; number < 5; ++number) {  // times 0, 0.5 ... : one item each
    const double time = 0.5 * static_cast<double>(number);
    Step step =
        one_field(number, ItemType::float32, [&](const Index& at) { return front(time, at); });
    const auto rising = run(pipeline, step).at(0).step;
    ASSERT_EQ(rising.fields.at(0).name, "u_arrival");
    ASSERT_EQ(rising.fields[0].type, ItemType::float64);
    for_each_value(rising.fields[0], [&](const Index& at, double found) {
      const auto x = static_cast<double>(at[2]);
      const double expected = x == 0 ? 0 : (x - 0.75) / 2;
      if (expected <= time) {
        EXPECT_NEAR(found, expected, 1e-14) << x;
      } else {
        EXPECT_TRUE(std::isnan(found)) << x;
      }
    });
  }
}

TEST_F(ArrivalTest, Falling) {
  Pipeline pipeline(Products{{.name = "b", .stages = {"arrival at=0.25 falling=yes"}}});
  for (std::int64_t number = 0; number < 3; ++number) {
    const double time = 0.5 * static_cast<double>(number);
    const auto results = run(pipeline, one_field(number, ItemType::float64, [&](const Index& at) {
                               return 1 - front(time, at);
                             }));
    for_each_value(results.at(0).step.fields.at(0), [&](const Index& at, double found) {
      const auto x = static_cast<double>(at[2]);
      const double expected = x == 0 ? 0 : (x - 0.25) / 2;
      if (expected <= time) {
        EXPECT_NEAR(found, expected, 1e-14) << x;
      } else {
        EXPECT_TRUE(std::isnan(found)) << x;
      }
    });
  }
}

TEST_F(ArrivalTest, WrongInput) {
  expect_holds(message_of([] { Pipeline(Products{{.name = "s", .stages = {"arrival"}}}); }),
               {"arrival", "at"});
  Pipeline pipeline(Products{{.name = "s", .stages = {"arrival at=1"}}});
  Step step = one_field(0, ItemType::float64, value);
  step.attributes.clear();
  expect_holds(failure_of(pipeline, step), {"needs steps with an attribute `time`"});
  run(pipeline, one_field(0, ItemType::float64, value));
  Step other = one_field(1, ItemType::float64, value);
  other.fields[0].name = "v";
  expect_holds(failure_of(pipeline, other), {"boxes of v on this server are not those"});
}

}  // namespace
}  // namespace tailrace::server
