// SPDX-License-Identifier: BSD-3-Clause
// Typed calls of an Exchange: what they move, and which arrays they refuse.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace {
namespace {

class TypedExchange : public ::testing::Test {
 protected:
  const Comm comm{MPI_COMM_WORLD};
  const std::vector<std::ptrdiff_t> extents{9, 8, 7};
  const Layout rows = slabs(extents, 0, comm.num_ranks());
  const Layout columns = slabs(extents, 1, comm.num_ranks());

  /// Each item holds its place in the global array, plus `salt`.
  template <class T>
  std::vector<T> numbered(const Layout& layout, int salt) const {
    std::vector<T> items;
    for (const auto& box : layout.boxes(comm.rank()))
      for (std::ptrdiff_t i = 0; i < box.extents[0]; ++i)
        for (std::ptrdiff_t j = 0; j < box.extents[1]; ++j)
          for (std::ptrdiff_t k = 0; k < box.extents[2]; ++k)
            items.push_back(static_cast<T>(static_cast<float>(
                ((box.start[0] + i) * 8 + box.start[1] + j) * 7 + box.start[2] + k + salt)));
    return items;
  }

  template <class Call>
  std::string error_of(Call&& call) const {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
      return error.what();
    }
    return "";
  }
};

TEST_F(TypedExchange, OneFieldArrivesFromConstAndOtherArrays) {
  Exchange exchange(comm, rows, columns, {.item_bytes = sizeof(std::complex<float>)});
  auto u = numbered<std::complex<float>>(rows, 1);
  const auto right = numbered<std::complex<float>>(columns, 1);
  std::vector<std::complex<float>> found(right.size());
  exchange.run(std::span(u), std::span(found));
  EXPECT_EQ(found, right);
  found.assign(found.size(), {});
  exchange.start(std::span<const std::complex<float>>(u), std::span(found));
  exchange.finish();
  EXPECT_EQ(found, right);
}

TEST_F(TypedExchange, SeveralFieldsComeByAList) {
  Exchange exchange(comm, rows, columns, {.item_bytes = 8, .num_fields = 2}, "alltoallv");
  const auto u = numbered<double>(rows, 1);
  const auto n = numbered<std::int64_t>(rows, 2);
  const auto right_u = numbered<double>(columns, 1);
  const auto right_n = numbered<std::int64_t>(columns, 2);
  std::vector<double> found_u(right_u.size());
  std::vector<std::int64_t> found_n(right_n.size());
  exchange.run({std::span(u), std::span(n)}, {std::span(found_u), std::span(found_n)});
  EXPECT_EQ(found_u, right_u);
  EXPECT_EQ(found_n, right_n);
  found_n.assign(found_n.size(), 0);
  exchange.start({std::span(u), std::span(n)}, {std::span(found_u), std::span(found_n)});
  exchange.finish();
  EXPECT_EQ(found_n, right_n);
}

TEST_F(TypedExchange, ArraysThatOverlapAreRefusedUnlessInPlace) {
  Exchange exchange(comm, rows, columns, {}, "alltoallv");
  const auto longest = std::max(rows.num_items(comm.rank()), columns.num_items(comm.rank()));
  std::vector<double> u(static_cast<std::size_t>(longest));
  const auto from = static_cast<std::size_t>(rows.num_items(comm.rank()));
  const auto to = static_cast<std::size_t>(columns.num_items(comm.rank()));
  const auto text =
      error_of([&] { exchange.run(std::span(u).first(from), std::span(u).first(to)); });
  EXPECT_NE(text.find("the source and the destination of field 0 overlap"), std::string::npos)
      << text;
}

TEST_F(TypedExchange, OneArrayMayHoldADestinationBetweenTheItemsOfASource) {
  auto every_second = [this](const Layout& layout) {
    auto memory = Memory::dense(layout.boxes(comm.rank()));
    for (auto& box : memory.boxes) {
      box.offset *= 2;
      for (auto& stride : box.strides) stride *= 2;
    }
    memory.num_items = std::max<std::ptrdiff_t>(0, 2 * memory.num_items - 1);
    return memory;
  };
  const auto memory = every_second(rows);
  Exchange exchange(comm, Plan(rows, rows, comm.rank()), memory, memory, {}, "alltoallv");
  const auto count = static_cast<std::size_t>(memory.num_items);
  std::vector<double> pairs(count + 1, -1);
  for (std::size_t i = 0; i < count; i += 2) pairs[i] = static_cast<double>(i);
  exchange.run(std::span<const double>(pairs).first(count), std::span(pairs).last(count));
  for (std::size_t i = 0; i < count; i += 2) ASSERT_EQ(pairs[i + 1], pairs[i]) << i;
}

TEST_F(TypedExchange, ArraysThatDoNotFitAreRefusedOnAllRanksAndTheCallMayBeMadeAgain) {
  Exchange exchange(comm, rows, columns, {}, "alltoallv");
  const auto u = numbered<double>(rows, 1);
  const auto right = numbered<double>(columns, 1);
  std::vector<double> found(right.size()), longer(right.size() + 1);
  const std::vector<float> singles(u.size());
  std::vector<float> found_singles(right.size());
  const auto count = [](const auto& items) { return std::to_string(items.size()); };

  const auto too_long = error_of([&] { exchange.run(std::span(u), std::span(longer)); });
  EXPECT_NE(too_long.find("the destination of field 0 holds " + count(longer) +
                          " items, but this rank's part of its layout has " + count(right)),
            std::string::npos)
      << too_long;
  const auto too_short =
      error_of([&] { exchange.start(std::span(u).first(u.size() - 1), std::span(found)); });
  EXPECT_NE(too_short.find("the source of field 0 holds " + std::to_string(u.size() - 1)),
            std::string::npos)
      << too_short;
  const auto other_type =
      error_of([&] { exchange.run(std::span(singles), std::span(found_singles)); });
  EXPECT_NE(other_type.find("items of 4 bytes, but the exchange was created for item_bytes = 8"),
            std::string::npos)
      << other_type;
  const auto two_fields = error_of([&] {
    exchange.run({std::span(u), std::span(u)}, {std::span(found), std::span(longer)});
  });
  EXPECT_NE(two_fields.find("the destination of field 1 holds"), std::string::npos) << two_fields;

  exchange.run(std::span(u), std::span(found));
  EXPECT_EQ(found, right);
}

TEST_F(TypedExchange, InPlaceArraysMayBeTheLargerOfTheTwo) {
  Exchange exchange(comm, rows, columns, {.in_place = true}, "alltoallv");
  auto both = numbered<double>(rows, 1);
  const auto right = numbered<double>(columns, 1);
  both.resize(std::max(both.size(), right.size()) + 3);
  exchange.run(std::span(both), std::span(both));
  both.resize(right.size());
  EXPECT_EQ(both, right);
}

TEST_F(TypedExchange, LayoutsThatDoNotFitAreRefused) {
  const std::vector<std::ptrdiff_t> other{9, 8, 6};
  const auto shorter = slabs(other, 0, comm.num_ranks());
  const auto text = error_of([&] { const Exchange exchange(comm, rows, shorter, {}); });
  EXPECT_NE(text.find("same extents"), std::string::npos) << text;
  const auto more = slabs(extents, 0, comm.num_ranks() + 1);
  EXPECT_NE(error_of([&] { const Exchange exchange(comm, more, more, {}); }), "");
}

}  // namespace
}  // namespace tailrace
