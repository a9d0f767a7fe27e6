// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/trace.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"

namespace tailrace {
namespace {

namespace fs = std::filesystem;

// The same new folder on all ranks; removed at the end by rank 0.
class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int id = static_cast<int>(getpid());
    MPI_Bcast(&id, 1, MPI_INT, 0, comm_.raw());
    folder_ = fs::temp_directory_path() / ("tailrace_trace_" + std::to_string(id));
    if (comm_.rank() == 0) fs::create_directories(folder_);
    MPI_Barrier(comm_.raw());
  }
  void TearDown() override {
    MPI_Barrier(comm_.raw());
    if (comm_.rank() == 0) fs::remove_all(folder_);
  }
  static std::string slurp(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static int count(const std::string& text, const std::string& what) {
    int n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
  Comm comm_{MPI_COMM_WORLD};
  fs::path folder_;
};

TEST_F(TraceTest, CapacityZeroRecordsNothing) {
  Trace trace;
  trace.record(Activity::compute, "step", 1, 2);
  EXPECT_EQ(trace.total_s(Activity::compute), 0);
  Span none(nullptr, Activity::wait, "nothing");
}

TEST_F(TraceTest, TotalsCountSpansThatWereNotKept) {
  Trace trace(2);
  for (int i = 0; i < 5; ++i) trace.record(Activity::wait, "wait", i, i + 0.5, 1);
  EXPECT_NEAR(trace.total_s(Activity::wait, 1), 2.5, 1e-9);
  EXPECT_EQ(trace.total_s(Activity::wait, 0), 0);
  const auto path = folder_ / "trace.json";
  trace.write(comm_, path.string());
  if (comm_.rank() != 0) return;
  const auto text = slurp(path);
  EXPECT_EQ(count(text, "\"ph\":\"X\""), 2 * comm_.num_ranks());
  EXPECT_EQ(count(text, "\"spans_dropped\":" + std::to_string(3 * comm_.num_ranks())), 1) << text;
  EXPECT_FALSE(fs::exists(path.string() + ".partial"));
}

TEST_F(TraceTest, FileHoldsSpansOfEveryRankOnAlignedClocks) {
  Trace trace(100);
  const double start_s = now_s();
  trace.record(Activity::write, "quote \" and \\", start_s, start_s + 0.25, 1);
  const auto path = folder_ / "trace.json";
  trace.write(comm_, path.string());
  if (comm_.rank() != 0) return;
  const auto text = slurp(path);
  for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
    const auto tail = "\"dur\":250000.000,\"pid\":" + std::to_string(rank) + ",\"tid\":1}";
    EXPECT_EQ(count(text, tail), 1) << text;
  }
  EXPECT_EQ(count(text, "quote \\\" and \\\\"), comm_.num_ranks());
  EXPECT_EQ(count(text, "process_name"), comm_.num_ranks());
  EXPECT_GE(count(text, "\"ts\":0.000"), 1) << "the first span of all is at time 0\n" << text;
}

TEST_F(TraceTest, SeveralThreadsRecordAtOnce) {
  Trace trace(4000);
  {
    std::jthread other([&] {
      for (int i = 0; i < 1000; ++i) trace.record(Activity::write, "w", 0, 0.001, 1);
    });
    for (int i = 0; i < 1000; ++i) Span span(&trace, Activity::compute, "c");
  }
  EXPECT_NEAR(trace.total_s(Activity::write, 1), 1.0, 1e-6);
  const auto path = folder_ / "threads.json";
  trace.write(comm_, path.string());
  if (comm_.rank() == 0) {
    EXPECT_EQ(count(slurp(path), "\"ph\":\"X\""), 2000 * comm_.num_ranks());
  }
}

TEST_F(TraceTest, MissingFolderIsTheSameErrorOnAllRanks) {
  Trace trace(1);
  try {
    trace.write(comm_, (folder_ / "missing" / "trace.json").string());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_EQ(error.sys_errno(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("trace.json"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tailrace
