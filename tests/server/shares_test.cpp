// SPDX-License-Identifier: BSD-3-Clause
// The shares that servers have of an array.
#include <gtest/gtest.h>

#include "server/packet.hpp"
#include "store/write_plan.hpp"

namespace tailrace::server {
namespace {

constexpr std::ptrdiff_t stripe = 1 << 20;

std::vector<Range> shares(const Index& extents, int num_dims, ItemType type, int num_servers) {
  std::vector<Range> all;
  for (int server = 0; server < num_servers; ++server) {
    all.push_back(
        store::share_of_writer(extents, num_dims, item_bytes(type), stripe, server, num_servers));
  }
  return all;
}

TEST(Shares, FollowEachOtherAndAreAboutEqual) {
  for (const std::ptrdiff_t rows : {0, 1, 5, 64, 129, 1000}) {
    for (const std::ptrdiff_t columns : {1, 7, 1000, 1 << 15, 1 << 18}) {
      for (const int num_servers : {1, 2, 3, 7}) {
        std::ptrdiff_t end = 0;
        std::ptrdiff_t most = 0;
        for (const auto& share : shares({rows, columns}, 2, ItemType::float64, num_servers)) {
          EXPECT_EQ(share.start, end);
          end = share.end();
          most = std::max(most, share.count);
        }
        EXPECT_EQ(end, rows);
        EXPECT_LE(most * num_servers, rows + rows / 2 + num_servers) << rows << " x " << columns;
      }
    }
  }
}

TEST(Shares, BeginAtStripesWhereWholeRowsDo) {
  // A stripe is 4 rows of float32, 2 of float64.
  for (const auto type : {ItemType::float32, ItemType::float64}) {
    for (const auto& share : shares({130, 256, 256}, 3, type, 3)) {
      EXPECT_EQ(share.start * 256 * 256 * item_bytes(type) % stripe, 0) << share.start;
    }
  }
}

TEST(Shares, OfLoweredStepsAreThoseOfTheOthers) {
  const auto full = shares({200, 64, 64}, 3, ItemType::float64, 3);
  const auto lowered = shares({200, 64, 64}, 3, ItemType::float32, 3);
  for (std::size_t s = 0; s < full.size(); ++s) EXPECT_EQ(full[s].start, lowered[s].start);
}

TEST(Shares, FollowTheHint) {
  OutputOptions options;
  EXPECT_EQ(stripe_of_shares(options), stripe);
  options.stripe_bytes = 1 << 16;
  EXPECT_EQ(stripe_of_shares(options), 1 << 16);
  options.hints = {{"striping_unit", "4M"}};
  EXPECT_EQ(stripe_of_shares(options), 4 << 20);
}

}  // namespace
}  // namespace tailrace::server
