// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "pipeline_fixture.hpp"
#include "server/pipeline/python_worker.hpp"

namespace tailrace::server {
namespace {

class PythonTest : public PipelineTest {
 protected:
  void SetUp() override {
    const std::string look = "${TAILRACE_PYTHON:-python3} -c 'import numpy, tailrace.worker'";
    if (std::system((look + " 2>/dev/null").c_str()) != 0) {
      GTEST_SKIP() << "no Python with numpy and tailrace";
    }
  }
  static std::string stage(const std::string& function, const std::string& more = "") {
    return "python file=" TAILRACE_TEST_STAGES " function=" + function + " " + more;
  }
  static Pipeline product(const std::string& function, const std::string& more = "") {
    return Pipeline(Products{{.name = "p", .stages = {stage(function, more)}}});
  }
  static double value(const Index& at) {
    return static_cast<double>((at[0] * 31 + at[1] * 17 + at[2] * 7) % 101);
  }
};

TEST_F(PythonTest, ValuesAreChangedInPlace) {
  auto pipeline = product("double");
  for (std::int64_t number = 0; number < 3; ++number) {
    const auto step = one_field(number, ItemType::float32, value);
    const auto results = run(pipeline, step);
    ASSERT_EQ(results.size(), 1U);
    for_each_value(results[0].step.fields[0],
                   [&](const Index& at, double twice) { ASSERT_EQ(twice, 2 * value(at)); });
    for_each_value(step.fields[0],
                   [&](const Index& at, double once) { ASSERT_EQ(once, value(at)); });
  }
}

TEST_F(PythonTest, ScalarsOfAllServersAreOneLineAndTheProcessStays) {
  auto pipeline = product("sums");
  Pipeline most(Products{{.name = "most", .stages = {stage("largest", "combine=max")}}});
  for (std::int64_t number = 0; number < 3; ++number) {
    EXPECT_TRUE(run(pipeline, one_field(number, ItemType::int32, value)).empty());
    run(most, one_field(number, ItemType::int32, value));
  }
  barrier();
  const auto table = cells_of(folder_ / "p.csv");
  const auto all = all_values(ItemType::int32, uneven_boxes({5, 9, 6}, group_.size()), value);
  ASSERT_EQ(table.size(), 4U);
  EXPECT_EQ(table[0], (std::vector<std::string>{"step", "time", "total", "items", "calls"}));
  EXPECT_EQ(std::stod(table[3][2]), std::accumulate(all.begin(), all.end(), 0.0));
  EXPECT_EQ(std::stod(table[3][3]), 270);
  const int owners = group_.size() > 1 ? group_.size() - 1 : 1;  // the last one has no items
  EXPECT_EQ(std::stod(table[3][4]), 3 * owners);
  EXPECT_EQ(std::stod(cells_of(folder_ / "most.csv").at(1).at(2)), 100);
}

TEST_F(PythonTest, EveryTypeArrivesWithItsPlace) {
  auto pipeline = product("types", "combine=min");
  for (const auto type : real_types) {
    EXPECT_TRUE(run(pipeline, one_field(0, type, value)).empty());
  }
}

TEST_F(PythonTest, TablesAreWhatPythonReads) {
  Pipeline pipeline(Products{{.name = "s", .stages = {"mean", "minmax"}}});
  for (std::int64_t number = 0; number < 3; ++number) {
    auto step = one_field(number, ItemType::float64, [&](const Index& at) {
      return number == 2 ? std::nan("") : value(at) / 3;
    });
    step.fields[0].name = "a,\"b\"";
    run(pipeline, step);
  }
  barrier();
  const auto all = all_values(ItemType::float64, uneven_boxes({5, 9, 6}, group_.size()),
                              [](const Index& at) { return value(at) / 3; });
  const double most = *std::max_element(all.begin(), all.end());
  std::ofstream(folder_ / ("read" + std::to_string(rank()) + ".py"))
      << "import csv, math, sys\n"
      << "rows = list(csv.DictReader(open(sys.argv[1], newline='')))\n"
      << "assert [row['step'] for row in rows] == ['0', '10', '20'], rows\n"
      << "assert [float(row['time']) for row in rows] == [0, 0.5, 1], rows\n"
      << "assert float(rows[1]['a,\"b\"_max']) == float.fromhex(sys.argv[2]), rows\n"
      << "assert math.isnan(float(rows[2]['a,\"b\"_mean'])), rows\n";
  std::array<char, 64> exact{};
  std::snprintf(exact.data(), exact.size(), "%a", most);
  const auto command = "${TAILRACE_PYTHON:-python3} " +
                       (folder_ / ("read" + std::to_string(rank()) + ".py")) + " " +
                       (folder_ / "s.csv") + " " + exact.data();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(PythonTest, ErrorsComeBackWithTheTraceback) {
  auto pipeline = product("wrong");
  EXPECT_EQ(run(pipeline, one_field(0, ItemType::float64, value)).size(), 1U);
  expect_holds(failure_of(pipeline, one_field(1, ItemType::float64, value)),
               {"product p", "step 10", "wrong of", "stages.py", "line ", "ValueError",
                "the reservoir is empty"});
  EXPECT_EQ(run(pipeline, one_field(2, ItemType::float64, value)).size(), 1U);
  auto other = product("text");
  expect_holds(failure_of(other, one_field(0, ItemType::float64, value)),
               {"None or a dict of numbers, not str"});
  auto missing = product("nothing_like_it");
  expect_holds(failure_of(missing, one_field(0, ItemType::float64, value)),
               {"no function nothing_like_it", "double"});
}

TEST_F(PythonTest, ADeadProcessIsAFailureAndTheNextStepHasAnother) {
  auto pipeline = product("die");
  EXPECT_EQ(run(pipeline, one_field(0, ItemType::float64, value)).size(), 1U);
  expect_holds(failure_of(pipeline, one_field(1, ItemType::float64, value)),
               {"die of", "ended by signal 9"});
  EXPECT_EQ(run(pipeline, one_field(2, ItemType::float64, value)).size(), 1U);
}

TEST_F(PythonTest, ATooLongCallIsEnded) {
  auto pipeline = product("sleep", "limit_s=3");
  expect_holds(failure_of(pipeline, one_field(1, ItemType::float64, value)),
               {"sleep of", "longer than 3 s (limit_s)"});
  EXPECT_EQ(run(pipeline, one_field(2, ItemType::float64, value)).size(), 1U);
}

TEST_F(PythonTest, APythonThatIsNotThere) {
  auto none = product("double", "python=/no/such/python");
  expect_holds(failure_of(none, one_field(0, ItemType::float64, value)),
               {"cannot start /no/such/python", "No such file"});
  auto bad = product("double", "python=/bin/false");
  expect_holds(failure_of(bad, one_field(0, ItemType::float64, value)),
               {"/bin/false", "ended with status 1", "tailrace and numpy"});
  expect_holds(message_of([] {
                 Pipeline pipeline(Products{
                     {.name = "p", .stages = {"python file=/no/such/file.py function=f"}}});
               }),
               {"/no/such/file.py", "No such file"});
}

/// Descriptors, and children of any thread.
std::pair<int, std::string> held_by_this_process() {
  int descriptors = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++descriptors;
  }
  std::string children;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "children");
    for (std::string child; file >> child;) children += child + " ";
  }
  return {descriptors, children};
}

TEST_F(PythonTest, OneThatCannotStartLeavesNothingBehind) {
  const auto broken = folder_ / ("broken" + std::to_string(rank()) + ".py");
  std::ofstream(broken) << "import no_such_module\n";
  const std::vector<std::string> ways{
      "python file=" + broken + " function=f",    // its file cannot be imported
      stage("nothing_like_it"),                   // has no such function
      stage("double", "python=/bin/false"),       // ends at once
      stage("double", "python=/no/such/python"),  // is not there
      stage("die"),                               // dies in a call
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(way);
    Pipeline pipeline(Products{{.name = "p", .stages = {way}}});
    failure_of(pipeline, one_field(1, ItemType::float64, value));
    const auto before = held_by_this_process();
    for (int step = 0; step < 3; ++step) {
      failure_of(pipeline, one_field(1, ItemType::float64, value));
    }
    EXPECT_EQ(held_by_this_process(), before);
  }
}

TEST_F(PythonTest, TheProcessEndsWithItsOwner) {
  const char* python = std::getenv("TAILRACE_PYTHON");
  pid_t pid = 0;
  {
    const PythonWorker worker(
        {python != nullptr ? python : "python3", TAILRACE_TEST_STAGES, "sums", 60});
    pid = worker.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

}  // namespace
}  // namespace tailrace::server
