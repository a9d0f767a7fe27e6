// SPDX-License-Identifier: BSD-3-Clause
// Layouts of which each rank knows its own part.
#include <algorithm>
#include <array>
#include <span>
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

/// A communicator with a grid of ranks, whose numbers follow `MPI_Cart_create`.
Comm with_grid(std::vector<int> dims) {
  std::vector<int> periods(dims.size(), 0);
  MPI_Comm made = MPI_COMM_NULL;
  check_mpi(MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dims.size()), dims.data(),
                            periods.data(), 0, &made));
  Comm comm(made);
  check_mpi(MPI_Comm_free(&made));
  return comm;
}

/// On an even grid all parts have one size, so that only the indices show which rank holds which.
TEST_F(OwnBoxes, BlocksLieAtTheCoordinatesOfMpiCart) {
  const std::vector<int> dims =
      num_ranks_ == 4 ? std::vector<int>{2, 2} : std::vector<int>{comm_.num_ranks(), 1};
  const Comm cart = with_grid(dims);
  const std::ptrdiff_t rows = 2 * dims[0], columns = 2 * dims[1];
  const auto layout = cart_blocks(cart, {rows, columns});
  const auto turned = cart_blocks(cart, {columns, rows}, {1, 0});
  const auto numbered = blocks({rows, columns}, dims);
  const auto backwards = blocks({columns, rows}, std::array{dims[1], dims[0]}, {1, 0});
  const auto pencil = cart_blocks(cart, {rows, columns, 5}, {0, 1});
  const auto turned_pencil = pencils({columns, 5, rows}, 1, std::array{dims[1], dims[0]}, {1, 0});
  for (int r = 0; r < cart.num_ranks(); ++r) {
    std::array<int, 2> at{};
    MPI_Cart_coords(cart.raw(), r, 2, at.data());
    EXPECT_EQ(layout.box(r), (Box{2, {2 * at[0], 2 * at[1]}, {2, 2}})) << r;
    EXPECT_EQ(turned.box(r), (Box{2, {2 * at[1], 2 * at[0]}, {2, 2}})) << r;
    EXPECT_EQ(numbered.box(r), layout.box(r)) << r;
    EXPECT_EQ(backwards.box(r), turned.box(r)) << r;
    EXPECT_EQ(pencil.box(r), (Box{3, {2 * at[0], 2 * at[1], 0}, {2, 2, 5}})) << r;
    EXPECT_EQ(turned_pencil.box(r), (Box{3, {2 * at[1], 0, 2 * at[0]}, {2, 5, 2}})) << r;
    EXPECT_EQ(turned.ranks_touching(turned.box(r)), std::vector<int>{r});
    EXPECT_EQ(turned_pencil.ranks_touching(turned_pencil.box(r)), std::vector<int>{r});
  }
  // What `overlaps` finds is in the order of ranks, whatever their numbering.
  const auto all = turned.ranks_touching({2, {0, 0}, {columns, rows}});
  EXPECT_EQ(std::ssize(all), cart.num_ranks());
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

/// Data lands where MPI_Cart_coords says, not only boxes of the right size.
TEST_F(OwnBoxes, AnExchangeFillsTheBlocksOfMpiCart) {
  const std::vector<int> dims =
      num_ranks_ == 4 ? std::vector<int>{2, 2} : std::vector<int>{1, comm_.num_ranks()};
  const Comm cart = with_grid(dims);
  const std::ptrdiff_t rows = 4 * dims[0], columns = 4 * dims[1];
  const auto from = slabs({rows, columns}, 0, cart.num_ranks());
  std::vector<double> sent, got(16, -1);
  const auto slab = from.box(cart.rank());
  for (std::ptrdiff_t i = 0; i < slab.num_items(); ++i) {
    sent.push_back(static_cast<double>(slab.start[0] * columns + i));
  }
  Exchange(cart, from, cart_blocks(cart, {rows, columns}), {sizeof(double)}, "alltoallv")
      .run(std::span(sent), std::span(got));
  std::array<int, 2> at{};
  MPI_Cart_coords(cart.raw(), cart.rank(), 2, at.data());
  for (std::ptrdiff_t i = 0; i < 16; ++i) {
    const auto row = 4 * at[0] + i / 4, column = 4 * at[1] + i % 4;
    EXPECT_EQ(got[static_cast<std::size_t>(i)], static_cast<double>(row * columns + column));
  }
}

TEST_F(OwnBoxes, GridsThatDoNotFitAreRefused) {
  expect_refused("MPI_Cart_create makes one", [&] { cart_blocks(comm_, {4, 4}); });
  const Comm cart = with_grid({1, comm_.num_ranks()});
  expect_refused("axes [0, 1, 2]", [&] { cart_blocks(cart, {4, 4, 4}); });
  expect_refused("axes [0, 2]", [&] { cart_blocks(cart, {4, 4}, {0, 2}); });
  expect_refused("axes [1, 1]", [&] { cart_blocks(cart, {4, 4}, {1, 1}); });
  expect_refused("axes [0]", [&] { cart_blocks(cart, {4, 4}, {0}); });
  expect_refused("order [0, 0]", [&] { blocks({4, 4}, {2, 2}, {0, 0}); });
  expect_refused("order [0]", [&] { blocks({4, 4}, {2, 2}, {0}); });
  expect_refused("order [1, 2]", [&] { pencils({4, 4, 4}, 1, {2, 2}, {1, 2}); });
}

/// Parts may overlap where data arrives, and leave gaps; an item that leaves has one rank.
TEST_F(OwnBoxes, OverlapsAreForDestinations) {
  const auto rows = slabs({num_ranks_ + 1, 3}, 0, comm_.num_ranks());
  const auto pairs = own_box(comm_, {num_ranks_ + 1, 3}, {rank_, 0}, {2, 2});
  const auto slab = rows.box(comm_.rank());
  std::vector<double> sent, got(4, -1);
  for (std::ptrdiff_t i = 0; i < slab.num_items(); ++i) {
    sent.push_back(static_cast<double>(10 * (slab.start[0] + i / 3) + i % 3));
  }
  Exchange(comm_, rows, pairs, {sizeof(double)}, "alltoallv").run(std::span(sent), std::span(got));
  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)], static_cast<double>(10 * (rank_ + i / 2) + i % 2));
  }
  if (num_ranks_ == 1) return;
  expect_refused("each item must have one source",
                 [&] { Exchange(comm_, pairs, rows, {sizeof(double)}, "alltoallv"); });
}

}  // namespace
}  // namespace tailrace
