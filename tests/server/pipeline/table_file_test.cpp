// SPDX-License-Identifier: BSD-3-Clause
#include "server/pipeline/table_file.hpp"

#include <csignal>

#include <sys/resource.h>

#include "pipeline_fixture.hpp"

namespace tailrace::server {
namespace {

/// A table of one process.
class TableFileTest : public ::testing::Test {
 protected:
  SharedFolder folder_;
  std::string path_ = folder_ / ("table" + std::to_string(getpid()) + ".csv");

  void put(TableFile& table, std::int64_t step, const std::string& value) const {
    table.put(path_, "step,a", step, std::to_string(step) + "," + value + "\n");
  }
  std::string text() const { return text_of(path_); }
};

TEST_F(TableFileTest, LinesAreAppended) {
  TableFile table;
  put(table, 1, "x");
  EXPECT_EQ(text(), "step,a\n1,x\n");
  put(table, 5, "y");
  put(table, 7, "z");
  EXPECT_EQ(text(), "step,a\n1,x\n5,y\n7,z\n");
}

TEST_F(TableFileTest, ARestartReplacesItsSteps) {
  {
    TableFile table;
    for (const std::int64_t step : {0, 10, 20, 30}) put(table, step, "old");
  }
  TableFile table;
  put(table, 10, "new");
  EXPECT_EQ(text(), "step,a\n0,old\n10,new\n20,old\n30,old\n");
  put(table, 20, "new");
  put(table, 15, "between");
  put(table, 30, "new");
  put(table, 40, "new");
  EXPECT_EQ(text(), "step,a\n0,old\n10,new\n15,between\n20,new\n30,new\n40,new\n");
}

TEST_F(TableFileTest, ALineThatACrashCutOffGoes) {
  std::ofstream(path_) << "step,a\n1,x\n2,";
  TableFile table;
  put(table, 2, "y");
  EXPECT_EQ(text(), "step,a\n1,x\n2,y\n");
  std::ofstream(path_) << "step";
  TableFile other;
  put(other, 3, "z");
  EXPECT_EQ(text(), "step,a\n3,z\n");
}

TEST_F(TableFileTest, AFileThatWasMovedAwayBeginsAgain) {
  TableFile table;
  put(table, 1, "x");
  std::filesystem::rename(path_, path_ + ".old");
  put(table, 2, "y");
  EXPECT_EQ(text(), "step,a\n2,y\n");
}

TEST_F(TableFileTest, OtherColumnsAreRefused) {
  std::ofstream(path_) << "step,b\n1,x\n";
  TableFile table;
  expect_holds(message_of([&] { put(table, 2, "y"); }),
               {path_.c_str(), "step,b", "step,a", "move the table away"});
  EXPECT_EQ(text(), "step,b\n1,x\n");
}

TEST_F(TableFileTest, AWriteThatFailsIsToldAndLeavesWholeLines) {
  TableFile table;
  put(table, 1, "x");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{16, before.rlim_max};  // the line begins before the limit and ends beyond it
  setrlimit(RLIMIT_FSIZE, &small);
  const auto told = message_of([&] { put(table, 2, "a long value"); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_holds(told, {"cannot write table", path_.c_str(), "File too large"});
  EXPECT_EQ(text(), "step,a\n1,x\n");
  put(table, 2, "y");
  EXPECT_EQ(text(), "step,a\n1,x\n2,y\n");
}

TEST_F(TableFileTest, PlacesWhereNoTableCanBe) {
  TableFile device;
  expect_holds(message_of([&] { device.put("/dev/zero", "step,a", 1, "1,x\n"); }),
               {"cannot write table /dev/zero"});
  TableFile lost;
  try {
    lost.put(folder_ / "no/such/folder.csv", "step,a", 1, "1,x\n");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.sys_errno(), ENOENT);
  }
}

}  // namespace
}  // namespace tailrace::server
