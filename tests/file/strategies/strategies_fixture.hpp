// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "file/back_end.hpp"
#include "file/strategy.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace::strategies_test {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

inline std::byte content(std::ptrdiff_t offset) {
  return static_cast<std::byte>((offset * 2654435761 >> 7) ^ offset);
}

/// A part of each rank, by runs of the file.
struct Pattern {
  std::string name;
  std::vector<std::vector<FileRun>> ranks;
};

// Deals stretches of the file to the ranks in turn; `gap` bytes between them belong to nobody.
inline Pattern dealt(std::string name, int num_ranks, std::ptrdiff_t start, std::ptrdiff_t bytes,
                     std::ptrdiff_t gap, int count) {
  Pattern pattern{std::move(name),
                  std::vector<std::vector<FileRun>>(static_cast<std::size_t>(num_ranks))};
  for (int i = 0; i < count; ++i) {
    pattern.ranks[static_cast<std::size_t>(i % num_ranks)].push_back(
        {start + i * (bytes + gap), bytes});
  }
  return pattern;
}

inline Pattern ragged(int num_ranks) {
  Pattern pattern{"ragged", std::vector<std::vector<FileRun>>(static_cast<std::size_t>(num_ranks))};
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

inline std::vector<Pattern> patterns(int num_ranks) {
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

inline Bytes contents_of(const std::vector<FileRun>& runs) {
  Bytes data;
  for (const auto& run : runs) {
    for (auto at = run.offset; at < run.end(); ++at) data.push_back(content(at));
  }
  return data;
}

struct Variant {
  Hints hints;
  std::string name;
};

inline void add_variant(std::vector<Variant>& all, Hints hints) {
  std::string name;
  for (const auto& [key, value] : hints.pairs()) name += fmt::format("{}={} ", key, value);
  all.push_back({std::move(hints), std::move(name)});
}

// Two-phase I/O with small buffers, so that there are many rounds.
inline void add_two_phase_variants(std::vector<Variant>& all) {
  for (const char* exchange : {"node", "messages"}) {
    for (const char* align : {"0", "1", "2"}) {
      for (const char* writers : {"1", "2", "3"}) {
        add_variant(all, {{"strategy", "collective"},
                          {"cb_exchange", exchange},
                          {"cb_align", align},
                          {"cb_nodes", writers},
                          {"cb_buffer_size", "16384"},
                          {"striping_unit", "8192"}});
      }
    }
    for (const char* size : {"1", "2", "3"}) {
      add_variant(all, {{"strategy", "grouped"},
                        {"cb_exchange", exchange},
                        {"group_size", size},
                        {"cb_buffer_size", "12288"}});
    }
  }
}

/// Every strategy on every back end, and two-phase I/O in every form.
inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const auto& back_end : file::back_end_table()) {
    if (!back_end.available()) continue;
    for (const auto& strategy : file::strategy_table()) {
      if (!strategy.applies(back_end)) continue;
      add_variant(all, {{"back_end", std::string(back_end.hint())},
                        {"strategy", std::string(strategy.name)}});
    }
  }
  add_two_phase_variants(all);
  // Long and short pieces in one request; none, or all of them, short.
  for (const char* limit : {"0", "1500", "1G"}) {
    add_variant(all, {{"strategy", "by_length"},
                      {"cb_longest_piece", limit},
                      {"cb_buffer_size", "16384"},
                      {"striping_unit", "8192"}});
  }
  // Two-phase I/O with writes that go on in the background while the next buffer is filled.
  if (file::find_back_end("uring").available()) {
    add_variant(all, {{"back_end", "uring"},
                      {"strategy", "collective"},
                      {"cb_nodes", "2"},
                      {"cb_buffer_size", "16384"},
                      {"striping_unit", "8192"}});
  }
  add_variant(all, {});
  return all;
}

/// A pool, and a folder that all ranks share.
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

}  // namespace tailrace::strategies_test
