// SPDX-License-Identifier: BSD-3-Clause
// Every kind of copy, by every set of instructions that this processor has, against the plain one.
#include "move/copy_kinds.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "move/strided_copy.hpp"
#include "random_problems.hpp"

namespace tailrace {
namespace {

/// Rows and columns of items between two memories whose rows have gaps, and which begin anywhere.
struct Case {
  std::ptrdiff_t item_bytes, rows, columns;
  std::ptrdiff_t from_gap, to_gap;      ///< items between the end of a row and the next one
  std::ptrdiff_t from_start, to_start;  ///< bytes from a line's begin
  bool turned;

  StridedCopy copy() const {
    const Box box{2, {0, 0}, {rows, columns}};
    const StridedSide from{0, {columns + from_gap, 1}};
    const StridedSide to{0, turned ? Index{1, rows + to_gap} : Index{columns + to_gap, 1}};
    return {box, from, to, item_bytes};
  }
  std::ptrdiff_t from_bytes() const { return rows * (columns + from_gap) * item_bytes; }
  std::ptrdiff_t to_bytes() const {
    return (turned ? columns * (rows + to_gap) : rows * (columns + to_gap)) * item_bytes;
  }
  std::string describe() const {
    return fmt::format("{} x {} items of {} bytes, gaps {} and {}, from byte {} to byte {}, {}",
                       rows, columns, item_bytes, from_gap, to_gap, from_start, to_start,
                       turned ? "turned" : "kept");
  }
};

constexpr std::ptrdiff_t guard_bytes = 192;

/// `bytes` from `start` of a line on, between guards.
class Guarded {
 public:
  Guarded(std::ptrdiff_t bytes, std::ptrdiff_t start)
      : all_(static_cast<std::size_t>(bytes + 2 * guard_bytes + 128), std::byte{0xEE}) {
    const auto at = reinterpret_cast<std::uintptr_t>(all_.data()) % 64;
    first_ = guard_bytes + static_cast<std::ptrdiff_t>((64 - at) % 64) + start % 64;
  }
  std::byte* data() { return all_.data() + first_; }
  /// All of it from the first guard on, wherever the memory itself begins.
  bool equals(const Guarded& other) const {
    const auto bytes = std::min(all_.size() - static_cast<std::size_t>(first_),
                                other.all_.size() - static_cast<std::size_t>(other.first_));
    return std::memcmp(all_.data() + first_ - guard_bytes,
                       other.all_.data() + other.first_ - guard_bytes,
                       bytes + static_cast<std::size_t>(guard_bytes)) == 0;
  }

 private:
  std::vector<std::byte> all_;
  std::ptrdiff_t first_ = 0;
};

void check(const Case& one, Dice& dice) {
  Guarded source(one.from_bytes(), one.from_start);
  for (std::ptrdiff_t i = 0; i < one.from_bytes(); ++i) {
    source.data()[i] = static_cast<std::byte>(dice.bits());
  }
  Guarded expected(one.to_bytes(), one.to_start);
  one.copy().run(source.data(), expected.data());
  for (const auto& kind : copy_kinds()) {
    for (const auto* loops : copy_loops()) {
      Guarded found(one.to_bytes(), one.to_start);
      auto copy = one.copy();
      copy.use(kind, *loops);
      copy.run(source.data(), found.data());
      EXPECT_TRUE(found.equals(expected))
          << kind.name << " by " << loops->instructions << ": " << one.describe();
    }
  }
}

TEST(CopyKinds, GiveWhatThePlainOneGives) {
  Dice dice(20261123);
  for (std::ptrdiff_t bytes = 1; bytes <= 64; ++bytes) {
    for (int i = 0; i < 8; ++i) {
      const auto extent = [&] {
        return dice.chance(30) ? dice.one_of(std::array{1, 63, 64, 65, 128, 255, 256, 257, 520})
                               : dice.between(1, 150);
      };
      const auto gap = [&] { return dice.chance(50) ? 0 : dice.between(0, 70); };
      const auto start = [&] { return dice.chance(30) ? 0 : dice.below(64); };
      check({bytes, extent(), extent(), gap(), gap(), start(), start(), dice.chance(80)}, dice);
    }
  }
}

// Runs of one piece, around the lengths where lines begin to be written whole.
TEST(CopyKinds, RunsOfAnyLength) {
  Dice dice(7);
  for (std::ptrdiff_t length = 1; length <= 520; ++length) {
    check({1, 3, length, dice.below(3), dice.below(3), dice.below(64), dice.below(64), false},
          dice);
  }
  check({1, 1, (1 << 20) + 77, 0, 0, 5, 9, false}, dice);
}

TEST(CopyKinds, FirstIsThePlainOne) {
  EXPECT_EQ(copy_kinds().front().stores, Stores::ordinary);
  EXPECT_EQ(find_copy_kind("ordinary"), &copy_kinds().front());
  EXPECT_EQ(find_copy_kind("no such kind"), nullptr);
  ASSERT_FALSE(copy_loops().empty());
  EXPECT_EQ(copy_loops().back(), &copy_loops_portable);
}

// A sample is the same copy of fewer items, from the first byte that it touches on.
TEST(CopyKinds, Samples) {
  const Box box{3, {0, 0, 0}, {40, 30, 20}};
  const StridedCopy whole(box, {24000, {-600, 20, 1}}, {7, {1, 40, 1200}}, 8);
  const auto part = whole.sample(50'000);
  EXPECT_LE(part.num_bytes(), 50'000);
  EXPECT_GT(part.num_bytes(), 25'000);
  const auto [from_bytes, to_bytes] = part.reach();
  std::vector<std::byte> from(static_cast<std::size_t>(from_bytes), std::byte{1});
  std::vector<std::byte> to(static_cast<std::size_t>(to_bytes), std::byte{0});
  part.run(from.data(), to.data());
  EXPECT_EQ(std::ranges::count(to, std::byte{1}), part.num_bytes());
  EXPECT_EQ(to.front(), std::byte{1});
  EXPECT_EQ(to.back(), std::byte{1});
}

}  // namespace
}  // namespace tailrace
