// SPDX-License-Identifier: BSD-3-Clause
// Collective calls in the memory of a node: on a board, or by `Reduction`. They move bytes that lie
// one after another.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/program_comm.hpp"
#include "collectives/types.hpp"

namespace tailrace::plugins {

inline void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
inline std::byte* at(void* start, std::int64_t bytes) {
  return static_cast<std::byte*>(start) + bytes;
}
inline const std::byte* at(const void* start, std::int64_t bytes) {
  return static_cast<const std::byte*>(start) + bytes;
}

// `num_items` numbers. `in` may be `out`. Collective, blocking.
void allreduce(Engine& engine, const Sum& sum, const void* in, void* out, std::int64_t num_items);
// `out` is that of the root alone. Collective, blocking.
void reduce(Engine& engine, const Sum& sum, const void* in, void* out, std::int64_t num_items,
            int root);

// The board's calls: `own` is why this rank refuses, or nothing; they return why any rank does, and
// then nothing has moved. Collective, blocking.

// `in`: a block of `bytes` for each rank. It may be `out`.
Reason alltoall(Engine& engine, const void* in, void* out, std::int64_t bytes, Reason own);

// A block of each rank goes to all: `place_of(rank)` is where it comes, and of which size.
// `total_bytes` of all blocks.
struct Block {
  std::byte* start;
  std::int64_t bytes;
};
template <class PlaceOf>
Reason allgather(Engine& engine, const void* in, std::int64_t total_bytes, PlaceOf place_of,
                 Reason own) {
  const int me = engine.comm.rank();
  const int num_ranks = engine.comm.num_ranks();
  if (own == Reason::none) copy_bytes(engine.data(), in, place_of(me).bytes);
  Reason reason = engine.meet({total_bytes, own});
  for (int rank = 0; rank < num_ranks && reason == Reason::none; ++rank) {
    if (engine.head_of(rank).bytes != total_bytes) reason = Reason::size;
  }
  if (reason != Reason::none) return reason;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const Block block = place_of(rank);
    copy_bytes(block.start, rank == me ? in : engine.data_of(rank), block.bytes);
  }
  return reason;
}

// What a call whose size only the board tells came to.
struct Outcome {
  Reason reason = Reason::none;
  std::int64_t bytes = 0;  // that decided
  bool truncated = false;  // more came than there was room for
};

// `shows`: data may go our way, so the root shows it at once. `agree(bytes)` says why it does not,
// the same on all ranks.
template <class Agree>
Outcome bcast(Engine& engine, void* data, std::int64_t bytes, int root, Reason own, bool shows,
              Agree agree) {
  const bool is_root = engine.comm.rank() == root;
  if (is_root && shows && own == Reason::none && bytes <= Engine::data_bytes) {
    copy_bytes(engine.data(), data, bytes);
  }
  Outcome outcome;
  outcome.reason = engine.meet({bytes, own});
  outcome.bytes = engine.head_of(root).bytes;
  if (outcome.reason == Reason::none) outcome.reason = agree(outcome.bytes);
  if (outcome.reason != Reason::none || is_root) return outcome;
  outcome.truncated = outcome.bytes > bytes;
  copy_bytes(data, engine.data_of(root), outcome.truncated ? bytes : outcome.bytes);
  return outcome;
}

// `send(rank)` and `receive(rank)` are the blocks for and from a rank.
template <class Send, class Receive, class Agree>
Outcome alltoallv(Engine& engine, Send send, Receive receive, Reason own, bool shows, Agree agree) {
  const int me = engine.comm.rank();
  const int num_ranks = engine.comm.num_ranks();
  std::int64_t total = 0;
  std::int64_t* starts = engine.starts();
  for (int rank = 0; rank < num_ranks && own == Reason::none; ++rank) {
    starts[rank] = total;
    const auto block = send(rank);
    if (shows && rank != me && total + block.bytes <= Engine::data_bytes) {
      copy_bytes(engine.data() + total, block.start, block.bytes);
    }
    total += block.bytes;
  }
  starts[num_ranks] = total;
  Outcome outcome;
  outcome.reason = engine.meet({total, own});
  for (int rank = 0; rank < num_ranks; ++rank) {
    outcome.bytes = std::max(outcome.bytes, engine.head_of(rank).bytes);
  }
  if (outcome.reason == Reason::none) outcome.reason = agree(outcome.bytes);
  if (outcome.reason != Reason::none) return outcome;
  for (int i = 0; i < num_ranks; ++i) {
    const int rank = (me + i) % num_ranks;  // each rank begins with another one
    const auto block = receive(rank);
    const std::int64_t* starts_there = engine.starts_of(rank);
    const std::int64_t bytes = starts_there[me + 1] - starts_there[me];
    if (bytes > block.bytes) outcome.truncated = true;
    const std::byte* from = rank == me ? send(me).start : engine.data_of(rank) + starts_there[me];
    copy_bytes(block.start, from, std::min(bytes, block.bytes));
  }
  return outcome;
}

}  // namespace tailrace::plugins
