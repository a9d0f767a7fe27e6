// SPDX-License-Identifier: BSD-3-Clause
#include "file/strategies/two_phase.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>

#include "core/agreed_error.hpp"
#include "core/same_on_all.hpp"

namespace tailrace::file {
namespace {

constexpr std::size_t max_plans = 8;

Comm make_group(const Comm& comm, int group_size) {
  if (group_size == TwoPhaseShape::all_ranks) return Comm(comm.raw());
  return group_size == TwoPhaseShape::node_ranks ? comm.node().duplicate()
                                                 : comm.split(comm.rank() / group_size);
}

}  // namespace

TwoPhase::TwoPhase(const Comm& comm, TwoPhaseShape shape)
    : shape_(std::move(shape)), group_(make_group(comm, shape_.group_size)) {
  const bool writes = std::ranges::binary_search(shape_.writers, comm.rank());
  Comm openers = comm.split(writes ? 0 : 1);
  if (writes) openers_ = std::move(openers);
  const auto ranks = gather_from_all(group_, comm.rank());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!std::ranges::binary_search(shape_.writers, ranks[r])) continue;
    if (ranks[r] == comm.rank()) own_writer_ = static_cast<int>(writers_.size());
    writers_.push_back(static_cast<int>(r));
  }
  const bool on_one_node = group_.node().num_ranks() == group_.num_ranks();
  require_all(comm.raw(), on_one_node || shape_.movement != Movement::node,
              "hint cb_exchange=node needs all ranks that exchange data on one node; use auto or "
              "messages");
  by_messages_ = !on_one_node || shape_.movement == Movement::messages;
  const TransportSetting setting{group_, writers_, shape_.buffer_bytes};
  if (!by_messages_) by_messages_ = !try_node_transport(setting);
  // All ranks ask: only some of the groups may lie on one node.
  require_all(comm.raw(), !by_messages_ || shape_.movement != Movement::node,
              "hint cb_exchange=node: no shared memory for the buffers (too little memory, or "
              "ranks in separate containers?)");
  if (by_messages_) transport_ = make_message_transport(setting);
}

// Shared memory may be too small for the buffers: then no rank of the group has it.
bool TwoPhase::try_node_transport(const TransportSetting& setting) {
  bool made = true;
  try {
    transport_ = make_node_transport(setting);
  } catch (const Error&) {
    made = false;
  }
  return true_on_all(group_, made);
}

TwoPhase::~TwoPhase() = default;

// A plan is used again if every rank of the group finds the same one.
const TwoPhasePlan& TwoPhase::plan_for(const FilePart& part, Direction direction) {
  std::int64_t known = -1;
  for (std::size_t p = 0; p < plans_.size(); ++p) {
    if (plans_[p]->fits(part, direction)) known = static_cast<std::int64_t>(p);
  }
  const auto segments = FilePart::Data::of(part).segments();
  constexpr auto nowhere = std::numeric_limits<std::int64_t>::max();
  std::array<std::int64_t, 4> values{segments.empty() ? nowhere : segments.front().file_offset,
                                     segments.empty() ? nowhere : -segments.back().file_end(),
                                     known, -known};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                          MPI_MIN, group_.raw()));
  if (values[2] >= 0 && values[2] == -values[3]) return *plans_[static_cast<std::size_t>(known)];
  const FileRun range =
      values[0] == nowhere ? FileRun{} : FileRun{values[0], -values[1] - values[0]};
  auto plan = std::make_unique<TwoPhasePlan>(
      part, range,
      TwoPhasePlan::Setting{group_, writers_, shape_.alignment, shape_.stripe_bytes,
                            shape_.buffer_bytes, by_messages_, direction});
  if (plans_.size() == max_plans) plans_.erase(plans_.begin());
  plans_.push_back(std::move(plan));
  return *plans_.back();
}

std::optional<Error> TwoPhase::write(const FilePart& part, const std::byte* data, BackEnd* file) {
  const auto& plan = plan_for(part, Direction::write);
  std::optional<Error> failure;
  // One slot is being filled, one is free to be, the others are on their way to the disk.
  constexpr auto max_in_flight = Transport::num_slots - 2;
  std::deque<std::uint32_t> in_flight;
  for (const auto round : plan.rounds()) {
    const auto sequence = ++sequence_;
    transport_->send(plan, round, sequence, data);
    if (!is_writer()) continue;
    if (plan.active(own_writer_, round)) {
      transport_->wait_filled(plan, round, sequence);
      if (file != nullptr && !failure) {
        try_also(failure,
                 [&] { file->start_write(plan.transfers(round), transport_->slot(sequence)); });
        if (file->background()) in_flight.push_back(sequence);
      }
    }
    // After a failure nothing is written any more, but the others still fill the slots.
    while (!in_flight.empty() && (failure || sequence - in_flight.front() >= max_in_flight)) {
      in_flight.pop_front();
    }
    if (file != nullptr) {
      try_also(failure, [&] { file->finish_all_but(static_cast<int>(in_flight.size())); });
    }
    transport_->release(in_flight.empty() ? sequence : in_flight.front() - 1);
  }
  if (is_writer() && file != nullptr) try_also(failure, [&] { file->finish(); });
  if (is_writer()) transport_->release(sequence_);
  transport_->end();
  return failure;
}

std::optional<Error> TwoPhase::read(const FilePart& part, std::byte* data, BackEnd* file) {
  const auto& plan = plan_for(part, Direction::read);
  std::optional<Error> failure;
  for (const auto round : plan.rounds()) {
    const auto sequence = ++sequence_;
    if (is_writer()) {
      transport_->wait_free(sequence);
      if (plan.active(own_writer_, round) && file != nullptr && !failure) {
        try_also(failure,
                 [&] { file->read(plan.transfers(round), transport_->slot(sequence), true); });
      }
      transport_->publish(plan, round, sequence);
    }
    transport_->receive(plan, round, sequence, data);
  }
  transport_->end();
  return failure;
}

}  // namespace tailrace::file
