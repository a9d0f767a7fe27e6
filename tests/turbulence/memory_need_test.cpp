// SPDX-License-Identifier: BSD-3-Clause
#include "memory_need.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/memory_need.hpp"
#include "flow_fixture.hpp"
#include "statistics.hpp"

namespace tailrace::turbulence {
namespace {

using app::memory_limit;

/// A machine of files below a folder of this rank; gone at the end.
class MachineOfFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / fmt::format("machine_{}", getpid());
    write("proc/meminfo", "MemFree: 5 kB\nMemTotal:       2048 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::filesystem::path root_;
};

TEST_F(MachineOfFiles, WithoutControlGroupsTheMemoryCounts) {
  EXPECT_EQ(memory_limit(root_).bytes, 2048.0 * 1024);
  EXPECT_EQ(memory_limit(root_).what, "of memory");
  EXPECT_EQ(memory_limit(root_ / "none").bytes, 0);
}

TEST_F(MachineOfFiles, TheSmallestLimitOfNestedGroupsCounts) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(memory_limit(root_).what, "of memory");
  write("sys/fs/cgroup/job/memory.max", "1000000\n");
  EXPECT_EQ(memory_limit(root_).bytes, 1e6);
  write("sys/fs/cgroup/memory.max", "900000\n");  // as a container sees its own limit
  EXPECT_EQ(memory_limit(root_).bytes, 9e5);
  EXPECT_EQ(memory_limit(root_).what, "by the limit of its control group");
}

TEST_F(MachineOfFiles, GroupsOfTheFirstVersion) {
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_limit(root_).bytes, 2048.0 * 1024);
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "700000\n");
  EXPECT_EQ(memory_limit(root_).bytes, 7e5);
}

// What a flow and its statistics hold is what was foretold.
TEST(NeededBytes, AreWhatAFlowHolds) {
  for (const auto* precision : {"double", "single"}) {
    const Case values =
        small_case({"grid.n=64", "output.every=0", fmt::format("grid.precision={}", precision)});
    const auto measure = [&]<class Real>(Real) {
      Flow<Real> flow(MPI_COMM_WORLD, {"grid.n=64"});
      const StatisticsKernel<Real> kernel(flow.comm, flow.solver);
      auto bytes = static_cast<double>(flow.solver.memory_bytes() + kernel.memory_bytes());
      MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      return bytes;
    };
    const bool single = std::string(precision) == "single";
    const double held = single ? measure(0.0F) : measure(0.0);
    const double foretold = needed_bytes(values, solver_options(values, 1), 1);
    EXPECT_NEAR(held / foretold, 1, 0.5) << precision;  // of shares that are small and uneven
  }
}

TEST(NeededBytes, HugeCasesAreRefusedWithBothNumbers) {
  const Case values = small_case({"grid.n=1048576"});
  const auto options = solver_options(values, 1);
  try {
    require_memory(MPI_COMM_WORLD, values, options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), Errc::invalid_input);
    EXPECT_NE(text.find("1048576 x 1048576 x 1048576 points"), std::string::npos) << text;
    EXPECT_NE(text.find("EiB"), std::string::npos) << text;
    EXPECT_NE(text.find("which has"), std::string::npos) << text;
  }
  const Case small = small_case({});
  require_memory(MPI_COMM_WORLD, small, solver_options(small, 1));
}

}  // namespace
}  // namespace tailrace::turbulence
