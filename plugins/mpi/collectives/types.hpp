// SPDX-License-Identifier: BSD-3-Clause
// What MPI's handles of types and operations mean for our own ways.
#pragma once
#include <mpi.h>

#include <array>
#include <cstdint>
#include <optional>

#include "tailrace/reduction.hpp"

namespace tailrace::plugins {

struct TypeFacts {
  std::int64_t size = 0;  // bytes of an item
  // Items lie one after another without holes, in the order of the message: predefined types, and
  // contiguous and duplicated types of such.
  bool plain = false;
};
// Local.
TypeFacts facts_of(MPI_Datatype type);

struct Sum {
  NumberType type;
  ReduceOp op;
  std::int64_t size;  // bytes of a number
};
// The reduction that we do with the same result as MPI; none where that is not sure. It follows
// from what must be the same on all ranks. Local.
std::optional<Sum> find_sum(MPI_Datatype type, MPI_Op op);
// Programs call with the same type and operation again and again. What is found are predefined
// ones, whose handles stay theirs.
struct LastSum {
  MPI_Datatype type;
  MPI_Op op;
  std::optional<Sum> sum;
};
extern constinit thread_local std::array<LastSum, 2> last_sums;  // the two found last
inline const std::optional<Sum>& sum_of(MPI_Datatype type, MPI_Op op) {
  const auto is = [&](const LastSum& one) { return one.type == type && one.op == op; };
  if (is(last_sums[0])) return last_sums[0].sum;
  if (is(last_sums[1])) return last_sums[1].sum;
  last_sums[1] = last_sums[0];
  last_sums[0] = {type, op, find_sum(type, op)};
  return last_sums[0].sum;
}

}  // namespace tailrace::plugins
