// SPDX-License-Identifier: BSD-3-Clause
// The library's own lines go where the program says.
#include "core/say.hpp"

#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tailrace/log.hpp"

namespace tailrace {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(Say, GoesToStandardErrorByItself) {
  CaptureStderr();
  say(LogLevel::warning, "slow disk");
  EXPECT_EQ(GetCapturedStderr(), "tailrace: slow disk\n");
}

TEST(Say, GoesToTheHandlerThatIsSet) {
  std::vector<std::string> lines;
  set_line_handler([&](LogLevel level, std::string_view text) {
    lines.push_back(fmt::format("{} {}", static_cast<int>(level), text));
  });
  CaptureStderr();
  say(LogLevel::warning, "slow disk");
  std::thread([] { say(LogLevel::error, "lost"); }).join();
  set_line_handler({});
  EXPECT_EQ(GetCapturedStderr(), "");
  EXPECT_EQ(lines, (std::vector<std::string>{"2 slow disk", "3 lost"}));
}

TEST(Say, GoesToTheLogUntilThatIsFinished) {
  const Comm comm(MPI_COMM_WORLD);
  CaptureStderr();
  {
    Log log(comm);
    std::thread([] { say(LogLevel::warning, "of a thread"); }).join();
    log.finish();
    EXPECT_EQ(log.statistics().given, 1);
  }
  const auto logged = GetCapturedStderr();
  const auto who = comm.num_ranks() == 1 ? std::string()
                                         : fmt::format(" (x {} on ranks 0-{})", comm.num_ranks(),
                                                       comm.num_ranks() - 1);
  EXPECT_EQ(logged, comm.rank() == 0 ? "warning: of a thread" + who + "\n" : "");
  CaptureStderr();
  say(LogLevel::warning, "after it");
  EXPECT_EQ(GetCapturedStderr(), "tailrace: after it\n");
}

TEST(Say, ManyLinesAreCounted) {
  LineQueue queue;
  for (int i = 0; i < 1005; ++i) say(LogLevel::info, "line");
  const auto taken = queue.take();
  EXPECT_EQ(taken.lines.size(), 1000U);
  EXPECT_EQ(taken.left_out, 5);
  EXPECT_TRUE(queue.take().lines.empty());
}

TEST(Say, WhatWaitsIsPrintedBeforeTheLastWord) {
  const LineQueue queue;
  say(LogLevel::warning, "waits");
  CaptureStderr();
  say_last("the end");
  EXPECT_EQ(GetCapturedStderr(), "tailrace: waits\ntailrace: the end\n");
}

}  // namespace
}  // namespace tailrace
