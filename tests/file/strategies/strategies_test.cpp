// SPDX-License-Identifier: BSD-3-Clause
// Every strategy on every back end, and however data is shared out and moved, writes the
// same bytes and reads them back on another distribution.
#include <fstream>
#include <iterator>

#include "file/strategies/strategies_fixture.hpp"

namespace tailrace::strategies_test {
namespace {

// The bytes of a shared file of one of our own kinds.
Bytes slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
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
    for (const auto& variant : variants()) {
      SCOPED_TRACE(pattern.name + ": " + variant.name);
      const std::string path = folder / fmt::format("file{}", number++);
      ASSERT_NO_THROW(write(path, variant.hints, pattern));
      const bool plain = variant.name.find("hdf5") == std::string::npos;
      if (plain && comm.rank() == 0) {
        EXPECT_TRUE(slurp(path) == expected);
      }
      ASSERT_NO_THROW(check_read(path, variant.hints, pattern, 1));
      if (plain) {
        ASSERT_NO_THROW(check_read(path, {}, pattern, 0));
      }
    }
  }
}

TEST_F(Strategies, BoxesOfAnArrayOnEveryVariant) {
  const std::vector<std::ptrdiff_t> extents{13, 11, 17};
  const std::vector<int> grid_out{comm.num_ranks(), 1, 1}, grid_in{1, 1, comm.num_ranks()};
  const auto out = blocks(extents, grid_out);
  const auto in = blocks(extents, grid_in);
  const FileArray array{64, extents, 8};
  const std::vector<int> order{1, 0, 2}, turned{2, 0, 1};
  const std::vector<std::ptrdiff_t> halo{1, 2, 1};
  int number = 0;
  for (const auto& variant : variants()) {
    SCOPED_TRACE(variant.name);
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
    File file(pool, path, FileAccess::write, variant.hints);
    file.write(part, data.data());
    file.write(part, data.data());  // by the plan of the first
    file.close();
    auto [part_in, data_in] = make(in, turned, false);
    const auto [unused, expected] = make(in, turned, true);
    File again(pool, path, FileAccess::read, variant.hints);
    again.read(part_in, data_in.data());
    again.close();
    EXPECT_TRUE(data_in == expected);
  }
}

TEST_F(Strategies, EveryRankReadsTheWhole) {
  const std::string path = folder / "index";
  const auto all = dealt("whole", 1, 0, 300001, 0, 1);
  Pattern by_first{"",
                   std::vector<std::vector<FileRun>>(static_cast<std::size_t>(comm.num_ranks()))};
  by_first.ranks[0] = all.ranks[0];
  write(path, {}, by_first);
  const Pattern by_all{"", std::vector(static_cast<std::size_t>(comm.num_ranks()), all.ranks[0])};
  for (const auto& variant : variants()) {
    if (variant.name.find("hdf5") != std::string::npos) continue;
    SCOPED_TRACE(variant.name);
    ASSERT_NO_THROW(check_read(path, variant.hints, by_all, 0));
  }
}

// Buffers large enough for direct writes, which end in any order, and more rounds than buffers: one
// that is filled again too early shows as wrong bytes.
TEST_F(Strategies, BuffersAreFilledAgainOnlyWhenTheyAreWritten) {
  const auto pattern = dealt("", comm.num_ranks(), 0, 10000, 0, 2000);
  const auto& runs = pattern.ranks[static_cast<std::size_t>(comm.rank())];
  const auto data = contents_of(runs);
  const auto part = FilePart::runs(runs);  // used again: the second write has its plan
  for (const auto& back_end : file::back_end_table()) {
    if (!back_end.available() || back_end.name == "hdf5") continue;
    for (int repeat = 0; repeat < 4; ++repeat) {
      SCOPED_TRACE(fmt::format("{} {}", back_end.name, repeat));
      const std::string path = folder / fmt::format("rounds_{}_{}", back_end.name, repeat);
      File file(pool, path, FileAccess::write,
                {{"back_end", std::string(back_end.hint())},
                 {"strategy", "collective"},
                 {"cb_nodes", "2"},
                 {"cb_buffer_size", "512K"},
                 {"direct_io", "true"}});
      file.write(part, data.data());
      file.close();
      ASSERT_NO_THROW(check_read(path, {}, pattern, 0));
    }
  }
}

TEST_F(Strategies, OnlyWritersOpenAndWritesAreAsPlanned) {
  const auto pattern = dealt("", comm.num_ranks(), 0, 10000, 0, 64);
  const auto& runs = pattern.ranks[static_cast<std::size_t>(comm.rank())];
  const auto data = contents_of(runs);
  for (const int writers : {1, 2}) {
    if (writers > comm.num_ranks()) continue;
    // The last ranks, so that a choice of ranks is seen to count.
    const int last = comm.num_ranks() - 1;
    const auto ranks =
        writers == 1 ? fmt::format("{}", last) : fmt::format("{}+{}", last - 1, last);
    File file(pool, folder / "counted", FileAccess::write,
              {{"strategy", "collective"},
               {"cb_ranks", ranks},
               {"cb_buffer_size", "65536"},
               {"striping_unit", "65536"},
               {"direct_io", "false"}});
    file.write(FilePart::runs(runs), data.data());
    file.close();
    const auto total = file.total_statistics();
    EXPECT_EQ(total.opens, writers);
    EXPECT_EQ(file.statistics().opens, comm.rank() > last - writers ? 1 : 0);
    EXPECT_EQ(total.writes, (640000 + 65535) / 65536);
    EXPECT_EQ(total.bytes_written, 640000);
    EXPECT_EQ(total.bytes_read, 0);
  }
}

// Pieces of 1000 and 5000 bytes in turn, each rank a stretch of them: the long ones are a call each
// of the rank that has them, the short ones go through the last rank.
TEST_F(Strategies, RanksMoveTheirLongPiecesThemselves) {
  constexpr std::ptrdiff_t short_bytes = 1000, long_bytes = 5000, both = short_bytes + long_bytes;
  constexpr int pairs = 6;
  const int ranks = comm.num_ranks();
  const auto part_of = [&](int rank, bool shorts, bool longs) {
    std::vector<FileRun> runs;
    for (int i = 0; i < pairs; ++i) {
      const auto at = (rank * pairs + i) * both;
      if (shorts) runs.push_back({at, short_bytes});
      if (longs) runs.push_back({at + short_bytes, long_bytes});
    }
    return runs;
  };
  const Hints hints{{"direct_io", "false"},
                    {"cb_longest_piece", "4999"},
                    {"romio_ds_read", "disable"},
                    {"cb_ranks", fmt::format("{}", ranks - 1)},
                    {"cb_buffer_size", "1M"}};
  const std::string path = folder / "by_length";
  for (const auto& [shorts, longs] : {std::pair(true, true), {true, false}, {false, true}}) {
    SCOPED_TRACE(fmt::format("short {} long {}", shorts, longs));
    const auto runs = part_of(comm.rank(), shorts, longs);
    const auto data = contents_of(runs);
    // Both pieces of a pair are neighbours in memory and in the file: one piece, if nothing is left
    // out between.
    const auto part = FilePart::runs(runs);
    const auto num_long = shorts && longs ? 1 : longs ? pairs : 0;
    File file(pool, path, FileAccess::write, hints);
    file.write(part, data.data());
    file.write(part, data.data());  // by the plan of the first
    const auto& lines = file.settings();
    const auto strategy = std::ranges::find(lines, "strategy", &HintValue::name);
    ASSERT_NE(strategy, lines.end());
    EXPECT_EQ(strategy->value, "by_length");
    file.close();
    const bool is_writer = comm.rank() == ranks - 1;
    EXPECT_EQ(file.statistics().bytes_written, 2 * (longs       ? part.bytes()
                                                    : is_writer ? ranks * part.bytes()
                                                                : 0));
    if (!is_writer) {
      EXPECT_EQ(file.statistics().writes, 2 * num_long);
    }
    EXPECT_EQ(file.statistics().opens, (num_long > 0 ? 1 : 0) + (num_long == 0 && is_writer));
    Bytes back(data.size());
    File again(pool, path, FileAccess::read, hints);
    again.read(part, back.data());
    again.close();
    EXPECT_TRUE(back == data);
    EXPECT_EQ(again.statistics().bytes_read, longs       ? part.bytes()
                                             : is_writer ? ranks * part.bytes()
                                                         : 0);
  }
}

// One request with both kinds, on every rank but the first, which has nothing.
TEST_F(Strategies, LongAndShortPiecesOfOneRequest) {
  if (comm.num_ranks() == 1) return;
  const int others = comm.num_ranks() - 1;
  const auto dealt_out = dealt("", others, 0, 1000, 3000, 20 * others);
  Pattern pattern{"", std::vector(1, std::vector<FileRun>{})};
  for (auto runs : dealt_out.ranks) {
    for (std::size_t i = 0; i < runs.size(); i += 2) runs[i].bytes = 2500;
    pattern.ranks.push_back(std::move(runs));
  }
  const Hints hints{{"strategy", "by_length"},
                    {"direct_io", "false"},
                    {"cb_longest_piece", "2000"},
                    {"cb_ranks", "0"}};
  const std::string path = folder / "mixed";
  const auto& runs = pattern.ranks[static_cast<std::size_t>(comm.rank())];
  const auto data = contents_of(runs);
  File file(pool, path, FileAccess::write, hints);
  file.write(FilePart::runs(runs), data.data());
  file.close();
  EXPECT_EQ(file.statistics().bytes_written, comm.rank() == 0 ? others * 10 * 1000 : 10 * 2500);
  EXPECT_EQ(file.statistics().opens, 1);
  ASSERT_NO_THROW(check_read(path, hints, pattern, 1));
  ASSERT_NO_THROW(check_read(path, {{"strategy", "collective"}}, pattern, 0));
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
              {{"strategy", "grouped"},
               {"group_size", fmt::format("{}", group)},
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

}  // namespace
}  // namespace tailrace::strategies_test
