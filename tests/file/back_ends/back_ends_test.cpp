// SPDX-License-Identifier: BSD-3-Clause
// Every back end writes what it is given and reads it back, by all of its calls.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "file/back_ends/back_end_fixture.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace::file {
namespace {

struct Pattern {
  std::string name;
  std::vector<Segment> segments;
};

// Pieces of each rank in its own stretch of the file, `stretch` bytes wide.
std::vector<Pattern> patterns(std::ptrdiff_t start) {
  std::vector<Pattern> all{{"contiguous", {{start, 0, 300000}}},
                           {"unaligned", {{start + 3, 5, 4097}, {start + 5001, 4200, 70001}}},
                           {"one byte", {{start + 77, 9, 1}}},
                           {"empty", {}},
                           {"an empty piece", {{start + 4, 0, 0}, {start + 4, 3, 10}}}};
  Pattern strided{"strided", {}};
  for (int i = 0; i < 200; ++i) strided.segments.push_back({start + i * 1000, i * 10, 10});
  all.push_back(strided);
  Pattern shuffled{"neighbours from all over the memory", {}};
  for (int i = 0; i < 3000; ++i)
    shuffled.segments.push_back({start + i * 7, i * 1667 % 3000 * 7, 7});
  all.push_back(shuffled);
  Pattern bytes{"single bytes", {}};
  for (int i = 0; i < 500; ++i) bytes.segments.push_back({start + i * 3, i, 1});
  all.push_back(bytes);
  return all;
}

constexpr std::ptrdiff_t stretch = 400000;

void expect_in_file(const std::string& path, std::span<const Segment> segments) {
  const auto bytes = slurp(path);
  for (const auto& segment : segments) {
    for (auto at = segment.file_offset; at < segment.file_end(); ++at) {
      ASSERT_EQ(bytes.at(static_cast<std::size_t>(at)), content(at)) << "byte " << at;
    }
  }
}

class BackEnds : public BackEndTest {
 protected:
  void write_and_read(const BackEndEntry& entry, const Pattern& pattern, bool sieve) {
    create(entry, "file");
    const auto memory = filled(pattern.segments);
    auto file = open(entry, "file", FileAccess::write, self);
    file->write(pattern.segments, memory.data(), sieve);
    file->flush();
    file->close();
    MPI_Barrier(comm.raw());
    expect_in_file(path("file"), pattern.segments);
    file = open(entry, "file", FileAccess::read, self);
    Bytes back(memory.size(), std::byte{0});
    file->read(pattern.segments, back.data(), sieve);
    file->close();
    EXPECT_TRUE(back == memory);
    MPI_Barrier(comm.raw());
  }
};

TEST_F(BackEnds, SegmentsOfEveryKind) {
  const auto num_patterns = patterns(0).size();
  for (const auto* entry : available_back_ends()) {
    if (entry->name == "hdf5") continue;  // makes its datasets in calls for whole parts
    for (const Switch direct : {Switch::off, Switch::on, Switch::automatic}) {
      for (const Switch sieving : {Switch::off, Switch::on, Switch::automatic}) {
        for (std::size_t p = 0; p < num_patterns; ++p) {
          const auto pattern = patterns(comm.rank() * stretch)[p];
          SCOPED_TRACE(fmt::format("{}, {}, direct {}, sieving {}", entry->name, pattern.name,
                                   static_cast<int>(direct), static_cast<int>(sieving)));
          settings.direct_io = direct;
          settings.ds_read = settings.ds_write = sieving;
          write_and_read(*entry, pattern, sieving != Switch::off);
        }
      }
    }
  }
}

// Parts of all ranks in the calls of the back end's own, on one open file.
TEST_F(BackEnds, PartsOfRunsAndBoxes) {
  const auto r = comm.rank();
  const auto n = comm.num_ranks();
  const std::vector<std::ptrdiff_t> extents{2 * n, 9, 11};
  const FileArray array{64, extents, 8};
  const Box box{3, {2 * r, 1, 2}, {2, 7, 9}};
  std::vector<FileRun> runs;
  for (int i = 0; i < 50; ++i) runs.push_back({(i * n + r) * 24 + 8, 16});
  const std::vector<FilePart> parts{
      FilePart::boxes(array, {box}, Memory::dense({box})),
      FilePart::boxes(array, std::vector{box}, Memory::ordered(box, {0, 1, 2}, {1, 2, 3})),
      FilePart::runs(runs), r == 0 ? FilePart() : FilePart::runs(runs)};
  for (const auto* entry : available_back_ends()) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (const bool collective : {false, true}) {
        if (collective && !entry->has_collective) continue;
        SCOPED_TRACE(fmt::format("{}, part {}, collective {}", entry->name, p, collective));
        const auto name = fmt::format("{}_{}_{}", entry->name, p, collective);
        create(*entry, name);
        auto memory = filled(FilePart::Data::of(parts[p]).segments());
        auto file = open(*entry, name, FileAccess::write, comm);
        for (int repeat = 0; repeat < 2; ++repeat) {
          collective ? file->write_all(parts[p], memory.data())
                     : file->write_part(parts[p], memory.data());
        }
        file->flush();
        file->close();
        MPI_Barrier(comm.raw());
        if (entry->name != "hdf5")
          expect_in_file(path(name), FilePart::Data::of(parts[p]).segments());
        file = open(*entry, name, FileAccess::read, comm);
        Bytes back(memory.size(), std::byte{0});
        collective ? file->read_all(parts[p], back.data()) : file->read_part(parts[p], back.data());
        file->close();
        EXPECT_TRUE(back == memory);
      }
    }
  }
}

TEST_F(BackEnds, WritesInTheBackgroundAreThereAfterFinish) {
  for (const auto* entry : available_back_ends()) {
    if (entry->name == "hdf5") continue;
    SCOPED_TRACE(entry->name);
    constexpr std::ptrdiff_t bytes = (18 << 20) + 12345;
    const Buffer buffer(2 * bytes);
    for (std::ptrdiff_t i = 0; i < 2 * bytes; ++i) buffer.data()[i] = content(i);
    const auto name = fmt::format("{}_{}", entry->name, comm.rank());
    create_file(path(name), settings);
    auto file = open(*entry, name, FileAccess::write, self);
    file->start_write(std::vector<Segment>{{0, 0, bytes}}, buffer.data());
    file->start_write(std::vector<Segment>{{bytes, bytes, bytes}}, buffer.data());
    file->finish();
    EXPECT_EQ(file->size(), 2 * bytes);
    const auto back = slurp(path(name));
    ASSERT_EQ(std::ssize(back), 2 * bytes);
    EXPECT_TRUE(std::equal(back.begin(), back.end(), buffer.data()));
    Bytes again(static_cast<std::size_t>(2 * bytes));
    file->read(std::vector<Segment>{{0, 0, 2 * bytes}}, again.data(), false);
    EXPECT_TRUE(again == back);
    file->close();
    std::filesystem::remove(path(name));
  }
}

// Calls may end in another order than they began in: a small one soon, while a large one goes on.
// What finish_all_but says to be done is the older one.
TEST_F(BackEnds, TheOldestBackgroundWritesAreDoneFirst) {
  for (const auto* entry : available_back_ends()) {
    if (entry->name == "hdf5") continue;
    SCOPED_TRACE(entry->name);
    constexpr std::ptrdiff_t large = 32 << 20, small = 100;
    const Buffer buffer(large + small);
    for (std::ptrdiff_t i = 0; i < large + small; ++i) buffer.data()[i] = content(i);
    const auto name = fmt::format("{}_{}", entry->name, comm.rank());
    settings.queue_depth = 32;  // room for the small one beside the large one
    create_file(path(name), settings);
    auto file = open(*entry, name, FileAccess::write, self);
    file->start_write(std::vector<Segment>{{0, 0, large}}, buffer.data());
    file->start_write(std::vector<Segment>{{large, large, small}}, buffer.data());
    file->finish_all_but(1);
    std::memset(buffer.data(), 0, large);  // the caller may fill it again
    file->finish();
    const auto back = slurp(path(name));
    ASSERT_EQ(std::ssize(back), large + small);
    std::ptrdiff_t wrong = 0;
    for (std::ptrdiff_t i = 0; i < large + small; ++i) {
      wrong += back[static_cast<std::size_t>(i)] != content(i) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0);
    file->close();
    std::filesystem::remove(path(name));
  }
}

TEST_F(BackEnds, PlacesBeyond4GiB) {
  constexpr std::ptrdiff_t far = (std::ptrdiff_t{5} << 30) + 3;
  const std::vector<Segment> segments{{1, 0, 2}, {far, 2, 5}};
  for (const auto* entry : available_back_ends()) {
    if (entry->name == "hdf5") continue;
    SCOPED_TRACE(entry->name);
    const auto name = fmt::format("{}_{}", entry->name, comm.rank());
    create_file(path(name), settings);
    const auto memory = filled(segments);
    auto file = open(*entry, name, FileAccess::write, self);
    file->write(segments, memory.data(), false);
    EXPECT_EQ(file->size(), far + 5);
    file->close();
    const std::vector<FileRun> runs{{1, 2}, {far, 5}};
    file = open(*entry, name, FileAccess::update, self);
    file->write_part(FilePart::runs(runs), memory.data());
    Bytes back(memory.size());
    file->read_part(FilePart::runs(runs), back.data());
    file->close();
    EXPECT_TRUE(back == memory);
    struct stat status {};
    ASSERT_EQ(stat(path(name).c_str(), &status), 0);
    EXPECT_LT(status.st_blocks, 10000) << "the hole is kept";
  }
}

TEST_F(BackEnds, UpdateKeepsWhatIsThere) {
  for (const auto* entry : available_back_ends()) {
    SCOPED_TRACE(entry->name);
    const auto name = std::string(entry->name) + "_update";
    const auto r = comm.rank();
    const std::vector<FileRun> first{{r * 100, 100}}, second{{r * 100 + 10, 20}};
    Bytes ones(100, std::byte{1}), twos(20, std::byte{2}), back(100);
    create(*entry, name);
    auto file = open(*entry, name, FileAccess::write, comm);
    file->write_part(FilePart::runs(first), ones.data());
    file->close();
    MPI_Barrier(comm.raw());
    file = open(*entry, name, FileAccess::update, comm);
    file->write_part(FilePart::runs(second), twos.data());
    file->read_part(FilePart::runs(first), back.data());
    file->close();
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(back[i], i >= 10 && i < 30 ? std::byte{2} : std::byte{1});
    }
  }
}

TEST_F(BackEnds, TheTableNamesThem) {
  EXPECT_EQ(back_end_table().front().name, "posix");
  EXPECT_EQ(file_back_ends().size(), back_end_table().size());
  EXPECT_TRUE(file_back_ends()[0].available);
  try {
    find_back_end("posics");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input);
    EXPECT_NE(std::string(error.what()).find("posix, uring"), std::string::npos);
  }
}

}  // namespace
}  // namespace tailrace::file
