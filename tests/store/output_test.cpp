// SPDX-License-Identifier: BSD-3-Clause
// What is written comes back, from any layout and memory, in both modes, by every method.
#include "tailrace/output.hpp"
#include "tailrace/input.hpp"

#include <algorithm>
#include <optional>

#include "output_case.hpp"
#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/log.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using Case = OutputCase;

class OutputTest : public FolderTest {
 protected:
  template <class Action>
  static std::optional<Errc> code_of(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  }
  std::ptrdiff_t wrong_items(const std::string& file, int salt) {
    return OutputCase::wrong_items(comm, file, salt);
  }
};

TEST_F(OutputTest, ContentsComeBackFromEveryShapeModeAndMethod) {
  std::vector<std::string> methods{"auto", "push"};
  for (const auto& method : move_methods()) methods.emplace_back(method.name);
  const std::vector<std::vector<std::ptrdiff_t>> shapes{{7, 8, 9}, {1, 1, 1}, {2, 3, 70000}};
  for (const auto& extents : shapes) {
    Case test(comm, extents, 2);
    std::string first_bytes;
    for (const auto& method : methods) {
      for (const std::string servers : {"none", "hidden"}) {
        OutputOptions options;
        options.servers = servers;
        options.method = method;
        options.stripe_bytes = 4096;
        try {
          Output output(comm, options);
          output.write(path("a.h5"), test.contents);
          output.finish();
          EXPECT_EQ(output.last_complete(), path("a.h5"));
        } catch (const Error& error) {
          // A method may not apply here (several nodes, no shared memory); it must say so.
          ASSERT_EQ(error.code(), Errc::invalid_input) << method << ": " << error.what();
          ASSERT_NE(method, "auto");
          ASSERT_NE(method, "alltoallv");
          continue;
        }
        EXPECT_EQ(wrong_items(path("a.h5"), 0), 0) << method;
        const auto bytes = slurp(path("a.h5"));
        if (first_bytes.empty()) first_bytes = bytes;
        EXPECT_TRUE(bytes == first_bytes) << "other bytes by " << method;
        MPI_Barrier(comm.raw());
      }
    }
  }
}

TEST_F(OutputTest, AnyNumberOfWritersAndStripesGivesTheSameContents) {
  Case test(comm, {9, 31, 257}, 0);
  for (int writers = 1; writers <= comm.num_ranks(); ++writers) {
    for (const std::ptrdiff_t stripe : {0, 8, 4096, 1 << 20}) {
      OutputOptions options;
      options.writers = writers;
      options.stripe_bytes = stripe;
      Output output(comm, options);
      output.write(path("a.h5"), test.contents);
      output.finish();
      EXPECT_EQ(wrong_items(path("a.h5"), 0), 0) << writers << " writers, stripe " << stripe;
      MPI_Barrier(comm.raw());
    }
  }
}

TEST_F(OutputTest, CallerMayChangeArraysAtOnceAndNamesAppearInTime) {
  Case test(comm, {16, 17, 18}, 1);
  OutputOptions options;
  options.buffered_files = 2;
  Output output(comm, options);
  for (int step = 0; step < 6; ++step) {
    test.fill(10 * step);
    output.write(path("f" + std::to_string(step) + ".h5"), test.contents);
    std::ranges::fill(test.u, -5.0);
    std::ranges::fill(test.v, -5.0F);
    std::ranges::fill(test.m, -5.0);
    if (step >= 2) {
      EXPECT_TRUE(fs::exists(path("f" + std::to_string(step - 2) + ".h5")));
    }
  }
  output.finish();
  EXPECT_EQ(output.last_complete(), path("f5.h5"));
  const auto mine = output.statistics();
  EXPECT_EQ(mine.steps, 6);
  EXPECT_EQ(mine.complete, 6);
  EXPECT_EQ(mine.failed, 0);
  EXPECT_LE(mine.agree_s + mine.copy_s + mine.stall_s(), mine.call_s);
  EXPECT_LE(mine.call_s, mine.run_s);
  const auto all = mine.over_ranks(comm);
  EXPECT_EQ(all.steps, 6);
  EXPECT_EQ(all.bytes, all.written_bytes);
  EXPECT_GE(all.call_s, mine.call_s);
  EXPECT_GT(all.write_s, 0);
  EXPECT_GT(all.writer_cpu_s, 0);
  EXPECT_GE(all.writer_cpu_s, mine.writer_cpu_s);
  EXPECT_GE(all.slowest_step, 0);
  EXPECT_GE(all.hidden_fraction(), 0);
  EXPECT_LE(all.hidden_fraction(), 1);
  for (int step = 0; step < 6; ++step) {
    EXPECT_EQ(wrong_items(path("f" + std::to_string(step) + ".h5"), 10 * step), 0) << step;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_EQ(entry.path().extension(), ".h5") << entry.path();
  }
}

TEST_F(OutputTest, RanksThatDoNotWriteKnowWhatBecameOfSteps) {
  Case test(comm, {7, 8, 9}, 0);
  for (const std::string servers : {"hidden", "none"}) {
    OutputOptions options;
    options.servers = servers;
    options.writers = 1;
    Output output(comm, options);
    for (int step = 0; step < 5; ++step) {
      output.write(path("a" + std::to_string(step) + ".h5"), test.contents);
    }
    output.finish();
    EXPECT_EQ(output.statistics().complete, 5);
    EXPECT_EQ(output.last_complete(), path("a4.h5"));
    EXPECT_THROW(
        {
          output.write(path("missing/b.h5"), test.contents);
          output.finish();
        },
        Error);
    output.write(path("c.h5"), test.contents);
    output.finish();
    EXPECT_EQ(output.statistics().complete, 6);
    EXPECT_EQ(output.statistics().failed, 1);
    EXPECT_EQ(output.last_complete(), path("c.h5"));
  }
}

TEST_F(OutputTest, PathsOfZarrMakeStores) {
  Case test(comm, {7, 8, 9}, 0);
  for (const auto* strategy : {"auto", "grouped", "file_per_rank"}) {
    for (const std::string servers : {"hidden", "none"}) {
      OutputOptions options;
      options.servers = servers;
      options.strategy = strategy;
      Output output(comm, options);
      output.write(path("a.zarr"), test.contents);
      output.write(path("a.h5"), test.contents);
      output.finish();
      EXPECT_TRUE(fs::exists(path("a.zarr") + "/u/zarr.json")) << strategy;
      EXPECT_EQ(wrong_items(path("a.h5"), 0), 0) << strategy;
    }
  }
}

TEST_F(OutputTest, ProgressGivesTheNameWithoutAnotherWrite) {
  Case test(comm, {7, 8, 9}, 0);
  Output output(comm, {});
  output.write(path("a.h5"), test.contents);
  const double end_s = now_s() + 30;
  while (!fs::exists(path("a.h5")) && now_s() < end_s) output.progress();
  EXPECT_TRUE(fs::exists(path("a.h5")));
  output.finish();
}

TEST_F(OutputTest, SamePathTwiceAndChangingShapes) {
  Case small(comm, {4, 5, 6}, 0);
  Case large(comm, {12, 13, 14}, 2);
  Output output(comm, {});
  for (int step = 0; step < 4; ++step) {
    small.fill(step);
    large.fill(100 + step);
    output.write(path("checkpoint.h5"), step % 2 == 0 ? small.contents : large.contents);
    output.write(path("fields.h5"), large.contents);
  }
  output.finish();
  EXPECT_EQ(wrong_items(path("checkpoint.h5"), 103), 0);
  EXPECT_EQ(wrong_items(path("fields.h5"), 103), 0);
}

TEST_F(OutputTest, AttributesAndCoordinatesComeBack) {
  Case test(comm, {7, 8, 9}, 0);
  OutputOptions options;
  options.servers = "none";
  Output output(comm, options);
  output.write(path("a.h5"), test.contents);
  const Input input(comm, path("a.h5"));
  EXPECT_EQ(input.attribute_double("time"), 0.25);
  EXPECT_EQ(input.attribute_int("step"), 7);
  EXPECT_EQ(input.attribute_string("run"), "abc");
  EXPECT_FALSE(input.has_attribute("nothing"));
  EXPECT_THROW(input.attribute_int("nothing"), Error);
  EXPECT_EQ(input.coordinate("x"), test.contents.coordinates[1].values);
  auto names = input.names();
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"modes", "u", "v"}));
  EXPECT_EQ(input.type("v"), ItemType::float32);
  EXPECT_EQ(input.extents("u"), (std::vector<std::ptrdiff_t>{7, 8, 9}));
}

TEST_F(OutputTest, NamesWithSlashesLieInGroups) {
  Case test(comm, {7, 8, 9}, 1);
  test.contents.scales = false;
  test.contents.coordinates[1].name = "axes/of x";
  test.contents.variables[1].name = "time 1/v";
  test.contents.variables[2].name = "time 1/more/modes";
  test.contents.group_attributes = {{"time 1", {{"t", 1.5}}}, {"empty", {}}};
  const auto read = [&](const std::string& name) {
    const Input input(comm, path("a.h5"));
    const auto layout = slabs(input.extents(name), 1, comm.num_ranks());
    const auto memory = Memory::dense(layout.boxes(comm.rank()));
    std::vector<double> data(static_cast<std::size_t>(memory.num_items));
    input.read(name, ItemType::float64, layout, memory, data.data());
    return data;
  };
  for (const char* strategy : {"collective", "file_per_rank"}) {
    OutputOptions options;
    options.strategy = strategy;
    Output output(comm, options);
    output.write(path("a.h5"), test.contents);
    output.finish();
    const Input input(comm, path("a.h5"));
    const std::vector<std::string> names{"axes/of x", "time 1/more/modes", "time 1/v", "u", "z"};
    EXPECT_EQ(input.names(), names);
    Case plain(comm, {7, 8, 9}, 1);
    Output(comm, options).write(path("b.h5"), plain.contents);
    const Input other(comm, path("b.h5"));
    for (const auto& [name, as] : {std::pair{"time 1/v", "v"}, {"time 1/more/modes", "modes"}}) {
      const auto layout = slabs(other.extents(as), 1, comm.num_ranks());
      const auto memory = Memory::dense(layout.boxes(comm.rank()));
      std::vector<double> data(static_cast<std::size_t>(memory.num_items));
      other.read(as, ItemType::float64, layout, memory, data.data());
      EXPECT_EQ(read(name), data) << name << " by " << strategy;
    }
    MPI_Barrier(comm.raw());
  }
}

TEST_F(OutputTest, ItemsThatNoRankHoldsAreToldOnce) {
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm.num_ranks()));
  boxes[0] = {{2, {}, {4, 3}}};  // the last column is forgotten
  const Layout layout = from_boxes({4, 4}, boxes);
  const std::vector<double> u(static_cast<std::size_t>(layout.num_items(comm.rank())), 1);
  std::vector<std::string> lines;
  set_line_handler([&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  Output output(comm, {});
  for (const char* name : {"a.h5", "b.h5"}) {
    output.write(path(name), {.variables = {{"u", layout, std::span(u)}}});
  }
  output.finish();
  set_line_handler({});
  std::vector<std::string> right;
  if (comm.rank() == 0) {
    right = {"output: the ranks hold 12 of 16 items of variable u; the others will read as 0"};
  }
  EXPECT_EQ(lines, right);
}

TEST_F(OutputTest, NamesThatArePathsOfNothingAreRefused) {
  Output output(comm, {});
  for (const char* name :
       {"", "/u", "u/", "a//u", "a/../u", "./u", "u\n", "tailrace", "tailrace/u", "u/v", "modes"}) {
    Case test(comm, {3, 4, 5}, 0);
    test.contents.variables[1].name = name;
    EXPECT_EQ(code_of([&] { output.write(path("a.h5"), test.contents); }), Errc::invalid_input)
        << name;
  }
  Case test(comm, {3, 4, 5}, 0);
  test.contents.group_attributes = {{"u", {}}};
  EXPECT_EQ(code_of([&] { output.write(path("a.h5"), test.contents); }), Errc::invalid_input);
}

TEST_F(OutputTest, FileWithoutChecksumsAndAFloatReadAsDouble) {
  Case test(comm, {7, 8, 9}, 0);
  OutputOptions options;
  options.checksums = false;
  Output output(comm, options);
  output.write(path("a.h5"), test.contents);
  output.finish();
  EXPECT_EQ(wrong_items(path("a.h5"), 0), 0);
}

TEST_F(OutputTest, RanksThatGiveDifferentThingsAreRefused) {
  if (comm.num_ranks() == 1) GTEST_SKIP() << "one rank is like itself";
  Case test(comm, {7, 8, 9}, 0);
  Output output(comm, {});
  const bool other = comm.rank() == 1;
  const auto expect_refusal = [&](const std::string& words, const std::string& file,
                                  const FileContents& contents) {
    try {
      output.write(path(file), contents);
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect_refusal("the path must be the same on all ranks", other ? "b.h5" : "a.h5", test.contents);
  auto contents = test.contents;
  if (other) contents.variables[1].name = "w";
  expect_refusal("v float32 [7 x 8 x 9]", "a.h5", contents);
  contents = test.contents;
  if (other) contents.variables[0].type = ItemType::int64;
  expect_refusal("u int64 [7 x 8 x 9]", "a.h5", contents);
  contents = test.contents;
  if (other) contents.variables.pop_back();
  expect_refusal("the list of variables must be the same", "a.h5", contents);
  output.write(path("a.h5"), test.contents);
  output.finish();
  EXPECT_EQ(wrong_items(path("a.h5"), 0), 0);
}

TEST_F(OutputTest, RestartOnAnotherNumberOfRanks) {
  Case test(comm, {7, 8, 9}, 0);
  OutputOptions options;
  options.servers = "none";
  Output output(comm, options);
  output.write(path("a.h5"), test.contents);
  for (int ranks = 1; ranks <= comm.num_ranks(); ++ranks) {
    const Comm part = comm.split(comm.rank() < ranks ? 0 : 1);
    if (comm.rank() >= ranks) continue;
    const Input input(part, path("a.h5"));
    const auto layout = slabs({7, 8, 9}, 2, ranks);
    const auto memory = Memory::dense(layout.boxes(part.rank()));
    std::vector<float> data(static_cast<std::size_t>(memory.num_items));
    input.read("u", ItemType::float32, layout, memory, data.data());
    EXPECT_EQ(num_wrong(data, layout, memory, part.rank(), 0), 0) << ranks;
  }
}

}  // namespace
}  // namespace tailrace
