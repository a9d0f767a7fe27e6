// SPDX-License-Identifier: BSD-3-Clause
// Every byte has one place; writers meet where the alignment says.
#include "file/strategies/domains.hpp"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tailrace::file {
namespace {

struct Case {
  FileRun range;
  int writers;
  Alignment alignment;
  std::ptrdiff_t stripe;
  std::ptrdiff_t buffer;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  std::mt19937_64 random(1);
  for (const auto alignment : {Alignment::even, Alignment::stripe, Alignment::owner}) {
    for (int i = 0; i < 60; ++i) {
      const auto stripe = static_cast<std::ptrdiff_t>(1 + random() % 40) * 512;
      const auto wanted = static_cast<std::ptrdiff_t>(1 + random() % 10) * 4096;
      all.push_back({{static_cast<std::ptrdiff_t>(random() % 200000),
                      static_cast<std::ptrdiff_t>(1 + random() % 300000)},
                     static_cast<int>(1 + random() % 5),
                     alignment,
                     stripe,
                     buffer_for(wanted, alignment, stripe)});
    }
  }
  return all;
}

TEST(Domains, WindowsCoverTheRangeOnceAndLocateFindsThem) {
  for (const auto& c : cases()) {
    const Domains domains(c.range, c.writers, c.alignment, c.stripe, c.buffer);
    std::map<std::ptrdiff_t, std::ptrdiff_t> pieces;  // start -> end
    for (int w = 0; w < c.writers; ++w) {
      for (std::ptrdiff_t round = 0; round < domains.num_rounds(); ++round) {
        for (const auto& piece : domains.window(w, round)) {
          ASSERT_GT(piece.bytes, 0);
          ASSERT_GE(piece.memory_offset, 0);
          ASSERT_LE(piece.memory_offset + piece.bytes, c.buffer);
          ASSERT_TRUE(pieces.emplace(piece.file_offset, piece.file_end()).second);
          for (const auto inside : {std::ptrdiff_t{0}, piece.bytes / 2, piece.bytes - 1}) {
            const auto place = domains.locate(piece.file_offset + inside);
            ASSERT_EQ(place.writer, w);
            ASSERT_EQ(place.round, round);
            ASSERT_EQ(place.buffer_offset, piece.memory_offset + inside);
            ASSERT_EQ(place.bytes, piece.bytes - inside);
          }
        }
      }
    }
    auto at = c.range.offset;
    for (const auto& [start, end] : pieces) {
      ASSERT_EQ(start, at);
      at = end;
    }
    ASSERT_EQ(at, c.range.end());
  }
}

TEST(Domains, NoStripeHasTwoWritersUnlessSharesAreEven) {
  bool even_shares_a_stripe = false;
  for (const auto& c : cases()) {
    const Domains domains(c.range, c.writers, c.alignment, c.stripe, c.buffer);
    std::map<std::ptrdiff_t, std::set<int>> writers_of;
    for (auto byte = c.range.offset; byte < c.range.end(); byte += 128) {
      writers_of[byte / c.stripe].insert(domains.locate(byte).writer);
    }
    for (const auto& [stripe, writers] : writers_of) {
      if (c.alignment == Alignment::even) {
        even_shares_a_stripe = even_shares_a_stripe || writers.size() > 1;
      } else {
        ASSERT_EQ(writers.size(), 1U);
      }
      if (c.alignment == Alignment::owner) {
        ASSERT_EQ(*writers.begin(), stripe % c.writers);
      }
    }
  }
  EXPECT_TRUE(even_shares_a_stripe);  // or the test above shows nothing
}

TEST(Domains, OwnersDoNotDependOnTheRange) {
  const Domains whole({0, 1 << 20}, 3, Alignment::owner, 4096, 65536);
  const Domains later({300000, 5000}, 3, Alignment::owner, 4096, 65536);
  for (std::ptrdiff_t byte = 300000; byte < 305000; byte += 50) {
    EXPECT_EQ(whole.locate(byte).writer, later.locate(byte).writer);
  }
}

TEST(Domains, EmptyRangeHasNoRounds) {
  for (const auto alignment : {Alignment::even, Alignment::stripe, Alignment::owner}) {
    EXPECT_EQ(Domains({}, 4, alignment, 4096, 4096).num_rounds(), 0);
  }
}

TEST(Domains, OffsetsBeyond32Bits) {
  const std::ptrdiff_t far = std::ptrdiff_t{1} << 40;
  const Domains domains({far + 5, 100}, 2, Alignment::stripe, 1 << 20, 4 << 20);
  EXPECT_EQ(domains.locate(far + 5).writer, 0);
  EXPECT_EQ(domains.locate(far + 104).bytes, 1);
  EXPECT_EQ(domains.window(0, 0).at(0).file_offset, far + 5);
}

}  // namespace
}  // namespace tailrace::file
