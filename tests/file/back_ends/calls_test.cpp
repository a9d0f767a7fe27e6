// SPDX-License-Identifier: BSD-3-Clause
// How segments are cut into system calls and windows: plain functions.
#include "file/back_ends/posix.hpp"

#include <climits>
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "file/back_ends/sieve.hpp"

namespace tailrace::file {
namespace {

struct Seen {
  std::ptrdiff_t offset, bytes;
  std::size_t pieces;
  bool direct;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> calls_of(std::span<const Segment> segments, const std::byte* memory,
                           const CallLimits& limits = {}) {
  std::vector<Seen> seen;
  Calls calls(segments, memory, limits);
  for (Call call; calls.next(call);) {
    std::ptrdiff_t bytes = 0;
    for (const auto& piece : call.pieces) bytes += static_cast<std::ptrdiff_t>(piece.iov_len);
    EXPECT_EQ(bytes, call.bytes);
    seen.push_back({call.offset, call.bytes, call.pieces.size(), call.direct});
  }
  return seen;
}

TEST(Calls, NeighboursInTheFileShareACall) {
  std::vector<std::byte> memory(1000);
  const std::vector<Segment> segments{{0, 500, 10}, {10, 510, 5}, {15, 0, 5},
                                      {20, 0, 0},   {20, 600, 1}, {30, 700, 4}};
  EXPECT_EQ(calls_of(segments, memory.data()),
            (std::vector<Seen>{{0, 21, 3, false}, {30, 4, 1, false}}));
  EXPECT_TRUE(calls_of({}, memory.data()).empty());
}

TEST(Calls, AreSplitAtTheLimitsOfTheKernel) {
  std::vector<std::byte> memory(2 * (IOV_MAX + 6));
  std::vector<Segment> segments;
  for (int i = 0; i < IOV_MAX + 6; ++i) segments.push_back({i, 2 * i, 1});
  EXPECT_EQ(calls_of(segments, memory.data()),
            (std::vector<Seen>{{0, IOV_MAX, IOV_MAX, false}, {IOV_MAX, 6, 6, false}}));
  const std::vector<Segment> one{{90, 0, 120}};
  EXPECT_EQ(calls_of(one, memory.data(), {100, 100, 0}),
            (std::vector<Seen>{{90, 10, 1, false}, {100, 100, 1, false}, {200, 10, 1, false}}));
}

TEST(Calls, ThePageAlignedMiddleGoesAroundTheCache) {
  constexpr std::ptrdiff_t page = 4096;
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(page, 64 * page)), &std::free);
  const CallLimits limits{1 << 20, 8 * page, 4 * page};
  const std::vector<Segment> congruent{{100, 100, 20 * page}};
  EXPECT_EQ(calls_of(congruent, memory.get(), limits),
            (std::vector<Seen>{{100, page - 100, 1, false},
                               {page, 7 * page, 1, true},
                               {8 * page, 8 * page, 1, true},
                               {16 * page, 4 * page, 1, true},
                               {20 * page, 100, 1, false}}));
  const std::vector<Segment> shifted{{100, 101, 20 * page}};
  EXPECT_EQ(calls_of(shifted, memory.get(), limits),
            (std::vector<Seen>{{100, 20 * page, 1, false}}));
  // The few bytes before it go with the neighbour on the left.
  const std::vector<Segment> two{{0, 40 * page, 100}, {100, 100, 5 * page}};
  EXPECT_EQ(calls_of(two, memory.get(), limits),
            (std::vector<Seen>{
                {0, page, 2, false}, {page, 4 * page, 1, true}, {5 * page, 100, 1, false}}));
}

TEST(SieveWindow, EndsWhereBufferDensityOrDistanceSay) {
  std::vector<Segment> comb;
  for (int i = 0; i < 10; ++i) comb.push_back({i * 100, i * 10, 10});
  const auto all = first_window(comb, 1000, 0, 1000);
  EXPECT_EQ(all.segments, 10U);
  EXPECT_EQ(all.wanted_bytes, 100);
  EXPECT_EQ(all.span_bytes, 910);
  EXPECT_TRUE(all.has_holes());
  EXPECT_EQ(first_window(comb, 500, 0, 1000).segments, 5U);
  EXPECT_EQ(first_window(comb, 1000, 0.5, 1000).segments, 1U);
  EXPECT_FALSE(first_window(comb, 1000, 0.5, 1000).has_holes());
  EXPECT_EQ(first_window(comb, 1000, 0.105, 1000).segments, 10U);
  EXPECT_EQ(first_window(comb, 1000, 0, 50).segments, 1U) << "a call costs less than the way";
  EXPECT_EQ(first_window(comb, 1000, 0, 91).segments, 10U);
  const std::vector<Segment> whole{{0, 0, 1000}, {1000, 5000, 1000}, {2000, 0, 10}, {2020, 0, 9}};
  EXPECT_EQ(first_window(whole, 100, 1, 10).segments, 3U) << "nothing is between";
  EXPECT_EQ(first_window(whole, 100, 1, 10).span_bytes, 2010);
  const std::vector<Segment> clusters{{0, 0, 10}, {12, 12, 10}, {5000, 50, 10}, {5012, 60, 10}};
  EXPECT_EQ(first_window(clusters, 10000, 0.1, 1000).segments, 2U);
}

}  // namespace
}  // namespace tailrace::file
