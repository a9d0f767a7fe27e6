// SPDX-License-Identifier: BSD-3-Clause
// Outputs without a session, by servers of their own, and which settings belong to whom.
#include <filesystem>
#include <string>

#include "environment.hpp"
#include "server/session_fixture.hpp"
#include "tailrace/more/node_map.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using testing::SessionTest;

class OutputServersTest : public SessionTest {
 protected:
  template <class Action>
  std::string refusal(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      return error.what();
    }
    return "nothing was refused";
  }
  std::string refusal_of(OutputOptions options) {
    return refusal([&] { const Output output(comm, std::move(options)); });
  }
  static void expect_has(const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  }
};

TEST_F(OutputServersTest, EveryKindWritesWhatWasGivenAndSaysWhoWrites) {
  for (const auto& kind : testing::kinds_here(comm)) {
    SCOPED_TRACE(kind);
    OutputCase test(comm, {9, 8, 31}, 2);
    Output output(comm, {.servers = kind, .memory_bytes = 64 << 20});
    expect_has(output.describe(), "servers = \"" + kind + "\"");
    for (int step = 0; step < 5; ++step) {
      test.fill(step);
      const auto result = output.write(path("a" + std::to_string(step) + ".h5"), test.contents);
      EXPECT_EQ(result, kind == "none" ? WriteResult::written : WriteResult::staged);
      test.fill(99);
      output.progress();
    }
    output.finish();
    EXPECT_EQ(output.statistics().complete, 5);
    EXPECT_EQ(output.last_complete(), path("a4.h5"));
    for (int step = 0; step < 5; ++step) {
      EXPECT_EQ(OutputCase::wrong_items(comm, path("a" + std::to_string(step) + ".h5"), step), 0);
    }
    MPI_Barrier(comm.raw());
  }
}

TEST_F(OutputServersTest, EveryKindHasProductsAndPolicies) {
  for (const auto& kind : testing::kinds_here(comm)) {
    SCOPED_TRACE(kind);
    OutputCase test(comm, {8, 8, 32}, 0);
    Output output(comm, {.servers = kind,
                         .memory_bytes = 64 << 20,
                         .when_full = WhenFull::lower,
                         .products = {{.name = "single", .stages = {"convert type=float32"}}}});
    output.write(path("a.h5"), test.contents);
    output.finish();
    EXPECT_EQ(OutputCase::wrong_items(comm, path("a.h5"), 0), 0);
    EXPECT_TRUE(std::filesystem::exists(path("a_single.h5")));
    MPI_Barrier(comm.raw());
  }
}

// A lower bound: a limited file system is never faster than it states, to the writers of a node.
TEST_F(OutputServersTest, EveryKindWritesNoFasterThanALimitedFileSystem) {
  namespace fs = std::filesystem;
  const double bytes_per_s = (4 << 20) * NodeMap(comm).num_nodes();
  constexpr std::ptrdiff_t plain_bytes = 16 * 32 * 32 * (8 + 4) + 32 * 33 * 16 * 8;
  OutputCase test(comm, {16, 32, 32}, 0);
  for (const auto& kind : testing::kinds_here(comm)) {
    for (const std::string name : {"plain.h5", "packed.h5", "store.zarr"}) {
      SCOPED_TRACE(kind + " " + name);
      const auto whole = path(kind + name);
      MPI_Barrier(comm.raw());
      const double start_s = now_s();
      {
        Output output(comm, {.servers = kind,
                             .memory_bytes = 64 << 20,
                             .hints = {{"back_end", "limited:4M"}},
                             .compress = name == "packed.h5" ? "deflate:1" : ""});
        output.write(whole, test.contents);
        output.finish();
      }
      double took_s = now_s() - start_s;
      MPI_Allreduce(MPI_IN_PLACE, &took_s, 1, MPI_DOUBLE, MPI_MAX, comm.raw());
      std::uintmax_t bytes = plain_bytes;  // the file has holes besides
      if (name == "packed.h5") bytes = fs::file_size(whole);
      if (name == "store.zarr") {
        bytes = 0;
        for (const auto& entry : fs::recursive_directory_iterator(whole)) {
          if (entry.is_regular_file()) bytes += entry.file_size();
        }
      }
      EXPECT_GT(bytes, 20'000U);
      EXPECT_GE(took_s, static_cast<double>(bytes) / bytes_per_s);
      if (name != "store.zarr") {
        EXPECT_EQ(OutputCase::wrong_items(comm, whole, 0), 0);
      }
    }
  }
}

TEST_F(OutputServersTest, HidesUnlessToldOtherwise) {
  const Output usual(comm);
  expect_has(usual.describe(), "servers = \"hidden\"");
  const Environment other("TAILRACE_SERVERS", "thread");
  const Output overridden(comm);
  expect_has(overridden.describe(), "servers = \"thread\"");
}

TEST_F(OutputServersTest, IgnoresAnEnvironmentThatNeedsASession) {
  const Environment other("TAILRACE_SERVERS", "1 per node");
  const Output output(comm, {.servers = "none"});
  expect_has(output.describe(), "servers = \"none\"");
}

TEST_F(OutputServersTest, SaysThatServingRanksNeedASession) {
  for (const char* servers : {"1", "2 per node", "threads", ""}) {
    expect_has(refusal_of({.servers = servers}), "use a Session");
  }
}

TEST_F(OutputServersTest, FileSettingsThatServersDoNotKnowAreRefusedByName) {
  expect_has(refusal_of({.servers = "thread", .strategy = "grouped"}), "strategy = \"grouped\"");
  expect_has(refusal_of({.servers = "thread", .writers = 1}), "writers = 1");
  expect_has(refusal_of({.servers = "thread", .method = "push"}), "method = \"push\"");
}

TEST_F(OutputServersTest, SettingsInTheWrongPlaceAreRefusedByName) {
  const auto of_session = [&](OutputOptions options) {
    return refusal([&] { const Session session(comm.raw(), std::move(options)); });
  };
  expect_has(of_session({.servers = "none", .strategy = "grouped"}), "strategy");
  expect_has(of_session({.servers = "none", .hints = {{"sync", "false"}}}), "hints");
  expect_has(of_session({.servers = "none", .when_full = WhenFull::drop}), "when_full");
  expect_has(of_session({.servers = "none", .products = {{.name = "p"}}}), "products");
  Session session(comm.raw(), {.servers = "hidden"});
  const auto of_output = [&](OutputOptions options) {
    return refusal([&] { const auto output = session.open("fields", std::move(options)); });
  };
  expect_has(of_output({.servers = "thread"}), "output fields: servers");
  expect_has(of_output({.memory_bytes = 1 << 20}), "memory_bytes");
  expect_has(of_output({.watchdog_s = 5}), "watchdog_s");
  OutputOptions with_function;
  with_function.functions.stages["f"] = {};
  expect_has(of_output(with_function), "functions");
  session.close();
}

}  // namespace
}  // namespace tailrace
