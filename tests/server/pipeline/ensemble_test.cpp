// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline_fixture.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/whole_file.hpp"

namespace tailrace::server {
namespace {

class EnsembleTest : public PipelineTest {
 protected:
  /// A product of one job, and one step of it.
  std::string stage(const std::string& more = "") const {
    return "ensemble folder=" + (folder_ / "common") + " " + more;
  }
  static double value(int job, const Index& at) {
    return static_cast<double>((at[0] * 31 + at[1] * 17 + at[2] * 7 + job * job * 3) % 101);
  }
  void add(int job, const std::vector<Box>& boxes, ItemType type) {
    Pipeline pipeline(Products{{.name = "e", .stages = {stage("job=" + std::to_string(job))}}});
    auto step = one_field(1, ItemType::int8, [](const Index&) { return 0; });
    step.fields = {make_field(step, "u", type, {5, 9, 6}, boxes,
                              [&](const Index& at) { return value(job, at); })};
    EXPECT_TRUE(run(pipeline, step).empty());
    barrier();
  }
  std::vector<double> array(const std::string& name) const {
    std::vector<double> values(270);
    const Input input(comm_, folder_ / "common/e_000010.h5");
    input.read_all(name, ItemType::float64, values.data());
    return values;
  }
};

TEST_F(EnsembleTest, JobsOfOtherLayoutsAndTypesAddUp) {
  const auto uneven = uneven_boxes({5, 9, 6}, group_.size());
  Boxes slabs(static_cast<std::size_t>(group_.size()));
  slabs.back() = {box_of({0, 0, 0}, {5, 9, 6})};
  add(0, uneven[own()], ItemType::float64);
  add(1, slabs[own()], ItemType::int16);
  add(1, slabs[own()], ItemType::int16);  // again: counts once
  add(2, uneven[own()], ItemType::float32);
  const auto means = array("u_mean"), variances = array("u_variance");
  std::size_t item = 0;
  for_each_item(box_of({0, 0, 0}, {5, 9, 6}), [&](const Index& at) {
    const double a = value(0, at), b = value(1, at), c = value(2, at);
    const double mean = (a + b + c) / 3;
    ASSERT_NEAR(means[item], mean, 1e-12);
    ASSERT_NEAR(variances[item],
                ((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean)) / 3,
                1e-11);
    ++item;
  });
}

TEST_F(EnsembleTest, AFileOfOtherExtentsOrAnotherKindIsRefused) {
  Pipeline pipeline(Products{{.name = "e", .stages = {stage("steps=all")}}});
  const Values one = [](const Index&) { return 1; };
  run(pipeline, one_field(0, ItemType::float64, one));
  auto other = one_field(1, ItemType::float64, one);
  other.fields = {make_field(other, "u", ItemType::float64, {4, 4}, {}, one)};
  expect_holds(failure_of(pipeline, other), {"u_mean", "4 x 4", "e.h5"});
  other.fields[0].name = "w";
  expect_holds(failure_of(pipeline, other), {"no array w_mean", "move it away"});
  barrier();
  if (rank() == 0) std::ofstream(folder_ / "common/e.h5") << "not HDF5";
  barrier();
  expect_holds(failure_of(pipeline, one_field(2, ItemType::float64, one)),
               {"e.h5", "not an HDF5 file"});
}

TEST_F(EnsembleTest, ALockThatIsHeldIsWaitedForButNotForEver) {
  barrier();
  const auto path = folder_ / ("lock" + std::to_string(rank()));
  {
    const FileLock held(path, 1);
    expect_holds(message_of([&] { FileLock second(path, 0.05); }), {"another job", path.c_str()});
  }
  EXPECT_EQ(message_of([&] { FileLock again(path, 0.05); }), "no error");
  expect_holds(message_of([&] { FileLock none(folder_ / "no/folder/lock", 0.05); }),
               {"cannot lock", "No such file"});
}

}  // namespace
}  // namespace tailrace::server
