// SPDX-License-Identifier: BSD-3-Clause
#include "server/pipeline/pipeline.hpp"

#include <atomic>
#include <set>
#include <stdexcept>

#include "core/worker.hpp"
#include "pipeline_fixture.hpp"
#include "server/group.hpp"
#include "server/pipeline/settings.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace::server {
namespace {

TEST(Stages, ATextIsANameAndSettings) {
  const auto stage = parse_stage("  python  file=\"a b.py\" function=f  ");
  EXPECT_EQ(stage.name, "python");
  ASSERT_EQ(stage.settings.size(), 2U);
  EXPECT_EQ(stage.settings[0], (std::pair<std::string, std::string>("file", "a b.py")));
  EXPECT_EQ(stage.settings[1], (std::pair<std::string, std::string>("function", "f")));
  EXPECT_TRUE(parse_stage("mean").settings.empty());
}

TEST(Stages, WhatIsWrongWithATextIsTold) {
  const auto told = [](const std::string& text) { return message_of([&] { make_stage(text); }); };
  expect_holds(told(""), {"empty", "NAME key=value"});
  expect_holds(told("maen"), {"unknown stage maen", "did you mean mean?", "histogram"});
  expect_holds(told("mean axis=1"), {"stage mean has no settings", "axis=1"});
  expect_holds(told("histogram bin=3"),
               {"histogram has no setting bin", "bins", "did you mean bins?"});
  expect_holds(told("histogram bins"), {"\"bins\" must be key=value"});
  expect_holds(told("histogram bins=1 bins=2"), {"bins is set twice"});
  expect_holds(told("histogram bins=0"), {"bins=0", "1 to 1048576"});
  expect_holds(told("histogram bins=x"), {"bins=x", "whole number"});
  expect_holds(told("histogram min=1"), {"histogram needs max="});
  expect_holds(told("histogram min=2 max=1"), {"min=2", "less than max=1"});
  expect_holds(told("histogram min=a max=1"), {"min=a must be a number"});
  expect_holds(told("time what=median"), {"what=median", "mean, variance, min, max, skewness"});
  expect_holds(told("time reset=maybe"), {"reset=maybe", "yes, no"});
  expect_holds(told("time every=0"), {"every=0", "at least 1"});
  expect_holds(told("spectrum lengths=0,1,1"), {"lengths", "greater than 0"});
  expect_holds(told("call"), {"stage call needs name="});
  expect_holds(told("python file=\"a"), {"quote is not closed"});
}

TEST(Products, WhatCannotBeIsRefused) {
  const auto told = [](std::vector<Product> products) {
    return message_of([&] { Pipeline pipeline(std::move(products)); });
  };
  expect_holds(told({{.name = ""}}), {"name \"\""});
  expect_holds(told({{.name = "a/b"}}), {"a/b", "no /"});
  expect_holds(told({{.name = "a", .every = 0}}), {"product a", "every is 0"});
  expect_holds(told({{.name = "a", .path = "{pth}.h5"}}), {"{pth}", "{path}, {name} or {step}"});
  expect_holds(told({{.name = "a", .path = "x{"}}), {"product a", "{"});
  expect_holds(told({{.name = "a", .path = ""}}), {"product a needs a path"});
  expect_holds(told({{.name = "a"}, {.name = "a"}}), {"two products are called a"});
  expect_holds(told({{.name = "a", .path = "{path}_b.h5"}, {.name = "b"}}),
               {"product b", "same files"});
  expect_holds(told({{.name = "a", .path = "a.csv", .format = "zarr"}}), {"zarr", ".csv"});
  expect_holds(told({{.name = "a", .stages = {"mean", "mena"}}}),
               {"product a: unknown stage mena"});
  EXPECT_NO_THROW(Pipeline(Products{}));
}

TEST(ParallelFor, EveryNumberOnceAndTheFirstException) {
  for (const int threads : {1, 3}) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for(1000, threads, [&](std::ptrdiff_t i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
    EXPECT_THROW(parallel_for(100, threads,
                              [](std::ptrdiff_t i) {
                                if (i == 7) throw std::runtime_error("7");
                              }),
                 std::runtime_error);
    parallel_for(0, threads, [](std::ptrdiff_t) { FAIL(); });
  }
}

class ProductsTest : public PipelineTest {
 protected:
  Values ones_ = [](const Index&) { return 1; };
};

TEST_F(ProductsTest, VariablesPathsAndEvery) {
  Pipeline pipeline(Products{{.name = "v", .variables = {"v"}, .format = "zarr", .every = 2},
                             {.name = "all", .path = "{path}.{step}.{name}.h5", .every = 3}});
  std::multiset<std::string> paths;
  for (std::int64_t number = 0; number < 6; ++number) {
    auto step = one_field(number, ItemType::float32, ones_);
    step.fields.push_back(step.fields[0]);
    step.fields[1].name = "v";
    for (const auto& result : run(pipeline, step)) {
      paths.insert(result.step.path);
      EXPECT_EQ(result.step.fields.size(), result.format == "zarr" ? 1U : 2U);
      EXPECT_EQ(result.step.fields.back().name, "v");
      EXPECT_EQ(result.step.step, step.step);
    }
  }
  EXPECT_EQ(paths,
            (std::multiset<std::string>{
                folder_ / "fields_0_v.h5", folder_ / "fields_2_v.h5", folder_ / "fields_4_v.h5",
                folder_ / "fields_0.000000.all.h5", folder_ / "fields_3.000030.all.h5"}));
}

TEST_F(ProductsTest, OnlySuffixesOfFormatsAreTakenOff) {
  Pipeline pipeline(Products{{.name = "v"}});
  const std::vector<std::pair<std::string, std::string>> paths{
      {"a/t_0.25", "a/t_0.25_v.h5"}, {"a.b/t_0.25.h5", "a.b/t_0.25_v.h5"}, {"t.zarr", "t_v.h5"}};
  for (const auto& [given, expected] : paths) {
    auto step = one_field(0, ItemType::float32, ones_);
    step.path = given;
    const auto results = run(pipeline, step);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].step.path, expected);
  }
}

TEST_F(ProductsTest, AnUnknownVariableFailsAloneAndIsNamed) {
  Pipeline pipeline(
      Products{{.name = "w", .variables = {"uu"}}, {.name = "good", .variables = {"u"}}});
  std::vector<Pipeline::Result> results;
  std::vector<Pipeline::Failure> failures;
  pipeline.run(one_field(4, ItemType::float64, ones_), group_, 1, results, failures);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].product, "w");
  EXPECT_EQ(failures[0].error.code(), Errc::invalid_input);
  expect_holds(failures[0].error.what(),
               {"product w", "fields_4.h5", "step 40", "no variable uu", "did you mean u?"});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].step.path, folder_ / "fields_4_good.h5");
}

TEST_F(ProductsTest, AFailureOnOneServerIsAFailureOnAll) {
  int failing_rank = -1;
  StageFunctions functions;
  functions.stages["sometimes"] = [&](std::int64_t, std::span<StagePart>) {
    if (failing_rank == rank()) throw std::runtime_error("no more paper");
  };
  // The stages after it call the group: nobody waits there for the server that failed.
  Pipeline pipeline(Products{{.name = "p", .stages = {"call name=sometimes", "mean", "spectrum"}}},
                    functions);
  for (int failing = -1; failing < group_.size(); ++failing) {
    failing_rank = failing;
    std::vector<Pipeline::Result> results;
    std::vector<Pipeline::Failure> failures;
    const auto step = one_field(failing + 1, ItemType::float64, ones_);
    pipeline.run(step, group_, 1, results, failures);
    if (failing < 0) {
      EXPECT_TRUE(failures.empty());
      continue;
    }
    EXPECT_TRUE(results.empty());
    ASSERT_EQ(failures.size(), 1U);
    const std::string text = failures[0].error.what();
    expect_holds(text, {"product p", "call name=sometimes", "no more paper", "step"});
    if (group_.size() > 1) expect_holds(text, {("server " + std::to_string(failing)).c_str()});
  }
}

TEST_F(ProductsTest, AServerThatFailsBetweenCallsOfTheGroupHoldsNobodyUp) {
  GuardedGroup guarded(group_);
  const auto attempt = [&] {
    guarded.run([&] {
      double one = 1;
      guarded.sum({&one, 1});
      EXPECT_EQ(one, group_.size());
      if (rank() == group_.size() - 1) throw Error(Errc::io, "gone", 5);
      guarded.gather({});
      guarded.exchange(
          std::vector<std::vector<std::byte>>(static_cast<std::size_t>(group_.size())));
    });
  };
  try {
    attempt();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_EQ(error.sys_errno(), 5);
    expect_holds(error.what(), {"gone"});
  }
}

TEST_F(ProductsTest, WhatTheLastStageGivesIsWritten) {
  Pipeline pipeline(Products{{.name = "a", .stages = {"mean", "time what=mean"}},
                             {.name = "b", .stages = {"time what=mean", "mean"}},
                             {.name = "c"}});
  const auto results = run(pipeline, one_field(0, ItemType::float64, ones_));
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].step.path, folder_ / "fields_0_a.h5");
  EXPECT_EQ(results[1].step.path, folder_ / "fields_0_c.h5");
  barrier();
  EXPECT_EQ(cells_of(folder_ / "a.csv").at(0).at(2), "u_mean");
  EXPECT_EQ(cells_of(folder_ / "b.csv").at(0).at(2), "u_mean_mean");
}

TEST_F(ProductsTest, ATableTakesNoBigArrays) {
  Pipeline pipeline(Products{{.name = "a", .path = folder_ / "a.csv"}});
  expect_holds(failure_of(pipeline, one_field(0, ItemType::float64, ones_)),
               {"product a", "u cannot be a column", ".h5"});
}

TEST_F(ProductsTest, InputIsNotChanged) {
  StageFunctions functions;
  functions.stages["negate"] = [](std::int64_t step, std::span<StagePart> parts) {
    for (auto& part : parts) {
      EXPECT_EQ(step, 20);
      EXPECT_EQ(part.variable, "u");
      EXPECT_EQ(part.extents, (std::vector<std::ptrdiff_t>{5, 9, 6}));
      auto* items = reinterpret_cast<std::int32_t*>(part.data.data());
      for (std::ptrdiff_t i = 0; i < part.box.num_items(); ++i) items[i] = -items[i];
    }
  };
  const Values values = [](const Index& at) { return static_cast<double>(at[1] + 1); };
  const auto step = one_field(2, ItemType::int32, values);
  Pipeline pipeline(Products{{.name = "n", .stages = {"call name=negate"}}}, functions);
  const auto results = run(pipeline, step);
  ASSERT_EQ(results.size(), 1U);
  for_each_value(results[0].step.fields[0],
                 [&](const Index& at, double value) { EXPECT_EQ(value, -values(at)); });
  for_each_value(step.fields[0],
                 [&](const Index& at, double value) { EXPECT_EQ(value, values(at)); });
}

TEST_F(ProductsTest, ManySmallTasks) {
  std::atomic<int> calls{0};
  StageFunctions functions;
  functions.tasks["square"] = [&](std::int64_t step, std::int64_t task) {
    ++calls;
    if (step == 10 && task == 17) throw 17;
    return static_cast<double>(step + task * task);
  };
  Pipeline pipeline(Products{{.name = "n", .stages = {"tasks name=square count=23"}}}, functions);
  calls = 0;
  const auto results = run(pipeline, one_field(2, ItemType::int32, ones_), 3);
  double total = calls;
  group_.sum({&total, 1});
  EXPECT_EQ(total, 23);
  ASSERT_EQ(results.size(), 1U);
  const auto row = row_of(results[0].step.fields.at(0));
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], static_cast<double>(20 + i * i));
  EXPECT_EQ(row.size(), rank() == 0 ? 23U : 0U);
  expect_holds(failure_of(pipeline, one_field(1, ItemType::int32, ones_)),
               {"function square", "not a std::exception"});
}

TEST_F(ProductsTest, AFunctionMakesArraysOfTheStepsParts) {
  StageFunctions functions;
  functions.results["ends"] = [&](const Attributes& about, std::span<const StagePart> parts,
                                  const StageSum& sum) {
    std::vector<double> found(2);
    for (const auto& part : parts) {
      found[0] += 1;
      found[1] += static_cast<double>(part.box.num_items());
    }
    sum(found);
    if (std::get<std::int64_t>(about.at(0).second) == 3 && rank() == 0) throw 17;
    sum(found);
    StageResults made;
    if (std::get<std::int64_t>(about.at(0).second) == 4) return made;
    made.arrays.push_back({"ends", {"a", "b"}, {1, 2}, found, {{"units", std::string("m")}}});
    made.coordinates.push_back({"b", {0.5, 1.5}, {}});
    if (std::get<std::int64_t>(about.at(0).second) == 5) made.arrays[0].extents[1] = 3;
    return made;
  };
  Pipeline pipeline(Products{{.name = "n", .stages = {"results name=ends"}}}, functions);
  auto step = one_field(2, ItemType::int32, ones_);
  step.attributes = {{"kind", std::int64_t{2}}};
  const auto results = run(pipeline, step);
  ASSERT_EQ(results.size(), 1U);
  const auto& made = results[0].step;
  ASSERT_EQ(made.fields.size(), 1U);
  EXPECT_EQ(made.fields[0].dims, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(made.fields[0].extents[1], 2);
  EXPECT_EQ(made.fields[0].attributes.size(), 1U);
  ASSERT_EQ(made.coordinates.size(), 1U);
  ASSERT_EQ(made.fields[0].parts.size(), rank() == 0 ? 1U : 0U);
  if (rank() == 0) {
    const auto* values = reinterpret_cast<const double*>(made.fields[0].parts[0].data);
    // Added up twice over the servers.
    EXPECT_EQ(values[1], 5.0 * 9 * 6 * group_.size());
  }
  step.attributes[0].second = std::int64_t{4};
  EXPECT_TRUE(run(pipeline, step).empty());
  step.attributes[0].second = std::int64_t{5};
  expect_holds(failure_of(pipeline, step), {"function ends", "array ends", "2 values"});
  step.attributes[0].second = std::int64_t{3};
  expect_holds(failure_of(pipeline, step), {"function ends", "not a std::exception"});
}

TEST(Functions, UnknownOnesAreNamed) {
  StageFunctions functions;
  functions.tasks["once"] = [](std::int64_t, std::int64_t) { return 0.0; };
  EXPECT_NE(make_stage("tasks name=once count=3", functions), nullptr);
  expect_holds(message_of([&] { make_stage("tasks name=onec count=3", functions); }),
               {"no task function onec", "did you mean once?"});
  expect_holds(message_of([&] { make_stage("call name=once", functions); }),
               {"no stage function once", "the program passed no functions"});
}

TEST(Functions, NeedANameAndAFunction) {
  StageFunctions nameless, empty;
  nameless.tasks[""] = [](std::int64_t, std::int64_t) { return 0.0; };
  empty.stages["nothing"] = nullptr;
  expect_holds(message_of([&] { check_functions(nameless); }), {"task function", "name"});
  expect_holds(message_of([&] { check_functions(empty); }), {"stage function", "function"});
}

}  // namespace
}  // namespace tailrace::server
