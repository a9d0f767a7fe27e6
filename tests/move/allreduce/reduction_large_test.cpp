// SPDX-License-Identifier: BSD-3-Clause
// Vectors of more than 2 GiB, by every method.
#include <vector>

#include <gtest/gtest.h>

#include "tailrace/reduction.hpp"

namespace tailrace {
namespace {

TEST(ReductionLarge, VectorsAboveTwoGiB) {
  const Comm comm(MPI_COMM_WORLD);
  constexpr std::ptrdiff_t count = (std::ptrdiff_t{5} << 27) + 7;  // 2.5 GiB of floats
  std::vector<float> values(count);
  for (const char* method : {"mpi", "node_shared", "node_threads"}) {
    SCOPED_TRACE(method);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<float>((i + comm.rank()) % 1000);
    }
    Reduction reduction(comm, {NumberType::float32, count}, method);
    reduction.allreduce(std::span(values));
    std::ptrdiff_t wrong = 0;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      std::ptrdiff_t sum = 0;
      for (int rank = 0; rank < comm.num_ranks(); ++rank) sum += (i + rank) % 1000;
      if (values[static_cast<std::size_t>(i)] != static_cast<float>(sum)) ++wrong;
    }
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace tailrace
