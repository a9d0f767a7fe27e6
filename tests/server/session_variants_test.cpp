// SPDX-License-Identifier: BSD-3-Clause
// Whoever serves, and by whatever transport: files and products are the same.
#include <algorithm>
#include <cstdlib>

#include "server/session_fixture.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/input.hpp"
#include "tailrace/log.hpp"

namespace tailrace {
namespace {

using namespace store_test;
using testing::SessionTest;

std::ptrdiff_t data_offset(const std::string& path, const char* name) {
  const store::Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
                               path.c_str());
  const store::Hdf5Handle dataset(H5Dopen2(file.id(), name, H5P_DEFAULT), H5Dclose, name);
  return static_cast<std::ptrdiff_t>(H5Dget_offset(dataset.id()));
}

TEST_F(SessionTest, EveryVariantWritesWhatWasGiven) {
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    const bool ran = run(variant, small(), [&](Session& session) {
      OutputCase test(session.compute(), {9, 8, 31}, 2);
      Output fields = session.open("fields");
      Output more = session.open("more", {.priority = 1});
      for (int step = 0; step < 5; ++step) {
        test.fill(step);
        fields.write(path("a" + std::to_string(step) + ".h5"), test.contents);
        more.write(path("b" + std::to_string(step) + ".h5"), test.contents);
        test.fill(99);
        fields.progress();
      }
      fields.finish();
      EXPECT_EQ(fields.statistics().complete, 5);
      EXPECT_EQ(fields.last_complete(), path("a4.h5"));
    });
    if (!ran) continue;
    for (int step = 0; step < 5; ++step) {
      for (const char* name : {"a", "b"}) {
        const auto file = path(name + std::to_string(step) + ".h5");
        EXPECT_EQ(OutputCase::wrong_items(comm, file, step), 0) << file;
      }
    }
    MPI_Barrier(comm.raw());
  }
}

// Every rank's part fits into its share of the staging memory, which is a page at least; together
// they are more than a server may have at once.
TEST_F(SessionTest, StepsLargerThanAServersMemory) {
  for (const auto& variant : variants()) {
    if (variant.servers != "1" && variant.servers != "2") continue;
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    auto options = small();
    options.memory_bytes = 4096;
    const bool ran = run(variant, options, [&](Session& session) {
      const auto& compute = session.compute();
      OutputCase test(compute, {compute.num_ranks(), 4, 12}, 2);
      OutputOptions patient{.hints = {{"sync", "false"}}, .wait_limit_s = 60};
      Output fields = session.open("fields", patient);
      patient.priority = 1;
      Output more = session.open("more", patient);
      for (int step = 0; step < 3; ++step) {
        test.fill(step);
        fields.write(path("a" + std::to_string(step) + ".h5"), test.contents);
        more.write(path("b" + std::to_string(step) + ".h5"), test.contents);
      }
      fields.finish();
      more.finish();
      EXPECT_EQ(fields.statistics().complete + more.statistics().complete, 6);
    });
    if (!ran) continue;
    EXPECT_EQ(OutputCase::wrong_items(comm, path("a2.h5"), 2), 0);
    MPI_Barrier(comm.raw());
  }
}

// Stages call each other's servers: on several nodes, also from threads that may not call MPI.
TEST_F(SessionTest, ProductsAreTheSameByEveryVariant) {
  std::vector<double> expected;
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    const auto name = "p_" + variant.servers + "_" + variant.transport;
    const bool ran = run(variant, small(), [&](Session& session) {
      OutputCase test(session.compute(), {8, 6, 10}, 2);
      OutputOptions options;
      options.products = {
          {.name = "half", .variables = {"u"}, .stages = {"mean", "coarsen factor=2"}}};
      Output fields = session.open("fields", options);
      for (int step = 0; step < 3; ++step) {
        test.fill(step);
        test.contents.step = step;
        fields.write(path(name + std::to_string(step) + ".h5"), test.contents);
      }
      fields.finish();
      EXPECT_EQ(fields.statistics().complete, 3);
    });
    if (!ran) continue;
    for (int step = 0; step < 3; ++step) {
      const Input half(comm, path(name + std::to_string(step) + "_half.h5"));
      std::vector<double> found(static_cast<std::size_t>(4 * 3 * 5));
      half.read_all("u", ItemType::float64, found.data());
      if (variant.servers == "none") expected.insert(expected.end(), found.begin(), found.end());
      const auto* of_step = expected.data() + step * std::ssize(found);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), of_step));
    }
    MPI_Barrier(comm.raw());
  }
  ASSERT_FALSE(expected.empty());
  EXPECT_NE(expected.front(), expected.back());
}

// Files of servers have the stripes that hints ask for, and a wrong name is said once.
TEST_F(SessionTest, HintsHoldByEveryVariant) {
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.servers + " " + variant.transport);
    const auto file = path("hints_" + variant.servers + "_" + variant.transport + ".h5");
    int said = 0;
    set_line_handler([&](LogLevel, std::string_view text) {
      if (text.find("unknown hint cb_node ") != std::string_view::npos) ++said;
    });
    const bool ran = run(variant, small(), [&](Session& session) {
      OutputCase test(session.compute(), {64, 8, 31}, 2);
      OutputOptions options;
      options.hints = {{"striping_unit", "24576"}, {"cb_node", "2"}};
      Output fields = session.open("fields", options);
      fields.write(file, test.contents);
      fields.write(file, test.contents);
      fields.finish();
    });
    set_line_handler({});
    if (!ran) continue;
    MPI_Allreduce(MPI_IN_PLACE, &said, 1, MPI_INT, MPI_SUM, comm.raw());
    if (variant.servers != "process") {
      EXPECT_EQ(said, 1);
    }
    if (comm.rank() == 0) {
      EXPECT_EQ(data_offset(file, "u") % 24576, 0);
    }
    MPI_Barrier(comm.raw());
  }
}

// Where threads may not call MPI, the main threads carry the messages of several nodes' servers;
// the watch on MPI's rules is linked to this program.
TEST_F(SessionTest, ThreadsServeAllNodesWhateverTheyMayCall) {
  const char* servers = std::getenv("TAILRACE_SERVERS");
  if (servers != nullptr) GTEST_SKIP() << "TAILRACE_SERVERS says who serves";
  Session session(comm.raw(), {.servers = "thread"});
  EXPECT_EQ(session.num_servers(), NodeMap(comm).num_nodes()) << session.describe();
  EXPECT_NE(session.describe().find("server thread"), std::string::npos) << session.describe();
}

}  // namespace
}  // namespace tailrace
