// SPDX-License-Identifier: BSD-3-Clause
// Every strategy on every back end, with every way of sharing out and moving the data, writes the
// same bytes and reads them back on another distribution.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "file/back_end.hpp"
#include "file/strategy.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/file.hpp"

namespace tailrace {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

std::byte content(std::ptrdiff_t offset) {
  return static_cast<std::byte>((offset * 2654435761 >> 7) ^ offset);
}

/// A part of each rank, by runs of the file.
struct Pattern {
  std::string name;
  std::vector<std::vector<FileRun>> ranks;
};

// Deals stretches of the file to the ranks in turn; `gap` bytes between them belong to nobody.
Pattern dealt(std::string name, int num_ranks, std::ptrdiff_t start, std::ptrdiff_t bytes,
              std::ptrdiff_t gap, int count) {
  Pattern pattern{std::move(name), std::vector<std::vector<FileRun>>(
                                       static_cast<std::size_t>(num_ranks))};
  for (int i = 0; i < count; ++i) {
    pattern.ranks[static_cast<std::size_t>(i % num_ranks)].push_back(
        {start + i * (bytes + gap), bytes});
  }
  return pattern;
}

Pattern ragged(int num_ranks) {
  Pattern pattern{"ragged",
                  std::vector<std::vector<FileRun>>(static_cast<std::size_t>(num_ranks))};
  std::mt19937_64 random(7);
  std::ptrdiff_t at = 12345;
  for (int i = 0; i < 300; ++i) {
    const auto bytes = static_cast<std::ptrdiff_t>(random() % 3000);
    const auto rank = random() % static_cast<std::uint64_t>(num_ranks);
    pattern.ranks[rank].push_back({at, bytes});
    at += bytes + static_cast<std::ptrdiff_t>(random() % 3 == 0 ? random() % 5000 : 0);
  }
  return pattern;
}

std::vector<Pattern> patterns(int num_ranks) {
  std::vector<Pattern> all{
      dealt("interleaved", num_ranks, 0, 10000, 0, 61),
      dealt("holes", num_ranks, 77, 3000, 1500, 60),
      dealt("contiguous", num_ranks, 4096, 200000, 0, num_ranks),
      ragged(num_ranks),
      {"nobody", std::vector<std::vector<FileRun>>(static_cast<std::size_t>(num_ranks))},
  };
  Pattern one{"only the last rank",
              std::vector<std::vector<FileRun>>(static_cast<std::size_t>(num_ranks))};
  one.ranks.back() = {{5, 100000}};
  all.push_back(one);
  return all;
}

Bytes contents_of(const std::vector<FileRun>& runs) {
  Bytes data;
  for (const auto& run : runs) {
    for (auto at = run.offset; at < run.end(); ++at) data.push_back(content(at));
  }
  return data;
}

struct Way {
  Hints hints;
  std::string name;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  const auto add = [&](Hints hints) {
    std::string name;
    for (const auto& [key, value] : hints.pairs()) name += fmt::format("{}={} ", key, value);
    all.push_back({std::move(hints), std::move(name)});
  };
  for (const auto& back_end : file::back_end_table()) {
    if (!back_end.available()) continue;
    for (const auto& strategy : file::strategy_table()) {
      if (!strategy.applies(back_end)) continue;
      add({{"back_end", std::string(back_end.name)}, {"strategy", std::string(strategy.name)}});
    }
  }
  for (const char* exchange : {"node", "messages"}) {
    for (const char* align : {"0", "1", "2"}) {
      for (const char* writers : {"1", "2", "3"}) {
        add({{"strategy", "collective"},
             {"cb_exchange", exchange},
             {"cb_align", align},
             {"cb_nodes", writers},
             {"cb_buffer_size", "16384"},
             {"striping_unit", "8192"}});
      }
    }
    for (const char* size : {"1", "2", "3"}) {
      add({{"strategy", "grouped"},
           {"cb_exchange", exchange},
           {"group_size", size},
           {"cb_buffer_size", "12288"}});
    }
  }
  // The same with writes that go on in the background while the next buffer is filled.
  if (file::find_back_end("uring").available()) {
    add({{"back_end", "uring"},
         {"strategy", "collective"},
         {"cb_nodes", "2"},
         {"cb_buffer_size", "16384"},
         {"striping_unit", "8192"}});
  }
  add({});
  return all;
}

class Strategies : public ::testing::Test {
 protected:
  void SetUp() override {
    if (comm.rank() == 0) {
      folder = fs::temp_directory_path() / fmt::format("tailrace_strategies_{}", getpid());
      fs::create_directories(folder);
    }
    std::string text = folder.string();
    text.resize(500);
    MPI_Bcast(text.data(), 500, MPI_CHAR, 0, comm.raw());
    folder = text.c_str();
  }
  void TearDown() override {
    MPI_Barrier(comm.raw());
    if (comm.rank() == 0) fs::remove_all(folder);
  }
  void write(const std::string& path, const Hints& hints, const Pattern& pattern) {
    const auto& runs = pattern.ranks[static_cast<std::size_t>(comm.rank())];
    const auto data = contents_of(runs);
    File file(pool, path, FileAccess::write, hints);
    file.write(FilePart::runs(runs), data.data());
    file.close();
  }
  void check_read(const std::string& path, const Hints& hints, const Pattern& pattern, int shift) {
    const auto from = static_cast<std::size_t>((comm.rank() + shift) % comm.num_ranks());
    const auto& runs = pattern.ranks[from];
    const auto expected = contents_of(runs);
    Bytes data(expected.size(), std::byte{0});
    File file(pool, path, FileAccess::read, hints);
    file.read(FilePart::runs(runs), data.data());
    file.close();
    EXPECT_TRUE(data == expected);
  }

  Comm comm{MPI_COMM_WORLD};
  FilePool pool{comm};
  fs::path folder;
};

// The bytes of a shared file of one of our own kinds.
Bytes slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST_F(Strategies, AllWriteTheSameBytesAndReadThemBack) {
  const auto all = patterns(comm.num_ranks());
  int number = 0;
  for (const auto& pattern : all) {
    const std::string reference = folder / fmt::format("reference{}", number++);
    write(reference, {{"strategy", "spokesperson"}, {"back_end", "posix"}}, pattern);
    const auto expected = comm.rank() == 0 ? slurp(reference) : Bytes{};
    if (comm.rank() == 0) {
      for (const auto& runs : pattern.ranks) {
        for (const auto& run : runs) {
          for (auto at = run.offset; at < run.end(); ++at) {
            ASSERT_EQ(expected.at(static_cast<std::size_t>(at)), content(at));
          }
        }
      }
    }
    for (const auto& way : ways()) {
      SCOPED_TRACE(pattern.name + ": " + way.name);
      const std::string path = folder / fmt::format("file{}", number++);
      ASSERT_NO_THROW(write(path, way.hints, pattern));
      const bool plain = way.name.find("hdf5") == std::string::npos &&
                         way.name.find("file_per_rank") == std::string::npos;
      if (plain && comm.rank() == 0) {
        EXPECT_TRUE(slurp(path) == expected);
      }
      ASSERT_NO_THROW(check_read(path, way.hints, pattern, 1));
      if (plain) {
        ASSERT_NO_THROW(check_read(path, {}, pattern, 0));
      }
    }
  }
}

TEST_F(Strategies, BoxesOfAnArrayOnEveryWay) {
  const std::vector<std::ptrdiff_t> extents{13, 11, 17};
  const std::vector<int> grid_out{comm.num_ranks(), 1, 1}, grid_in{1, 1, comm.num_ranks()};
  const auto out = blocks(extents, grid_out);
  const auto in = blocks(extents, grid_in);
  const FileArray array{64, extents, 8};
  const std::vector<int> order{1, 0, 2}, turned{2, 0, 1};
  const std::vector<std::ptrdiff_t> halo{1, 2, 1};
  int number = 0;
  for (const auto& way : ways()) {
    SCOPED_TRACE(way.name);
    const std::string path = folder / fmt::format("array{}", number++);
    const auto make = [&](const Layout& layout, const std::vector<int>& axes, bool fill) {
      const auto boxes = layout.boxes(comm.rank());
      const auto memory = boxes.empty() ? Memory{} : Memory::ordered(boxes[0], axes, halo);
      std::vector<std::int64_t> data(static_cast<std::size_t>(memory.num_items), -1);
      if (!boxes.empty() && fill) {
        const auto& box = boxes[0];
        for (std::ptrdiff_t i = 0; i < box.num_items(); ++i) {
          const auto z = i / (box.extents[1] * box.extents[2]);
          const auto y = i / box.extents[2] % box.extents[1];
          const auto x = i % box.extents[2];
          const auto& strides = memory.boxes[0].strides;
          data[static_cast<std::size_t>(memory.boxes[0].offset + z * strides[0] + y * strides[1] +
                                        x * strides[2])] =
              ((box.start[0] + z) * 11 + box.start[1] + y) * 17 + box.start[2] + x;
        }
      }
      return std::tuple(FilePart::boxes(array, boxes, memory), data);
    };
    const auto [part, data] = make(out, order, true);
    File file(pool, path, FileAccess::write, way.hints);
    file.write(part, data.data());
    file.write(part, data.data());  // by the plan of the first
    file.close();
    auto [part_in, data_in] = make(in, turned, false);
    const auto [unused, expected] = make(in, turned, true);
    File again(pool, path, FileAccess::read, way.hints);
    again.read(part_in, data_in.data());
    again.close();
    EXPECT_TRUE(data_in == expected);
  }
}

TEST_F(Strategies, EveryRankReadsTheWhole) {
  const std::string path = folder / "index";
  const auto all = dealt("whole", 1, 0, 300001, 0, 1);
  Pattern by_first{"", std::vector<std::vector<FileRun>>(
                           static_cast<std::size_t>(comm.num_ranks()))};
  by_first.ranks[0] = all.ranks[0];
  write(path, {}, by_first);
  const Pattern by_all{"", std::vector(static_cast<std::size_t>(comm.num_ranks()), all.ranks[0])};
  for (const auto& way : ways()) {
    if (way.name.find("hdf5") != std::string::npos) continue;
    if (way.name.find("file_per_rank") != std::string::npos) continue;
    SCOPED_TRACE(way.name);
    ASSERT_NO_THROW(check_read(path, way.hints, by_all, 0));
  }
}

TEST_F(Strategies, OnlyWritersOpenAndWritesAreAsPlanned) {
  const auto pattern = dealt("", comm.num_ranks(), 0, 10000, 0, 64);
  const auto& runs = pattern.ranks[static_cast<std::size_t>(comm.rank())];
  const auto data = contents_of(runs);
  for (const int writers : {1, 2}) {
    if (writers > comm.num_ranks()) continue;
    File file(pool, folder / "counted", FileAccess::write,
              {{"strategy", "collective"},
               {"cb_nodes", fmt::format("{}", writers)},
               {"cb_buffer_size", "65536"},
               {"striping_unit", "65536"},
               {"direct_io", "false"}});
    file.write(FilePart::runs(runs), data.data());
    file.close();
    const auto total = file.total_statistics();
    EXPECT_EQ(total.opens, writers);
    EXPECT_EQ(total.writes, (640000 + 65535) / 65536);
    EXPECT_EQ(total.bytes_written, 640000);
    EXPECT_EQ(total.bytes_read, 0);
  }
}

TEST_F(Strategies, GroupedReadingCostsOncePerGroup) {
  const std::string path = folder / "grouped";
  const int ranks = comm.num_ranks();
  write(path, {}, dealt("", ranks, 0, 100000, 0, ranks));
  const auto size = static_cast<std::int64_t>(ranks) * 100000;
  const std::vector<FileRun> whole{{0, size}};
  Bytes data(static_cast<std::size_t>(size));
  for (int group = 1; group <= ranks; ++group) {
    File file(pool, path, FileAccess::read,
              {{"strategy", "grouped"}, {"group_size", fmt::format("{}", group)},
               {"cb_buffer_size", "1M"}});
    file.read(FilePart::runs(whole), data.data());
    file.close();
    const auto groups = (ranks + group - 1) / group;
    const auto total = file.total_statistics();
    EXPECT_EQ(total.opens, groups);
    EXPECT_EQ(total.reads, groups);
    EXPECT_EQ(total.bytes_read, groups * size);
  }
}

// Runs `action` on all ranks, which must all throw; the message of this rank.
template <class Action>
std::string failure(Errc code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// Lets no file of this process grow beyond `bytes` while it lives; writes then fail with EFBIG.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

// A device that fails on some ranks: the others learn the errno, nobody waits for ever, and the
// pool is good for the next file.
TEST_F(Strategies, FailedWritesAreOneErrorOnEveryRank) {
  const auto pattern = dealt("", comm.num_ranks(), 0, 10000, 0, 61);
  const auto& runs = pattern.ranks[static_cast<std::size_t>(comm.rank())];
  const auto data = contents_of(runs);
  int number = 0;
  for (const auto& way : ways()) {
    const bool standard = way.name.find("mpiio") != std::string::npos ||
                          way.name.find("hdf5") != std::string::npos;
    if (standard) continue;  // parallel HDF5 waits for ever, OMPIO tells of nothing
    SCOPED_TRACE(way.name);
    ASSERT_NO_THROW(write(folder / "before", way.hints, pattern));  // makes the pool's memory
    std::string message;
    {
      const std::string path = folder / fmt::format("failing{}", number++);
      const bool limited = comm.rank() == 0 || comm.rank() == comm.num_ranks() - 1;
      const SizeLimit limit(limited ? 9000 : RLIM_INFINITY);
      message = failure(Errc::io, [&] {
        File file(pool, path, FileAccess::write, way.hints);
        file.write(FilePart::runs(runs), data.data());
        file.close();
      });
    }
    EXPECT_NE(message.find("File too large (errno 27)"), std::string::npos) << message;
    EXPECT_NE(message.find("failing"), std::string::npos) << message;
    ASSERT_NO_THROW(write(folder / "after", way.hints, pattern));
    ASSERT_NO_THROW(check_read(folder / "after", way.hints, pattern, 1));
  }
}

TEST_F(Strategies, BadInputIsOneClearErrorOnEveryRank) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto open = [&](const Hints& hints) {
    File file(pool, folder / "bad", FileAccess::write, hints);
  };
  has(failure(Errc::invalid_input, [&] { open({{"strategy", "colective"}}); }), "collective");
  has(failure(Errc::invalid_input,
              [&] { open({{"strategy", "library_collective"}, {"back_end", "posix"}}); }),
      "mpiio");
  has(failure(Errc::io, [&] { File file(pool, folder / "none", FileAccess::read); }),
      "No such file");
  has(failure(Errc::io,
              [&] {
                File file(pool, folder / "no_folder" / "file", FileAccess::write,
                          {{"strategy", "collective"}});
              }),
      "no_folder");
  const std::string path = folder / "short";
  write(path, {}, dealt("", comm.num_ranks(), 0, 1000, 0, comm.num_ranks()));
  for (const char* strategy : {"spokesperson", "collective", "grouped", "shared_independent"}) {
    has(failure(Errc::corrupt,
                [&] {
                  Bytes data(2000);
                  const std::vector<FileRun> runs{{comm.num_ranks() * 1000 - 1000, 2000}};
                  File file(pool, path, FileAccess::read, {{"strategy", strategy}});
                  file.read(FilePart::runs(runs), data.data());
                }),
        "short");
  }
  if (comm.num_ranks() > 1) {
    has(failure(Errc::invalid_input,
                [&] {
                  Bytes data(2000);
                  const std::vector<FileRun> runs{{0, 2000}};
                  File file(pool, folder / "overlap", FileAccess::write,
                            {{"strategy", "collective"}});
                  file.write(FilePart::runs(runs), data.data());
                }),
        "overlap");
  }
}

}  // namespace
}  // namespace tailrace
