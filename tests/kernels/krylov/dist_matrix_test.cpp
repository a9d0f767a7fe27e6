// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>

#include <gtest/gtest.h>
#include <mpi.h>

#include "krylov/systems.hpp"
#include "tailrace/error.hpp"

namespace tailrace::sparse::test {
namespace {

/// Of a y whose rows are sums in another order.
void expect_near(const Vector& got, const Vector& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], 1e-12 * (1 + std::abs(wanted[i]))) << what << ", item " << i;
  }
}

TEST(DistMatrix, MultipliesAsOneRankDoes) {
  const Comm comm(MPI_COMM_WORLD);
  for (const int block : {1, 2, 3, 5, 15, 17}) {
    for (const int rows : {1, 3, 40}) {
      const auto a = random_system(block, rows, 4, static_cast<unsigned>(block + rows));
      const auto x = normals(a.num_items(), 7);
      for (const auto& layout : layouts(rows, comm.num_ranks())) {
        const auto what =
            std::to_string(block) + " x " + std::to_string(rows) + ", " + layout.describe();
        const auto part = part_of_rank(a, layout, comm.rank());
        DistMatrix matrix(comm, layout, block, part.row_starts, part.columns, part.values);
        EXPECT_EQ(matrix.num_local_items(), std::ssize(part.items));
        EXPECT_EQ(matrix.num_global_rows(), rows);
        Vector y(part.items.size(), 99.0);
        for (int again = 0; again < 3; ++again) {
          matrix.multiply(part.of(x), y);
          expect_near(y, part.of(a.product(x)), what);
        }
      }
    }
  }
}

TEST(DistMatrix, TakesOtherValuesInTheSameStructure) {
  const Comm comm(MPI_COMM_WORLD);
  for (const int block : {1, 3, 15}) {
    auto a = random_system(block, 50, 5, 11);
    // Few values at first, so that the compressed storage of these cannot hold the next ones.
    for (double& value : a.values) value = std::round(value);
    const auto x = normals(a.num_items(), 8);
    for (const auto& layout : layouts(50, comm.num_ranks())) {
      auto part = part_of_rank(a, layout, comm.rank());
      DistMatrix matrix(comm, layout, block, part.row_starts, part.columns, part.values);
      for (const unsigned seed : {21U, 22U}) {
        auto other = a;
        other.values = normals(a.values.size(), seed);
        part = part_of_rank(other, layout, comm.rank());
        matrix.set_values(part.values);
        Vector y(part.items.size());
        matrix.multiply(part.of(x), y);
        expect_near(y, part.of(other.product(x)), "block " + std::to_string(block));
      }
    }
  }
}

TEST(DistMatrix, MultipliesCoupledValuesAsPlainBlocks) {
  const Comm comm(MPI_COMM_WORLD);
  for (const int block : {1, 2, 3, 5, 15, 16}) {
    const auto a = coupled_system(block, 6, 3);
    const auto x = normals(a.num_items(), 7);
    for (const auto& layout : layouts(36, comm.num_ranks())) {
      const auto part = part_of_rank(a, layout, comm.rank());
      const auto values = coupled_part(a, part);
      DistMatrix matrix(comm, layout, block, part.row_starts, part.columns, values);
      Vector y(part.items.size(), 99.0);
      matrix.multiply(part.of(x), y);
      expect_near(y, part.of(a.product(x)), "block " + std::to_string(block));
      const auto other = coupled_system(block, 6, 5);
      matrix.set_values(coupled_part(other, part));
      matrix.multiply(part.of(x), y);
      expect_near(y, part.of(other.product(x)), "other values");
    }
  }
}

TEST(DistMatrix, GivesItsRowsInItsOwnColumns) {
  const Comm comm(MPI_COMM_WORLD);
  const auto a = transport(2, 5, 0.3, 0.1);
  for (const auto& layout : layouts(25, comm.num_ranks())) {
    const auto part = part_of_rank(a, layout, comm.rank());
    const DistMatrix matrix(comm, layout, 2, part.row_starts, part.columns, part.values);
    const auto own = matrix.local_diagonal();
    ASSERT_EQ(std::ssize(own.row_starts), matrix.num_local_rows() + 1);
    ASSERT_EQ(own.values.size(), own.block_columns.size() * 4);
    std::size_t halo = 0;
    for (std::ptrdiff_t row = 0; row < matrix.num_local_rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      const auto all = part.row_starts[i + 1] - part.row_starts[i];
      halo += static_cast<std::size_t>(all - (own.row_starts[i + 1] - own.row_starts[i]));
      const auto global = static_cast<std::int64_t>(part.items[2 * i] / 2);
      bool found = false;
      for (auto k = own.row_starts[i]; k < own.row_starts[i + 1]; ++k) {
        if (own.block_columns[static_cast<std::size_t>(k)] != row) continue;
        found = true;
        for (auto j = part.row_starts[i]; j < part.row_starts[i + 1]; ++j) {
          if (part.columns[static_cast<std::size_t>(j)] != global) continue;
          EXPECT_EQ(own.values[static_cast<std::size_t>(k) * 4],
                    part.values[static_cast<std::size_t>(j) * 4]);
        }
      }
      EXPECT_TRUE(found);
    }
    EXPECT_GE(static_cast<std::ptrdiff_t>(halo), matrix.num_halo_columns());
    EXPECT_EQ(halo == 0, matrix.num_halo_columns() == 0);
  }
}

/// All ranks throw, with that text.
template <class Action>
void expect_refused(Action&& action, const std::string& text) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown; \"" << text << "\" was expected";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_input) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(DistMatrix, RefusesBadInputOnAllRanksTogether) {
  const Comm comm(MPI_COMM_WORLD);
  const auto a = transport(2, 4, 0, 0);
  const std::array extents{std::ptrdiff_t{16}};
  const auto layout = slabs(extents, 0, comm.num_ranks());
  const auto good = part_of_rank(a, layout, comm.rank());
  const bool wrong_here = comm.rank() == comm.num_ranks() - 1;
  const auto make = [&](const LocalPart& part, int block = 2) {
    DistMatrix(comm, layout, block, part.row_starts, part.columns, part.values);
  };
  auto bad = good;
  if (wrong_here) bad.columns.back() = 16;
  expect_refused([&] { make(bad); }, "has block column 16; there are 16");
  bad = good;
  if (wrong_here) bad.columns[1] = bad.columns[0];
  expect_refused([&] { make(bad); }, "they must ascend");
  bad = good;
  if (wrong_here) bad.values.pop_back();
  expect_refused([&] { make(bad); }, "blocks of 2 x 2 have");
  bad = good;
  if (wrong_here) bad.row_starts[1] = 1000;
  expect_refused([&] { make(bad); }, "at local block row 0; it must not fall");
  bad = good;
  if (wrong_here) bad.row_starts.pop_back();
  expect_refused([&] { make(bad); }, "row_starts; the");
  expect_refused([&] { make(good, wrong_here ? 0 : 2); }, "block is 0");
  if (comm.num_ranks() > 1) {
    expect_refused([&] { make(good, wrong_here ? 3 : 2); }, "block must be the same");
    std::vector<std::vector<Box>> twice(static_cast<std::size_t>(comm.num_ranks()));
    twice[0] = {rows_box(0, 16)};
    twice[1] = {rows_box(3, 2)};
    expect_refused(
        [&] {
          const auto both = from_boxes(extents, twice);
          const auto part = part_of_rank(a, both, comm.rank());
          DistMatrix(comm, both, 2, part.row_starts, part.columns, part.values);
        },
        "each must be on one rank");
  }
  expect_refused(
      [&] {
        const std::array longer{std::ptrdiff_t{20}};
        std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm.num_ranks()));
        boxes[0] = {rows_box(0, 16)};
        const auto holes = from_boxes(longer, boxes);
        const auto part = part_of_rank(a, holes, comm.rank());
        DistMatrix(comm, holes, 2, part.row_starts, part.columns, part.values);
      },
      "the ranks have 16 of 20 block rows");
  DistMatrix matrix(comm, layout, 2, good.row_starts, good.columns, good.values);
  bad = good;
  if (wrong_here) bad.values.push_back(1);
  expect_refused([&] { matrix.set_values(bad.values); }, "values; the structure has");
  const CoupledPart numbers{Vector(good.columns.size()), Vector(good.items.size() * 2)};
  const CoupledPart fewer{Vector(good.columns.size()), Vector(1)};
  expect_refused([&] { matrix.set_values(numbers); }, "created from plain blocks");
  DistMatrix coupled(comm, layout, 2, good.row_starts, good.columns, numbers);
  expect_refused([&] { coupled.set_values(good.values); }, "created from coupled values");
  expect_refused([&] { coupled.set_values(wrong_here ? fewer : numbers); }, "1 items of blocks");
  expect_refused([&] { DistMatrix(comm, layout, 17, good.row_starts, good.columns, numbers); },
                 "at most 16 x 16");
  const Vector x(good.items.size() + 1);
  Vector y(good.items.size() + 1);
  expect_refused([&] { matrix.multiply(x, y); }, "this rank has");
}

}  // namespace
}  // namespace tailrace::sparse::test
