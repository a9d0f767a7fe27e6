// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/ways.hpp"

#include <span>

#include "tailrace/reduction.hpp"

namespace tailrace::plugins {

void allreduce(Engine& engine, const Sum& sum, const void* in, void* out, std::int64_t num_items) {
  const auto count = static_cast<std::size_t>(num_items);
  with_number_type(sum.type, [&](auto zero) {
    using Number = decltype(zero);
    engine.reduction->allreduce<Number>(std::span(static_cast<const Number*>(in), count),
                                        std::span(static_cast<Number*>(out), count), sum.op);
  });
}

void reduce(Engine& engine, const Sum& sum, const void* in, void* out, std::int64_t num_items,
            int root) {
  const bool is_root = engine.comm.rank() == root;
  if (is_root) copy_bytes(out, in, num_items * sum.size);
  // Other ranks' numbers stay as they are.
  void* values = is_root ? out : const_cast<void*>(in);
  with_number_type(sum.type, [&](auto zero) {
    using Number = decltype(zero);
    engine.reduction->reduce(
        std::span(static_cast<Number*>(values), static_cast<std::size_t>(num_items)), sum.op, root);
  });
}

Reason alltoall(Engine& engine, const void* in, void* out, std::int64_t bytes, Reason own) {
  const int me = engine.comm.rank();
  const int num_ranks = engine.comm.num_ranks();
  if (own == Reason::none) {  // all but this rank's own block
    copy_bytes(engine.data(), in, me * bytes);
    const std::int64_t next = (me + 1) * bytes;
    copy_bytes(engine.data() + next, at(in, next), num_ranks * bytes - next);
  }
  Reason reason = engine.meet({bytes, own});
  for (int rank = 0; rank < num_ranks && reason == Reason::none; ++rank) {
    if (engine.head_of(rank).bytes != bytes) reason = Reason::size;
  }
  if (reason != Reason::none) return reason;
  copy_bytes(at(out, me * bytes), at(in, me * bytes), bytes);
  for (int i = 1; i < num_ranks; ++i) {
    const int rank = (me + i) % num_ranks;  // each rank begins with another one
    copy_bytes(at(out, rank * bytes), engine.data_of(rank) + me * bytes, bytes);
  }
  return reason;
}

}  // namespace tailrace::plugins
