// SPDX-License-Identifier: BSD-3-Clause
// Layouts of which each rank knows its own part.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/comm.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/layout.hpp"

namespace tailrace {
namespace {

class OwnBoxes : public ::testing::Test {
 protected:
  Comm comm_{MPI_COMM_WORLD};
  std::ptrdiff_t rank_ = comm_.rank(), num_ranks_ = comm_.num_ranks();

  /// What `make` throws, which must name `part` on all ranks.
  template <class Make>
  void expect_refused(const std::string& part, Make&& make) {
    try {
      make();
      ADD_FAILURE() << "nothing was refused for " << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
};

TEST_F(OwnBoxes, AllRanksKnowThePartsOfAll) {
  // Rows in the reverse order of ranks, the higher ones longer.
  std::ptrdiff_t start = 0, all = 0;
  for (std::ptrdiff_t r = 0; r < num_ranks_; ++r) {
    if (r > rank_) start += r + 1;
    all += r + 1;
  }
  const auto layout = own_box(comm_, {all, 5}, {start, 0}, {rank_ + 1, 5});
  EXPECT_EQ(layout.num_ranks(), num_ranks_);
  std::ptrdiff_t end = all;
  for (int r = 0; r < layout.num_ranks(); ++r) {
    end -= r + 1;
    EXPECT_EQ(layout.box(r), (Box{2, {end, 0}, {r + 1, 5}})) << r;
  }
  EXPECT_EQ(layout.box(comm_.rank()).start[0], start);
}

TEST_F(OwnBoxes, ServeAnExchange) {
  // Each rank holds a column of a plane and gets rows.
  const std::ptrdiff_t rows = 2 * num_ranks_ + 1, columns = num_ranks_;
  const auto to = slabs({rows, columns}, 0, comm_.num_ranks());
  const auto from = own_box(comm_, {rows, columns}, {0, rank_}, {rows, 1});
  std::vector<double> column, row(static_cast<std::size_t>(to.num_items(comm_.rank())), -1);
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    column.push_back(static_cast<double>(100 * i + rank_));
  }
  Exchange(comm_, from, to, {sizeof(double)}, "alltoallv").run(std::span(column), std::span(row));
  const auto box = to.box(comm_.rank());
  for (std::ptrdiff_t i = 0; i < box.extents[0]; ++i) {
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      EXPECT_EQ(row[static_cast<std::size_t>(i * columns + j)],
                static_cast<double>(100 * (box.start[0] + i) + j));
    }
  }
}

TEST_F(OwnBoxes, RanksMayHoldNothingOrSeveral) {
  const bool is_last = rank_ == num_ranks_ - 1;
  const auto one = own_box(comm_, {3, 4}, {3, 0}, {0, 4});
  for (int r = 0; r < one.num_ranks(); ++r) {
    EXPECT_TRUE(one.boxes(r).empty());
    EXPECT_EQ(one.box(r).num_items(), 0);
    EXPECT_EQ(one.box(r).num_dims, 2);
  }
  std::vector<Box> own;
  if (is_last) own = {{2, {0, 0}, {1, 4}}, {2, {2, 1}, {1, 2}}};
  const auto several = own_boxes(comm_, {3, 4}, own);
  EXPECT_EQ(several.num_items(comm_.num_ranks() - 1), 6);
  expect_refused("holds 2 boxes", [&] { several.box(comm_.num_ranks() - 1); });
  if (num_ranks_ > 1) {
    EXPECT_EQ(several.num_items(0), 0);
  }
}

TEST_F(OwnBoxes, WhatOneRankGetsWrongIsRefusedOnAll) {
  const bool is_last = rank_ == num_ranks_ - 1;
  const auto last = "rank " + std::to_string(num_ranks_ - 1);
  expect_refused(last, [&] { own_box(comm_, {4, 4}, {0, 0}, {4, is_last ? 5 : 4}); });
  expect_refused(last, [&] { own_box(comm_, {4, 4}, {0, is_last ? -1 : 0}, {4, 4}); });
  expect_refused("count", [&] { own_box(comm_, {4, 4}, {0, 0}, {4, is_last ? -4 : 4}); });
  expect_refused("axes", [&] {
    const std::vector<std::ptrdiff_t> start(is_last ? 3 : 2, 0);
    own_box(comm_, {4, 4}, start, {4, 4});
  });
  if (num_ranks_ == 1) return;
  expect_refused("extents", [&] { own_box(comm_, {4, is_last ? 5 : 4}, {0, 0}, {4, 4}); });
  expect_refused("is not inside", [&] {
    own_boxes(comm_, {4, 4}, is_last ? std::vector<Box>{{1, {0}, {4}}} : std::vector<Box>{});
  });
}

}  // namespace
}  // namespace tailrace
