// SPDX-License-Identifier: BSD-3-Clause
// Calls allocate nothing (MPI's own memory is not seen).
#include <vector>

#include <gtest/gtest.h>

#include "counted_new.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

TEST(ReductionMemory, CallsAllocateNothing) {
  const Comm comm(MPI_COMM_WORLD);
  for (const char* method : {"mpi", "node_shared", "node_threads"}) {
    Reduction reduction(comm, {NumberType::float64, 50'000}, method);
    std::vector<double> values(50'000, 1.0);
    const std::vector<DotPair<double>> pairs{{values, values}};
    std::vector<double> result(1);
    counted_new::reset();
    for (int call = 0; call < 3; ++call) {
      reduction.allreduce(std::span(values));
      reduction.reduce(std::span(values).first(3), ReduceOp::max, 1);
      reduction.dots(pairs, result);
      reduction.start_allreduce(std::span(values).first(10));
      reduction.finish();
      reduction.barrier();
    }
    EXPECT_EQ(counted_new::allocations.load(), 0) << method;
  }
}

// Shared memory is bounded, however long the vectors.
TEST(ReductionMemory, BuffersAreBounded) {
  const Comm comm(MPI_COMM_WORLD);
  Reduction reduction(comm, {NumberType::float64, 10'000'000}, "node_shared");
  EXPECT_LE(reduction.buffer_bytes(), 4 << 20);
  EXPECT_GT(reduction.buffer_bytes(), 0);
}

}  // namespace
}  // namespace tailrace
