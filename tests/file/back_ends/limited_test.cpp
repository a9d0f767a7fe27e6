// SPDX-License-Identifier: BSD-3-Clause
// The limited back end is never faster than it states, whoever writes. (How much slower the machine
// makes it is not tested.)
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "file/back_ends/back_end_fixture.hpp"
#include "file/limiter.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::file {
namespace {

class LimitedTest : public BackEndTest {
 protected:
  // Seconds from the first rank's begin to the last one's end of `action`, on one clock.
  template <class Action>
  double seconds_of(Action&& action) {
    MPI_Barrier(comm.raw());
    const double start_s = now_s();
    action();
    const double end_s = now_s();
    double first_s = 0, last_s = 0;
    MPI_Allreduce(&start_s, &first_s, 1, MPI_DOUBLE, MPI_MIN, comm.raw());
    MPI_Allreduce(&end_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, comm.raw());
    return last_s - first_s;
  }
};

TEST_F(LimitedTest, ReadsRateAndLatency) {
  EXPECT_EQ(parse_limit("limited:200M").bytes_per_s, 200 << 20);
  EXPECT_EQ(parse_limit("limited:200M").latency_s, 0);
  EXPECT_EQ(parse_limit("limited:64KiB,2ms").bytes_per_s, 64 << 10);
  EXPECT_EQ(parse_limit("limited:64KiB,2ms").latency_s, 2 * 1e-3);
  EXPECT_EQ(parse_limit("limited:1G,0.5s").latency_s, 0.5);
  EXPECT_EQ(parse_limit("limited:1G,250us").latency_s, 250 * 1e-6);
  EXPECT_EQ(parse_limit("posix").bytes_per_s, 0);
  EXPECT_TRUE(names_limited("limited:1G"));
  EXPECT_FALSE(names_limited("unlimited:1G"));
}

TEST_F(LimitedTest, RanksShareTheRate) {
  settings.back_end = "limited:8M";
  constexpr std::ptrdiff_t bytes = 256 << 10;
  const std::vector<Segment> segments{{0, 0, bytes}};
  const auto memory = filled(segments);
  const auto name = "rank" + std::to_string(comm.rank());
  const auto took_s = seconds_of([&] {
    const auto file = find_back_end(settings.back_end)
                          .open({nullptr, path(name), FileAccess::write, settings, statistics});
    file->write(segments, memory.data(), false);
    file->close();
  });
  EXPECT_GE(took_s, static_cast<double>(comm.num_ranks() * bytes) / (8 << 20));
  EXPECT_GE(statistics.io_s, static_cast<double>(bytes) / (8 << 20));
  EXPECT_EQ(slurp(path(name)), memory);
}

TEST_F(LimitedTest, EachCallHasTheLatency) {
  settings.back_end = "limited:1G,20ms";
  const std::vector<Segment> segments{{0, 0, 100}, {200, 100, 100}, {400, 200, 100}};
  const auto memory = filled(segments);
  const auto name = "rank" + std::to_string(comm.rank());
  const auto took_s = seconds_of([&] {
    const auto file = open_limited({nullptr, path(name), FileAccess::write, settings, statistics});
    file->write(segments, memory.data(), false);
    file->flush();
    file->close();
  });
  EXPECT_EQ(statistics.writes, 3);
  EXPECT_GE(took_s, 5 * 0.02);  // to open, to write three times, to flush
}

TEST_F(LimitedTest, FilesOfManyRanksTakeTheHint) {
  constexpr std::ptrdiff_t bytes = 128 << 10;
  const std::vector<FileRun> runs{{comm.rank() * bytes, bytes}};
  const auto data = filled(std::vector<Segment>{{comm.rank() * bytes, 0, bytes}});
  const auto took_s = seconds_of([&] {
    File file(comm, path("shared"), FileAccess::write, {{"back_end", "Limited:4m"}});
    file.write(FilePart::runs(runs), data.data());
    file.close();
  });
  EXPECT_GE(took_s, static_cast<double>(comm.num_ranks() * bytes) / (4 << 20));
  File again(comm, path("shared"), FileAccess::read, {{"back_end", "limited:4M"}});
  Bytes back(data.size());
  again.read(FilePart::runs(runs), back.data());
  again.close();
  EXPECT_EQ(back, data);
}

TEST_F(LimitedTest, WhoeverComesLaterWaitsForWhatWasWrittenBefore) {
  if (comm.rank() != 0) return;
  Limiter one("limited:1M", path("a"));
  Limiter other("limited:1M", path("b"));
  const double start_s = now_s();
  one.wait(start_s, 20 << 10, 1);
  other.wait(start_s, 20 << 10, 1);  // begun at the same time, so it is after the first
  EXPECT_GE(now_s() - start_s, 40.0 / 1024);
}

TEST_F(LimitedTest, SmallFilesAreLimitedToo) {
  const auto took_s = seconds_of([&] {
    LimitedFile file(path("small" + std::to_string(comm.rank())), O_WRONLY | O_CREAT,
                     "limited:1M,10ms");
    const Bytes data(10 << 10);
    file.write(data.data(), std::ssize(data), 0);
    file.flush();
    file.close();
  });
  EXPECT_GE(took_s, std::max(3 * 0.01, comm.num_ranks() * 10.0 / 1024));
}

}  // namespace
}  // namespace tailrace::file
