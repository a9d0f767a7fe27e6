// SPDX-License-Identifier: BSD-3-Clause
// Values that end where readable memory does: what a kernel reads beyond them would end the test.
#include "tailrace/more/borrowed_blocks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "matrices.hpp"
#include "tailrace/more/block_incomplete_lu.hpp"

namespace tailrace::sparse::test {
namespace {

class AtTheEnd {
 public:
  explicit AtTheEnd(const Vector& values) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (values.size() * sizeof(double) / page + 2) * page;
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    char* const end = static_cast<char*>(memory_) + bytes_ - page;
    mprotect(end, page, PROT_NONE);
    data_ = reinterpret_cast<double*>(end) - values.size();
    std::copy(values.begin(), values.end(), data_);
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  ~AtTheEnd() { munmap(memory_, bytes_); }
  const double* data() const { return data_; }

 private:
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
  double* data_ = nullptr;
};

/// Rows of blocks: two, none, one, three and, if `hole`, none.
std::vector<std::vector<std::int32_t>> rows_of_blocks(bool hole) {
  std::vector<std::vector<std::int32_t>> rows{{0, 3}, {}, {2}, {0, 1, 4}};
  if (hole) rows.emplace_back();
  return rows;
}

TEST(BorrowedBlocks, MultipliesWithoutReadingBeyondTheLastBlock) {
  for (int block = 2; block <= 16; ++block) {
    for (const bool hole : {false, true}) {
      const auto rows = rows_of_blocks(hole);
      std::vector<std::int64_t> starts{0};
      std::vector<std::int32_t> columns;
      for (const auto& row : rows) {
        columns.insert(columns.end(), row.begin(), row.end());
        starts.push_back(static_cast<std::int64_t>(columns.size()));
      }
      const auto b = static_cast<std::size_t>(block);
      const auto values = random_vector(static_cast<std::ptrdiff_t>(columns.size() * b * b), 5);
      const auto x = random_vector(5 * block, 6);
      Vector wanted(rows.size() * b, 0.0);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        for (auto k = static_cast<std::size_t>(starts[row]);
             k < static_cast<std::size_t>(starts[row + 1]); ++k) {
          for (std::size_t i = 0; i < b * b; ++i) {
            wanted[row * b + i % b] +=
                values[k * b * b + i] * x[static_cast<std::size_t>(columns[k]) * b + i / b];
          }
        }
      }
      const AtTheEnd at_the_end(values);
      const BorrowedBlocks a(block, 5, starts, columns);
      Vector y(wanted.size(), 7.0);
      a.multiply(at_the_end.data(), x.data(), y.data());
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], wanted[i], 1e-13 * block) << "blocks of " << block;
      }
    }
  }
}

TEST(BorrowedBlocks, WithoutABlock) {
  const BorrowedBlocks a(3, 2, {0, 0, 0}, {});
  const Vector x(6, 1.0);
  Vector y(6, 7.0);
  a.multiply(nullptr, x.data(), y.data());
  EXPECT_EQ(y, Vector(6, 0.0));
}

/// L = (1, 0; l, 1) and U = (p, u; 0, q) of blocks, p and q inverted, as PETSc lays them out:
/// l, then q^-1, u, p^-1.
TEST(BorrowedBlocks, SolvesWithoutReadingBeyondTheLastBlock) {
  for (int block = 2; block <= 16; ++block) {
    const auto b = static_cast<std::size_t>(block);
    const auto values = random_vector(4 * block * block, 8);
    const auto right = random_vector(2 * block, 9);
    const auto times = [&](std::size_t k, const double* x, std::size_t i) {
      double sum = 0;
      for (std::size_t j = 0; j < b; ++j) sum += values[(k * b + j) * b + i] * x[j];
      return sum;
    };
    Vector wanted(2 * b);
    Vector rest = right;
    for (std::size_t i = 0; i < b; ++i) rest[b + i] -= times(0, right.data(), i);
    for (std::size_t i = 0; i < b; ++i) wanted[b + i] = times(1, rest.data() + b, i);
    for (std::size_t i = 0; i < b; ++i) rest[i] -= times(2, wanted.data() + b, i);
    for (std::size_t i = 0; i < b; ++i) wanted[i] = times(3, rest.data(), i);
    const AtTheEnd at_the_end(values);
    const BorrowedBlockFactors factors(block, {{0, 0}, {0, 1}}, {{2, 3}, {1, 1}}, {0, 1, 1, 0},
                                       at_the_end.data());
    Vector x = right;
    factors.solve(x.data(), x.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(x[i], wanted[i], 1e-11 * block * block * block) << "blocks of " << block;
    }
  }
}

/// Three block rows of full blocks but for one pair, in PETSc's layout: L's rows, then U's from the
/// last on.
TEST(BorrowedBlocks, FactorsAsBlockIncompleteLu) {
  const std::vector<std::int32_t> starts{0, 2, 5, 7}, columns{0, 1, 0, 1, 2, 1, 2};
  const std::vector<std::int64_t> wide_starts(starts.begin(), starts.end());
  const std::vector<std::int32_t> factor_columns{0, 1, 2, 2, 1, 1, 0};
  const std::vector<BorrowedBlockFactors::Range> lower{{0, 0}, {0, 1}, {1, 2}},
      upper{{5, 6}, {3, 4}, {2, 2}};
  for (int block = 2; block <= 16; ++block) {
    const auto b = static_cast<std::size_t>(block);
    auto values = random_vector(7 * block * block, 11);
    for (const std::size_t k : {0, 3, 6}) {
      for (std::size_t i = 0; i < b; ++i) values[(k * b + i) * b + i] += 4.0 * block;
    }
    Vector rows_first(values.size());
    for (std::size_t k = 0; k < 7; ++k) {
      for (std::size_t i = 0; i < b * b; ++i) {
        rows_first[k * b * b + i % b * b + i / b] = values[k * b * b + i];
      }
    }
    const auto right = random_vector(3 * block, 12);
    Vector wanted(right.size());
    BlockIncompleteLu(block, wide_starts, columns, rows_first).solve(right, wanted);
    Vector factors(values.size(), 7.0);
    ASSERT_TRUE(factor_blocks(block, starts.data(), columns.data(), values.data(), lower, upper,
                              factor_columns.data(), factors.data()));
    Vector x(right.size());
    BorrowedBlockFactors(block, lower, upper, factor_columns, factors.data())
        .solve(right.data(), x.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(x[i], wanted[i], 1e-13) << "blocks of " << block;
    }
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(3 * b * b), b * b, 0.0);
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(2 * b * b), b * b, 0.0);
    EXPECT_FALSE(factor_blocks(block, starts.data(), columns.data(), values.data(), lower, upper,
                               factor_columns.data(), factors.data()))
        << "a singular block";
  }
}

TEST(BorrowedBlocks, FactorsWithoutPlaceForABlock) {
  const std::vector<std::int32_t> starts{0, 2, 3}, columns{0, 1, 1}, factor_columns{1, 0};
  const Vector values(3 * 4, 1.0);
  Vector factors(2 * 4);
  EXPECT_FALSE(factor_blocks(2, starts.data(), columns.data(), values.data(), {{0, 0}, {0, 0}},
                             {{1, 1}, {0, 0}}, factor_columns.data(), factors.data()));
}

}  // namespace
}  // namespace tailrace::sparse::test
