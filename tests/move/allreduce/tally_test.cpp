// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/reduction_tally.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace tailrace {
namespace {

struct Row {
  ReductionKind kind;
  std::ptrdiff_t max_bytes;
  std::int64_t count;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(const ReductionTally& tally) {
  std::vector<Row> rows;
  for (const auto& one : tally.counts()) {
    EXPECT_GE(one.time_s, 0);
    rows.push_back({one.kind, one.max_bytes, one.count});
  }
  return rows;
}

TEST(ReductionTally, CountsKindsAndSizes) {
  const Comm comm(MPI_COMM_WORLD);
  Reduction reduction(comm, {.type = NumberType::float64, .max_items = 17}, "mpi");
  reduction.allreduce(1.0);  // before it lives
  std::array<double, 17> values{};
  const std::span<double> all(values);
  const ReductionTally tally;
  EXPECT_TRUE(rows_of(tally).empty());
  reduction.allreduce(1.0);
  reduction.allreduce(std::int32_t{1}, ReduceOp::max);
  reduction.allreduce(all.first(0));  // none
  reduction.allreduce(all.first(2));
  reduction.allreduce(all.first(3));
  reduction.allreduce(all.first(4));
  reduction.allreduce(all);
  reduction.start_allreduce(all.first(16));
  while (!reduction.progress()) {
  }
  reduction.finish();
  reduction.reduce(all.first(5), ReduceOp::sum, 0);
  reduction.barrier();
  const std::array<DotPair<double>, 2> pairs{DotPair<double>{all, all}, DotPair<double>{all, all}};
  std::array<double, 2> results{};
  reduction.dots(pairs, results);
  const std::array<const double*, 2> parts{values.data(), values.data()};
  reduction.allreduce_parts<double>(parts, all.first(1));
  using enum ReductionKind;
  const std::vector<Row> expected{{allreduce, 8, 3},   {allreduce, 16, 2},  {allreduce, 32, 2},
                                  {allreduce, 128, 1}, {allreduce, 256, 1}, {reduce, 64, 1},
                                  {barrier, 0, 1}};
  EXPECT_EQ(rows_of(tally), expected);
}

TEST(ReductionTally, TheInnerOneHandsOn) {
  const Comm comm(MPI_COMM_WORLD);
  Reduction reduction(comm, {.type = NumberType::float64, .max_items = 4}, "mpi");
  const ReductionTally outer;
  reduction.allreduce(1.0);
  {
    const ReductionTally inner;
    EXPECT_EQ(ReductionTally::current(), &inner);
    reduction.allreduce(1.0);
    EXPECT_EQ(rows_of(inner), (std::vector<Row>{{ReductionKind::allreduce, 8, 1}}));
    EXPECT_EQ(rows_of(outer), rows_of(inner));
  }
  EXPECT_EQ(ReductionTally::current(), &outer);
  EXPECT_EQ(rows_of(outer), (std::vector<Row>{{ReductionKind::allreduce, 8, 2}}));
}

}  // namespace
}  // namespace tailrace
