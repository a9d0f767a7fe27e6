// SPDX-License-Identifier: BSD-3-Clause
// Data sieving: fewer calls, the same bytes, and nothing lost between ranks that write what lies
// between each other's pieces.
#include <cstring>

#include "file/back_ends/back_end_fixture.hpp"

namespace tailrace::file {
namespace {

class Sieving : public BackEndTest {
 protected:
  // Pieces of all ranks in turn.
  std::vector<Segment> interleaved(std::ptrdiff_t bytes, int count) const {
    std::vector<Segment> segments;
    for (int i = 0; i < count; ++i) {
      segments.push_back({(i * comm.num_ranks() + comm.rank()) * bytes, i * bytes, bytes});
    }
    return segments;
  }
};

TEST_F(Sieving, ReadModifyWriteOfSeveralRanksLosesNothing) {
  for (const char* name : {"posix", "uring"}) {
    const auto& entry = find_back_end(name);
    if (!entry.available()) continue;
    for (const Switch sieving : {Switch::on, Switch::automatic}) {
      settings.ds_write = settings.ds_read = sieving;
      for (int round = 0; round < 5; ++round) {
        SCOPED_TRACE(fmt::format("{}, {}, round {}", name, static_cast<int>(sieving), round));
        const std::ptrdiff_t bytes = 1 + 37 * round;
        constexpr int count = 3000;
        create(entry, "file");
        const auto segments = interleaved(bytes, count);
        const auto memory = filled(segments);
        statistics = {};
        auto file = open(entry, "file", FileAccess::write, self);
        MPI_Barrier(comm.raw());
        file->write(segments, memory.data(), true);
        file->close();
        EXPECT_GT(statistics.locks, 0);
        EXPECT_LT(statistics.writes, count);
        MPI_Barrier(comm.raw());
        const auto whole = slurp(path("file"));
        ASSERT_EQ(std::ssize(whole), bytes * count * comm.num_ranks());
        std::ptrdiff_t wrong = 0;
        for (std::size_t i = 0; i < whole.size(); ++i) {
          wrong += whole[i] != content(static_cast<std::ptrdiff_t>(i)) ? 1 : 0;
        }
        EXPECT_EQ(wrong, 0);
        file = open(entry, "file", FileAccess::read, self);
        Bytes back(memory.size());
        file->read(segments, back.data(), true);
        EXPECT_TRUE(back == memory);
        file->close();
        MPI_Barrier(comm.raw());
      }
    }
  }
}

// One rank writes without holes what others read and write back: it must take the lock, too.
TEST_F(Sieving, AWriterWithoutHolesIsSafeFromThoseWithHoles) {
  settings.ds_write = Switch::on;
  const auto& entry = find_back_end("posix");
  const int n = comm.num_ranks();
  constexpr std::ptrdiff_t block = 4096;
  for (int round = 0; round < 50; ++round) {
    create(entry, "file");
    // Rank 0 has whole blocks, the others single bytes on both sides of them.
    std::vector<Segment> segments;
    for (int i = 0; i < 8; ++i) {
      const auto start = i * (block + 2 * n);
      if (comm.rank() == 0) {
        segments.push_back({start, i * block, block});
      } else {
        segments.push_back({start + block + comm.rank(), i, 1});
      }
    }
    const auto memory = filled(segments);
    auto file = open(entry, "file", FileAccess::write, self);
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) {
      for (const auto& segment : segments) file->write({&segment, 1}, memory.data(), true);
    } else {
      file->write(segments, memory.data(), true);
    }
    file->close();
    MPI_Barrier(comm.raw());
    file = open(entry, "file", FileAccess::read, self);
    Bytes back(memory.size());
    file->read(segments, back.data(), false);
    file->close();
    ASSERT_TRUE(back == memory) << "round " << round;
    MPI_Barrier(comm.raw());
  }
}

TEST_F(Sieving, CountsWhatItDoes) {
  const auto& entry = find_back_end("posix");
  const auto name = fmt::format("own_{}", comm.rank());
  Bytes zeros(100000, std::byte{0}), memory(1000, std::byte{1});
  std::vector<Segment> segments;  // 100 pieces of 10 bytes in 99,010
  for (int i = 0; i < 100; ++i) segments.push_back({i * 1000, i * 10, 10});
  create_file(path(name), settings);
  const std::vector<Segment> whole{{0, 0, 100000}};
  auto file = open(entry, name, FileAccess::write, self);
  file->write(whole, zeros.data(), true);
  file->close();
  settings.ind_rd_buffer_size = 50000;  // two windows of 49,010 bytes
  const auto read = [&](Switch choice, double density) {
    settings.ds_read = choice;
    settings.ds_density = density;
    statistics = {};
    auto reader = open(entry, name, FileAccess::read, self);
    reader->read(segments, memory.data(), true);
    reader->close();
  };
  read(Switch::on, 1);
  EXPECT_EQ(statistics.reads, 2);
  EXPECT_EQ(statistics.bytes_read, 98020);
  read(Switch::off, 0);
  EXPECT_EQ(statistics.reads, 100);
  EXPECT_EQ(statistics.bytes_read, 1000);
  read(Switch::automatic, 0.5);
  EXPECT_EQ(statistics.reads, 100);
  read(Switch::automatic, 0.009);
  EXPECT_EQ(statistics.reads, 2);
  settings.ds_write = Switch::on;
  settings.ind_wr_buffer_size = 25000;
  statistics = {};
  file = open(entry, name, FileAccess::update, self);
  file->write(segments, memory.data(), true);
  EXPECT_EQ(statistics.writes, 4);
  EXPECT_EQ(statistics.reads, 4);
  EXPECT_EQ(statistics.locks, 4);
  EXPECT_EQ(statistics.bytes_written, 4 * 24010);
  file->close();
  EXPECT_EQ(statistics.opens, 1);
}

}  // namespace
}  // namespace tailrace::file
