// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/reduce_ring.hpp"

#include <algorithm>
#include <cstring>

#include "move/allreduce/combine.hpp"

namespace tailrace {

ReduceRing::ReduceRing(const Comm& node, const WaitPolicy& waiting, std::ptrdiff_t max_bytes)
    : node_(node),
      waiting_(waiting),
      slot_bytes_((std::clamp<std::ptrdiff_t>(max_bytes, 1, longest_bytes) + 63) / 64 * 64),
      vectors_(static_cast<std::size_t>(node.num_ranks())) {
  const auto rounds_bytes = static_cast<std::ptrdiff_t>(depth * sizeof(Round));
  bytes_ = depth * slot_bytes_ + (node.rank() == 0 ? rounds_bytes : 0);
  window_ = NodeWindow(node, bytes_);
  rounds_ = reinterpret_cast<Round*>(window_.segment(0));
  for (int rank = 0; rank < node.num_ranks(); ++rank) {
    slots_.push_back(window_.segment(rank) + (rank == 0 ? rounds_bytes : 0));
  }
}

bool ReduceRing::give(const ReductionTask& task, bool may_wait) {
  const auto place = (place_ + 1) % depth;
  const auto before = uses_ - (place == 0 ? 0 : 1);  // uses of the place until now
  auto& round = rounds_[place];
  if (may_wait) wait_and_progress(round.taken, before, node_.raw(), waiting_);
  if (!round.taken.reached(before)) return false;
  place_ = place;
  uses_ = before + 1;
  std::byte* slot = slots_[static_cast<std::size_t>(node_.rank())] + place_ * slot_bytes_;
  std::memcpy(slot, task.in, static_cast<std::size_t>(task.num_bytes()));
  round.given.arrive(node_.num_ranks());
  return true;
}

bool ReduceRing::take(const ReductionTask& task, bool may_wait) {
  auto& round = rounds_[place_];
  if (may_wait) round.given.wait(uses_, waiting_, node_.raw());
  if (!round.given.reached(uses_)) return false;
  for (std::size_t rank = 0; rank < vectors_.size(); ++rank) {
    vectors_[rank] = slots_[rank] + place_ * slot_bytes_;
  }
  combine(task.type, task.op, task.out, vectors_, 0, task.num_items);
  round.taken.publish(uses_);
  return true;
}

}  // namespace tailrace
