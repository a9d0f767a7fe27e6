// SPDX-License-Identifier: BSD-3-Clause
// What streams write comes back, whoever serves them and by whatever transport.
#include "tailrace/session.hpp"
#include "tailrace/input.hpp"

#include <array>
#include <deque>

#include "server/session_fixture.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using testing::SessionTest;

/// A one-dimensional array, of which each rank has what `boxes` says, and one with holes.
struct IrregularCase {
  IrregularCase(int num_ranks, int my_rank, int step) : rank(my_rank) {
    // Sizes that change from step to step; one rank has nothing.
    std::vector<std::vector<Box>> ragged(static_cast<std::size_t>(num_ranks));
    std::ptrdiff_t total = 0;
    for (int r = 0; r < num_ranks; ++r) {
      const std::ptrdiff_t count = (r + step) % 3 == 0 ? 0 : 1000 * (r + 1) + 7 * step;
      if (count > 0) ragged[static_cast<std::size_t>(r)].push_back({1, {total}, {count}});
      total += count;
    }
    if (total == 0) {
      ragged[0].push_back({1, {0}, {5}});
      total = 5;
    }
    const std::vector<std::ptrdiff_t> length{total};
    layouts.push_back(from_boxes(length, ragged));
    // Upper-triangular blocks of a square, dealt out to the ranks in turn.
    constexpr std::ptrdiff_t blocks = 5, edge = 13;
    std::vector<std::vector<Box>> triangle(static_cast<std::size_t>(num_ranks));
    int next = 0;
    for (std::ptrdiff_t i = 0; i < blocks; ++i) {
      for (std::ptrdiff_t j = i; j < blocks; ++j) {
        triangle[static_cast<std::size_t>(next++ % num_ranks)].push_back(
            {2, {i * edge, j * edge}, {edge, edge}});
      }
    }
    const std::vector<std::ptrdiff_t> square{blocks * edge, blocks * edge};
    layouts.push_back(from_boxes(square, triangle));
    // Many short runs, interleaved.
    std::vector<std::vector<Box>> runs(static_cast<std::size_t>(num_ranks));
    for (std::ptrdiff_t run = 0; run < 200; ++run) {
      runs[static_cast<std::size_t>(run % num_ranks)].push_back({1, {17 * run}, {17}});
    }
    const std::vector<std::ptrdiff_t> line{200 * 17};
    layouts.push_back(from_boxes(line, runs));
    for (const auto& layout : layouts) {
      memories.push_back(Memory::dense(layout.boxes(rank)));
      values.push_back(filled<double>(layout, memories.back(), rank, step));
      integers.emplace_back(values.back().begin(), values.back().end());
    }
    contents.step = step;
    const std::vector<std::vector<std::string>> dims{{"particle"}, {"r1", "r2"}, {"point"}};
    for (std::size_t v = 0; v < layouts.size(); ++v) {
      const auto add = [&](const char* kind, ItemType type, const void* data) {
        contents.variables.push_back(
            {kind + std::to_string(v), type, dims[v], &layouts[v], memories[v], data, {}});
      };
      add("v", ItemType::float64, values[v].data());
      add("i", ItemType::int32, integers[v].data());
    }
  }
  std::ptrdiff_t wrong_items(const Comm& comm, const std::string& file, int step) const {
    const Input input(comm, file);
    std::ptrdiff_t wrong = 0;
    for (std::size_t v = 0; v < layouts.size(); ++v) {
      for (const char* kind : {"v", "i"}) {
        std::vector<double> data(values[v].size());
        input.read(kind + std::to_string(v), ItemType::float64, layouts[v], memories[v],
                   data.data());
        wrong += num_wrong(data, layouts[v], memories[v], rank, step);
      }
    }
    return wrong;
  }
  int rank;
  std::deque<Layout> layouts;
  std::vector<Memory> memories;
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::int32_t>> integers;
  FileContents contents;
};

TEST_F(SessionTest, IrregularShapesThatChangeFromStepToStep) {
  constexpr int steps = 6;
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    const bool ran = run(variant, small(), [&](Session& session) {
      Output stream = session.open("irregular");
      const auto& compute = session.compute();
      for (int step = 0; step < steps; ++step) {
        const IrregularCase test(compute.num_ranks(), compute.rank(), step);
        stream.write(path("s" + std::to_string(step) + ".h5"), test.contents);
      }
      stream.finish();
      for (int step = 0; step < steps; ++step) {
        const IrregularCase test(compute.num_ranks(), compute.rank(), step);
        EXPECT_EQ(test.wrong_items(compute, path("s" + std::to_string(step) + ".h5"), step), 0);
      }
    });
    if (!ran) continue;
  }
}

// Servers must learn who sends even if the rank that describes steps sees no change.
TEST_F(SessionTest, RanksThatHaveNothingNowAndThen) {
  constexpr int steps = 8;
  const std::vector<std::ptrdiff_t> length{12};
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    run(variant, small(), [&](Session& session) {
      const auto& compute = session.compute();
      const auto ranks = static_cast<std::size_t>(compute.num_ranks());
      if (ranks < 3) return;
      std::vector<std::vector<Box>> three(ranks), two(ranks);
      three[0] = two[0] = {{1, {0}, {4}}};
      three[1] = {{1, {4}, {4}}};
      three[2] = {{1, {8}, {4}}};
      two[2] = {{1, {4}, {8}}};
      const std::array layouts{from_boxes(length, two), from_boxes(length, three)};
      Output stream = session.open("changing", {.wait_limit_s = 20});
      for (int step = 0; step < steps; ++step) {
        const auto& layout = layouts[static_cast<std::size_t>(step % 2)];
        const auto memory = Memory::dense(layout.boxes(compute.rank()));
        const auto data = filled<double>(layout, memory, compute.rank(), step);
        FileContents contents;
        contents.variables = {{"x", ItemType::float64, {"i"}, &layout, memory, data.data(), {}}};
        stream.write(path("c" + std::to_string(step) + ".h5"), contents);
      }
      stream.finish();
      for (int step = 0; step < steps; ++step) {
        const Input input(compute, path("c" + std::to_string(step) + ".h5"));
        const auto whole = slabs(length, 0, compute.num_ranks());
        const auto memory = Memory::dense(whole.boxes(compute.rank()));
        std::vector<double> data(static_cast<std::size_t>(memory.num_items));
        input.read("x", ItemType::float64, whole, memory, data.data());
        EXPECT_EQ(num_wrong(data, whole, memory, compute.rank(), step), 0) << step;
      }
    });
  }
}

TEST_F(SessionTest, StepsWaitForRoomAndAllArrive) {
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    OutputOptions options;
    options.memory_bytes = 6 << 20;
    constexpr int steps = 12;
    const bool ran = run(variant, options, [&](Session& session) {
      OutputCase test(session.compute(), {16, 64, 64}, 0);
      Output stream = session.open("fields");
      for (int step = 0; step < steps; ++step) {
        test.fill(step);
        stream.write(path("a" + std::to_string(step) + ".h5"), test.contents);
      }
      stream.finish();
      EXPECT_EQ(stream.statistics().complete, steps);
    });
    if (!ran) continue;
    for (int step = 0; step < steps; ++step) {
      const auto file = path("a" + std::to_string(step) + ".h5");
      EXPECT_EQ(OutputCase::wrong_items(comm, file, step), 0) << file;
    }
    MPI_Barrier(comm.raw());
  }
}

TEST_F(SessionTest, PoliciesForAFullMemory) {
  constexpr std::array all{WhenFull::drop, WhenFull::thin, WhenFull::lower, WhenFull::spill};
  std::size_t next = 0;
  for (const auto& variant : variants()) {
    if (variant.servers == "none") continue;
    // Every policy by servers of every kind, and by each transport another one.
    const bool of_ranks = variant.servers == "1" || variant.servers == "2";
    for (std::size_t repeat = 0; repeat < (of_ranks ? 1 : all.size()); ++repeat) {
      const auto policy = all[next++ % all.size()];
      SCOPED_TRACE(variant.servers + " " + variant.transport + " policy " +
                   std::to_string(static_cast<int>(policy)));
      OutputOptions options;
      options.memory_bytes = 6 << 20;
      constexpr int steps = 8;
      std::vector<int> taken(steps, 0);
      const bool ran = run(variant, options, [&](Session& session) {
        OutputCase test(session.compute(), {16, 64, 64}, 0);
        Output stream = session.open("fields", {.when_full = policy});
        for (int step = 0; step < steps; ++step) {
          test.fill(step);
          const auto result = stream.write(path("p" + std::to_string(step) + ".h5"), test.contents);
          taken[static_cast<std::size_t>(step)] = result == WriteResult::dropped ? 0 : 1;
        }
        stream.finish();
        const auto counts = stream.statistics();
        EXPECT_EQ(counts.steps, steps);
        EXPECT_EQ(counts.complete + counts.dropped + counts.thinned, steps);
        if (policy == WhenFull::spill || policy == WhenFull::lower) {
          EXPECT_EQ(counts.complete, steps);
        }
      });
      if (!ran) continue;
      MPI_Allreduce(MPI_IN_PLACE, taken.data(), steps, MPI_INT, MPI_MAX, comm.raw());
      for (int step = 0; step < steps; ++step) {
        const auto file = path("p" + std::to_string(step) + ".h5");
        EXPECT_EQ(fs::exists(file), taken[static_cast<std::size_t>(step)] == 1) << file;
        if (fs::exists(file)) {
          EXPECT_EQ(OutputCase::wrong_items(comm, file, step), 0) << file;
        }
      }
      MPI_Barrier(comm.raw());
      if (comm.rank() == 0) fs::remove_all(folder), fs::create_directories(folder);
      MPI_Barrier(comm.raw());
    }
  }
}

TEST_F(SessionTest, AFailedFileReachesEveryRankAtItsNextCall) {
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    run(variant, small(), [&](Session& session) {
      OutputCase test(session.compute(), {4, 8, 8}, 1);
      Output stream = session.open("fields");
      const auto wrong = path("no/such/folder/a.h5");
      int failures = 0;
      const auto expect_failure = [&](auto&& call) {
        try {
          call();
        } catch (const Error& error) {
          ++failures;
          EXPECT_EQ(error.code(), Errc::io);
          EXPECT_EQ(error.sys_errno(), ENOENT);
          const std::string text = error.what();
          EXPECT_NE(text.find(wrong), std::string::npos) << text;
          EXPECT_NE(text.find("step 7"), std::string::npos) << text;
        }
      };
      expect_failure([&] { stream.write(wrong, test.contents); });
      expect_failure([&] { stream.finish(); });
      EXPECT_EQ(failures, 1);
      stream.write(path("good.h5"), test.contents);
      stream.finish();
      EXPECT_EQ(stream.statistics().failed, 1);
      EXPECT_EQ(stream.last_complete(), path("good.h5"));

      Output other = session.open("proceeds", {.on_failure = OnFailure::proceed});
      other.write(wrong, test.contents);
      other.write(path("second.h5"), test.contents);
      other.finish();
      EXPECT_EQ(other.statistics().failed, 1);

      Output third = session.open("elsewhere", {.fallback_path = folder.string()});
      third.write(wrong, test.contents);
      third.finish();
      EXPECT_EQ(OutputCase::wrong_items(session.compute(), path("a.h5"), 0), 0);
    });
    MPI_Barrier(comm.raw());
  }
}

// A step that has waited on disk fails like any other, and those beside it have their own plans.
TEST_F(SessionTest, AStepThatWasSpilledMayFail) {
  for (const auto& variant : variants()) {
    if (variant.servers == "none") continue;
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    run(variant, small(), [&](Session& session) {
      OutputCase test(session.compute(), {4, 8, 8}, 1);
      OutputOptions options{.when_full = WhenFull::spill, .wait_limit_s = 60};
      options.buffered_files = 1;
      Output stream = session.open("fields", options);
      int failures = 0;
      const auto attempt = [&](auto&& call) {
        for (int again = 0; again < 9; ++again) {
          try {
            return call();
          } catch (const Error& error) {
            EXPECT_EQ(error.sys_errno(), ENOENT) << error.what();
            ++failures;
          }
        }
      };
      for (const char* name : {"a.h5", "missing/b.h5", "c.h5", "missing/d.h5", "e.h5"}) {
        attempt([&] { stream.write(path(name), test.contents); });
      }
      attempt([&] { stream.finish(); });
      EXPECT_EQ(failures, 2);
      EXPECT_EQ(stream.statistics().failed, 2);
      EXPECT_EQ(stream.statistics().complete, 3);
    });
    MPI_Barrier(comm.raw());
    for (const char* name : {"a.h5", "c.h5", "e.h5"}) {
      if (fs::exists(path(name))) {
        EXPECT_EQ(OutputCase::wrong_items(comm, path(name), 0), 0) << name;
      }
    }
  }
}

// A step of which the fields and both products fail: the error names all of them.
TEST_F(SessionTest, AnErrorNamesAllThatFailedOfAStep) {
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    run(variant, small(), [&](Session& session) {
      OutputCase test(session.compute(), {4, 8, 8}, 1);
      Output stream =
          session.open("fields", {.products = {{.name = "first", .variables = {"nothing"}},
                                               {.name = "second", .variables = {"nobody"}}}});
      const auto wrong = path("no/such/folder/a.h5");
      std::string text;
      try {
        stream.write(wrong, test.contents);
        stream.finish();
      } catch (const Error& error) {
        text = error.what();
      }
      for (const auto* word : {"product first", "product second", "No such file"}) {
        EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
      }
      EXPECT_EQ(stream.statistics().failed, 1);
    });
    MPI_Barrier(comm.raw());
  }
}

TEST_F(SessionTest, NothingCanBeOpenedAfterClose) {
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    run(variant, small(), [&](Session& session) {
      Output stream = session.open("fields");
      session.close();
      EXPECT_THROW(session.open("others"), Error);
      EXPECT_NO_THROW(stream.finish());
      EXPECT_NO_THROW(session.close());
    });
  }
}

TEST_F(SessionTest, WrongArgumentsAreRefusedOnAllRanks) {
  EXPECT_THROW(Session(comm.raw(), {.servers = "many"}), Error);
  EXPECT_THROW(Session(comm.raw(), {.servers = std::to_string(comm.num_ranks())}), Error);
  if (comm.num_ranks() > 1) {
    EXPECT_THROW(Session(comm.raw(), {.servers = "1", .transport = "pigeon"}), Error);
  }
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    OutputOptions options;
    options.memory_bytes = 1 << 20;
    run(variant, options, [&](Session& session) {
      const auto& compute = session.compute();
      Output stream = session.open("fields");
      EXPECT_THROW(session.open("fields"), Error);
      OutputCase test(compute, {4, 8, 8}, 1);
      auto contents = test.contents;
      if (compute.rank() == compute.num_ranks() - 1) contents.variables[0].dims.pop_back();
      EXPECT_THROW(stream.write(path("a.h5"), contents), Error);
      if (session.num_servers() > 0) {
        OutputCase large(compute, {64, 128, 128}, 1);
        try {
          stream.write(path("a.h5"), large.contents);
          ADD_FAILURE() << "a step larger than the memory was taken";
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("memory_bytes"), std::string::npos);
        }
      }
      stream.write(path("a.h5"), test.contents);
      session.close();
      EXPECT_THROW(stream.write(path("b.h5"), test.contents), Error);
    });
  }
}

TEST_F(SessionTest, StagingMemoryThatIsNotThereNamesItsSetting) {
  if (comm.num_ranks() < 2) return;
  for (const char* transport : {"pull", "push_ordered", "push_any", "credit"}) {
    SCOPED_TRACE(transport);
    OutputOptions options{.servers = "1", .transport = transport};
    options.memory_bytes = std::ptrdiff_t{1} << 52;
    try {
      const Session session(comm.raw(), options);
      ADD_FAILURE() << "4 PiB were found";
    } catch (const Error& error) {
      const std::string text = error.what();
      if (text.find("cannot be used here") != std::string::npos) continue;  // between these nodes
      EXPECT_NE(text.find("output.memory"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace tailrace
