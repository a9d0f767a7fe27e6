// SPDX-License-Identifier: BSD-3-Clause
// What ranks print arrives once, counted, in bounds, and never stops the program.
#include "tailrace/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/log_lines.hpp"
#include "tailrace/comm.hpp"

namespace tailrace {
namespace {

using detail::format_line;
using detail::one_line;
using detail::RankRanges;

std::string ranges_of(const std::vector<int>& ranks) {
  RankRanges ranges;
  for (const int rank : ranks) ranges.add(rank);
  return ranges.text();
}

TEST(LogLine, RanksAreJoined) {
  EXPECT_EQ(ranges_of({3}), "3");
  EXPECT_EQ(ranges_of({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(ranges_of({3, 1, 2, 0, 2}), "0-3");
  EXPECT_EQ(ranges_of({7, 0, 5, 2, 6}), "0, 2, 5-7");
  std::vector<int> even;
  for (int i = 0; i < 100; ++i) even.push_back(2 * i);
  EXPECT_EQ(ranges_of(even).substr(0, 10), "0, 2, 4, 6");
  EXPECT_EQ(ranges_of(even).substr(ranges_of(even).size() - 13), "30 and others");
}

TEST(LogLine, IsOneLineOfBoundedLength) {
  EXPECT_EQ(one_line("a\nb\r\n", 100), "a | b");
  EXPECT_EQ(one_line("", 100), "");
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
  EXPECT_EQ(one_line("0123456789a", 10), "0123456...");
}

TEST(LogLine, SaysHowOftenAndWho) {
  detail::LogLine line{LogLevel::warning, "slow disk", 1, {}};
  line.ranks.add(3);
  EXPECT_EQ(format_line(line, 4), "warning: slow disk (rank 3)\n");
  EXPECT_EQ(format_line(line, 1), "warning: slow disk\n");
  line.count = 5;
  EXPECT_EQ(format_line(line, 4), "warning: slow disk (x 5 on rank 3)\n");
  for (int rank = 0; rank < 37; ++rank) line.ranks.add(rank);
  line.count = 37;
  EXPECT_EQ(format_line(line, 64), "warning: slow disk (x 37 on ranks 0-36)\n");
  line.level = LogLevel::info;
  line.count = 1;
  EXPECT_EQ(format_line(line, 64), "slow disk\n");
}

/// A log into a file of rank 0, which is gone afterwards.
class LogFile : public ::testing::Test {
 protected:
  LogFile() : comm(MPI_COMM_WORLD) {
    std::array<char, 64> name{};
    if (comm.rank() == 0) {
      std::snprintf(name.data(), name.size(), "/tmp/tailrace_log_XXXXXX");
      close(mkstemp(name.data()));
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm.raw());
    options.target = name.data();
    options.repeat_s = 1e6;
  }
  ~LogFile() override {
    if (comm.rank() == 0) std::remove(options.target.c_str());
  }
  /// The lines of the file; on other ranks none.
  std::vector<std::string> written() const {
    std::vector<std::string> lines;
    if (comm.rank() != 0) return lines;
    std::ifstream file(options.target);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  int num_ranks() const { return comm.num_ranks(); }
  std::string who() const {
    return num_ranks() > 1 ? fmt::format(" on ranks 0-{}", num_ranks() - 1) : "";
  }

  Comm comm;
  LogOptions options;
};

/// How many lines of the callers a written one stands for: "... (x 37 on ..." or
/// "warning: 5 lines were omitted from ...".
long lines_in(const std::string& line) {
  std::smatch found;
  const bool many =
      std::regex_search(line, found, std::regex(R"(\(x (\d+))")) ||
      std::regex_search(line, found, std::regex(R"(^warning: (\d+) lines were omitted)"));
  return many ? std::stol(found[1]) : 1;
}

TEST_F(LogFile, IdenticalLinesOfAllRanksAreOneInOneWrite) {
  Log log(comm, options);
  for (int i = 0; i < 10; ++i) log.warning("slow disk");
  log.warning("another");
  log.finish();
  EXPECT_EQ(log.statistics().given, 11);
  if (comm.rank() != 0) return;
  EXPECT_EQ(log.statistics().flushes, 1);
  const auto lines = written();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], fmt::format("warning: slow disk (x {}{})", 10 * num_ranks(), who()));
  const std::string once = num_ranks() == 1 ? "" : fmt::format(" (x {}{})", num_ranks(), who());
  EXPECT_EQ(lines[1], "warning: another" + once);
}

TEST_F(LogFile, RepeatsAreCountedUntilTheEnd) {
  Log log(comm, options);
  for (int i = 0; i < 200; ++i) {
    log.warning("slow disk");
    log.progress();
  }
  log.finish();
  const auto lines = written();
  if (comm.rank() != 0) return;
  EXPECT_EQ(lines.size(), 2U);  // the first, and all others at the end
  long counted = 0;
  for (const std::string& line : lines) counted += lines_in(line);
  EXPECT_EQ(counted, 200 * num_ranks());
}

TEST_F(LogFile, InfoComesFromRankZeroOnlyAndInOrder) {
  Log log(comm, options);
  log.write(LogLevel::debug, "not wanted");
  for (int i = 0; i < 5; ++i) log.info(fmt::format("step {} of rank {}", i, comm.rank()));
  log.finish();
  log.info("too late");
  if (comm.rank() != 0) {
    EXPECT_EQ(log.statistics().messages, 0);
    return;
  }
  const auto lines = written();
  ASSERT_EQ(lines.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(lines[i], fmt::format("step {} of rank 0", i));
}

TEST_F(LogFile, LinesOfEveryRankArrive) {
  Log log(comm, options);
  for (int i = 0; i < 100; ++i) log.warning(fmt::format("line {} of rank {}", i, comm.rank()));
  log.finish();
  std::vector<int> next(static_cast<std::size_t>(num_ranks()), 0);
  for (const std::string& line : written()) {
    std::smatch found;
    ASSERT_TRUE(std::regex_search(line, found, std::regex(R"(line (\d+) of rank (\d+))"))) << line;
    EXPECT_EQ(std::stoi(found[1]), next[static_cast<std::size_t>(std::stoi(found[2]))]++) << line;
  }
  if (comm.rank() != 0) return;
  for (const int count : next) EXPECT_EQ(count, 100);
}

TEST_F(LogFile, InfoOverTheRateIsCountedAndWarningsWait) {
  options.lines_per_s = 5;
  Log log(comm, options);
  if (comm.rank() == 0) {
    for (int i = 0; i < 100; ++i) log.info(fmt::format("step {}", i));
    for (int i = 0; i < 20; ++i) log.warning(fmt::format("warning {}", i));
    log.progress();
    EXPECT_EQ(written().size(), 5U);
  }
  log.finish();
  if (comm.rank() != 0) return;
  const auto lines = written();
  ASSERT_EQ(lines.size(), 26U);
  EXPECT_EQ(lines[4], "step 4");
  EXPECT_EQ(lines[5].substr(0, 18), "warning: warning 0");
  EXPECT_EQ(lines[25].substr(0, 42), "warning: 95 lines were omitted from this l");
  EXPECT_EQ(log.statistics().left_out, 95);
}

TEST_F(LogFile, LinesBeyondTheBoundAreCounted) {
  options.max_lines = 10;
  Log log(comm, options);
  for (int i = 0; i < 50; ++i) log.warning(fmt::format("line {} of rank {}", i, comm.rank()));
  log.finish();
  const auto lines = written();
  if (comm.rank() != 0) return;
  EXPECT_EQ(lines.size(), 11U);
  long counted = 0;
  for (const std::string& line : lines) counted += lines_in(line);
  EXPECT_EQ(counted, 50 * num_ranks());
}

TEST_F(LogFile, ARankHasOneMessageUnderWay) {
  Log log(comm, options);
  if (comm.rank() != 0) {
    for (int i = 0; i < 1000; ++i) {
      log.warning(fmt::format("line {} of rank {}", i % 50, comm.rank()));
      log.progress();
    }
    EXPECT_EQ(log.statistics().messages, 1);  // rank 0 has taken none
  }
  MPI_Barrier(comm.raw());
  log.finish();
  long counted = 0;
  for (const std::string& line : written()) counted += lines_in(line);
  if (comm.rank() == 0) {
    EXPECT_EQ(counted, 1000 * (num_ranks() - 1));
  }
}

TEST_F(LogFile, LongLinesAreCut) {
  options.max_line_bytes = 20;
  Log log(comm, options);
  if (comm.rank() == 0) log.info(std::string(100, 'a') + "\nb");
  log.finish();
  if (comm.rank() == 0) {
    EXPECT_EQ(written().at(0), std::string(17, 'a') + "...");
  }
}

TEST_F(LogFile, AnErrorIsWrittenAtOnce) {
  Log log(comm, options);
  if (comm.rank() == 0) {
    log.error("out of space");
    EXPECT_EQ(written().size(), 1U);
  }
  log.finish();
}

TEST_F(LogFile, WhatCannotBeIsTheSameErrorOnAllRanks) {
  options.target = "/nowhere/at/all.log";
  try {
    const Log log(comm, options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::io);
    EXPECT_NE(std::string(error.what()).find("/nowhere/at/all.log"), std::string::npos);
  }
  options.target = "stderr";
  options.max_lines = 0;
  EXPECT_THROW(Log(comm, options), Error);
}

/// Puts a pipe in the place of stderr on rank 0.
class StderrPipe {
 public:
  StderrPipe() : before_(dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) ADD_FAILURE() << "no pipe";
    read_end_ = ends[0];
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    fcntl(read_end_, F_SETFL, O_NONBLOCK);
  }
  ~StderrPipe() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    if (read_end_ >= 0) close(read_end_);
  }
  StderrPipe(const StderrPipe&) = delete;
  StderrPipe& operator=(const StderrPipe&) = delete;
  void close_reader() { close(std::exchange(read_end_, -1)); }
  /// Until not a byte more goes in.
  void fill() const {
    const int flags = fcntl(STDERR_FILENO, F_GETFL);
    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    const std::string chunk(4096, 'x');
    while (write(STDERR_FILENO, chunk.data(), chunk.size()) > 0) continue;
    while (write(STDERR_FILENO, "x", 1) > 0) continue;
    fcntl(STDERR_FILENO, F_SETFL, flags);
  }
  std::string drain() const {
    std::string all;
    std::array<char, 4096> chunk{};
    for (ssize_t got = 0; (got = read(read_end_, chunk.data(), chunk.size())) > 0;) {
      all.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int before_;
  int read_end_ = -1;
};

TEST(LogTarget, AClosedPipeDoesNotEndTheProgram) {
  const Comm comm(MPI_COMM_WORLD);
  StderrPipe pipe;
  pipe.close_reader();
  Log log(comm);
  for (int i = 0; i < 10; ++i) {
    log.error(fmt::format("error {}", i));
    log.progress();
  }
  log.finish();
}

TEST(LogTarget, AFullPipeDoesNotStopTheProgram) {
  const Comm comm(MPI_COMM_WORLD);
  const StderrPipe pipe;
  Log log(comm);
  if (comm.rank() == 0) {
    pipe.fill();
    for (int i = 0; i < 10; ++i) {
      log.warning("slow disk");
      log.progress();
    }
    EXPECT_EQ(pipe.drain().find("slow"), std::string::npos);
  }
  log.finish();
  if (comm.rank() == 0) {
    EXPECT_NE(pipe.drain().find("warning: slow disk (x 10"), std::string::npos);
  }
}

TEST(LogEnd, WithAnExceptionOnItsWayTheRankPrintsForItself) {
  const Comm comm(MPI_COMM_WORLD);
  testing::internal::CaptureStderr();
  try {
    Log log(comm);
    log.warning("the last words");
    throw Error(Errc::internal, "stop");
  } catch (const Error&) {
    detail::count_handles(-1);  // the log has let go of its communicator
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("the last words"), std::string::npos) << printed;
}

TEST(LogEnd, RanksThatDoNotComeAreNotWaitedForForever) {
  const Comm comm(MPI_COMM_WORLD);
  const bool stays_away = comm.num_ranks() > 1 && comm.rank() == comm.num_ranks() - 1;
  LogOptions options;
  options.finish_wait_s = stays_away ? 0 : 0.05;
  testing::internal::CaptureStderr();
  {
    Log log(comm, options);
    log.warning("the last words");
    if (stays_away) MPI_Barrier(comm.raw());
    log.finish();
    if (!stays_away) MPI_Barrier(comm.raw());
  }
  if (comm.num_ranks() > 1) detail::count_handles(-1);
  const std::string printed = testing::internal::GetCapturedStderr();
  // Rank 0 has taken those of the others that came.
  if (comm.rank() == 0 || stays_away) {
    EXPECT_NE(printed.find("the last words"), std::string::npos) << printed;
  }
}

}  // namespace
}  // namespace tailrace
