// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/program_comm.hpp"

#include <algorithm>
#include <bit>
#include <exception>

#include "collectives/budget.hpp"
#include "common/graphics.hpp"
#include "common/mpi_start.hpp"
#include "tailrace/log.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace::plugins {

namespace {

// Calls of a kind and size that go to MPI before anything is set up or measured for them; then
// twice as many each time that the budget does not allow it.
constexpr std::uint32_t calls_before = 16;
// Rounds in a row that a rank refused, after which all go to MPI at once.
constexpr std::uint32_t most_misses = 16;
constexpr double setting_up_s = 0.01;

int class_of(std::int64_t bytes) {
  return bytes <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes - 1)));
}

bool needs_board(Call call) {
  return call != Call::barrier && call != Call::reduce && call != Call::allreduce;
}

std::size_t index(Call call) { return static_cast<std::size_t>(call); }

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

constinit thread_local int Inside::depth = 0;

void Tally::add(const Tally& other) {
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += other.seen[i];
  for (std::size_t i = 0; i < taken.size(); ++i) taken[i] += other.taken[i];
  for (std::size_t i = 0; i < refused.size(); ++i) refused[i] += other.refused[i];
  gained_s += other.gained_s;
}

Engine::Engine(MPI_Comm user) : comm(user) {
  const NodeMap nodes(comm);
  if (nodes.num_nodes() == 1) board.emplace(comm, head_bytes() + data_bytes);
  if (nodes.most_ranks() > 1) {
    const ReductionShape shape{NumberType::float64, data_bytes / 8};
    reduction.emplace(comm, shape, "node_shared");
  }
}

std::int64_t Engine::head_bytes() const {
  return 64 + whole_lines((comm.num_ranks() + 1) * std::int64_t{sizeof(std::int64_t)});
}

Reason Engine::meet(const Head& head_) {
  head() = head_;
  board->meet();
  Reason reason = Reason::none;
  for (int rank = 0; rank < comm.num_ranks() && reason == Reason::none; ++rank) {
    reason = head_of(rank).refusal;
  }
  return reason;
}

bool fits(Call call, std::int64_t bytes, int num_ranks) {
  return (call == Call::alltoall ? bytes * num_ranks : bytes) <= Engine::data_bytes;
}

ProgramComm::ProgramComm(MPI_Comm comm) : comm_(comm) {
  usable_ = is_of_this_world(comm);
  if (usable_) {
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &num_ranks_);
  }
  usable_ = usable_ && num_ranks_ > 1;
  const std::uint32_t first = mode() == Mode::ours ? 1 : calls_before;
  for (auto& of_call : slots_) {
    for (Slot& slot : of_call) slot.next = first;
  }
  for (Slot& slot : meetings_) slot.next = first;
  may_take_.fill(mode() == Mode::ours);
}

bool ProgramComm::decides(Call call, std::int64_t bytes) {
  ++tally_.seen[index(call)];
  Reason reason = Reason::none;
  if (!usable_) {
    reason = Reason::comm;
  } else if (mode() == Mode::mpi) {
    reason = Reason::told;
  } else if (bytes <= 0 && call != Call::barrier) {
    reason = Reason::empty;
  } else if (!fits(call, bytes, num_ranks_)) {
    reason = Reason::size;
  } else {
    Slot& slot = slot_of(call, class_of(bytes));
    if (!decided(call, class_of(bytes), slot)) {
      reason = Reason::early;
    } else if (slot.verdict == Verdict::mpi) {
      reason = slot.why;
    }
  }
  if (reason == Reason::none) return true;
  ++tally_.refused[static_cast<std::size_t>(reason)];
  if (reason != Reason::early) left_of(call, bytes) = {bytes, reason};
  return false;
}

bool ProgramComm::meets(Call call) {
  ++tally_.seen[index(call)];
  Slot& meeting = meetings_[index(call)];
  Reason reason = Reason::none;
  if (!usable_) {
    reason = Reason::comm;
  } else if (mode() == Mode::mpi) {
    reason = Reason::told;
  } else if (meeting.verdict == Verdict::mpi) {
    reason = meeting.why;
  } else if (meeting.verdict == Verdict::unknown) {
    reason = Reason::early;
    if (++meeting.calls >= meeting.next) {
      if (failed_ || (!engine_ && !set_up() && failed_)) {
        meeting.verdict = Verdict::mpi;
        meeting.why = Reason::memory;
      } else if (!engine_) {
        meeting.next *= 2;
      } else if (!engine_->board) {
        meeting.verdict = Verdict::mpi;
        meeting.why = Reason::comm;
      } else {
        meeting.verdict = Verdict::ours;
        reason = Reason::none;
      }
    }
  }
  if (reason != Reason::none) ++tally_.refused[static_cast<std::size_t>(reason)];
  return reason == Reason::none;
}

Reason ProgramComm::agrees(Call call, std::int64_t bytes, bool shown) {
  if (bytes <= 0) return Reason::empty;
  if (!fits(call, bytes, num_ranks_)) return Reason::size;
  Slot& slot = slot_of(call, class_of(bytes));
  if (!decided(call, class_of(bytes), slot)) return Reason::early;
  if (slot.verdict == Verdict::mpi) return slot.why;
  return shown ? Reason::none : Reason::early;
}

void ProgramComm::met(Call call, std::int64_t bytes, Reason refusal) {
  Slot& slot = slot_of(call, std::min(class_of(bytes), num_classes - 1));
  Slot& meeting = meetings_[index(call)];
  const bool is_meeting = meeting.verdict == Verdict::ours;
  Slot& misses = is_meeting ? meeting : slot;
  if (refusal == Reason::none) {
    ++tally_.taken[index(call)];
    tally_.gained_s += slot.gain_s;
    misses.misses = 0;
    return;
  }
  ++tally_.refused[static_cast<std::size_t>(refusal)];
  const std::uint32_t limit = is_meeting ? 8 * most_misses : most_misses;
  if (++misses.misses < limit || mode() == Mode::ours) return;
  misses.verdict = Verdict::mpi;
  misses.why = refusal;
}

void ProgramComm::took(Call call, std::int64_t bytes) {
  ++tally_.taken[index(call)];
  tally_.gained_s += slot_of(call, class_of(bytes)).gain_s;
}

bool ProgramComm::refuse(Call call, Reason reason) {
  ++tally_.seen[index(call)];
  ++tally_.refused[static_cast<std::size_t>(usable_ ? reason : Reason::comm)];
  return false;
}

ProgramComm::Slot& ProgramComm::slot_of(Call call, int size_class) {
  return slots_[index(call)][static_cast<std::size_t>(size_class)];
}

bool ProgramComm::decided(Call call, int size_class, Slot& slot) {
  if (slot.verdict != Verdict::unknown) return true;
  if (++slot.calls >= slot.next) decide(call, size_class, slot);
  return slot.verdict != Verdict::unknown;
}

void ProgramComm::decide(Call call, int size_class, Slot& slot) {
  const Inside inside;
  const bool first = slot.next == calls_before;
  slot.next *= 2;
  if (!engine_ && !failed_) set_up();
  if (failed_ || (engine_ && !(needs_board(call) ? engine_->board.has_value()
                                                 : engine_->reduction.has_value()))) {
    slot.verdict = Verdict::mpi;
    slot.why = failed_ ? Reason::memory : Reason::comm;
    return;
  }
  if (!engine_) return;
  if (mode() == Mode::ours) {
    slot.verdict = Verdict::ours;
    return;
  }
  const std::int64_t bytes = std::int64_t{1} << size_class;
  const Spending spending;
  Measured found;
  if (first) found = find_faster(*engine_, call, bytes, false);
  if (!found.known && may_spend(engine_->comm.raw(), measuring_s)) {
    found = find_faster(*engine_, call, bytes, true);
  }
  if (!found.known) return;
  slot.verdict = found.ours ? Verdict::ours : Verdict::mpi;
  slot.gain_s = found.gain_s;
  may_take_[index(call)] = may_take_[index(call)] || found.ours;
}

bool ProgramComm::set_up() {
  const Inside inside;
  if (mode() != Mode::ours && !may_spend(comm_, setting_up_s)) return false;
  if (num_engines() >= most_engines || uses_graphics_processors()) failed_ = true;
  int failed = failed_ ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm_));
  failed_ = failed != 0;
  if (failed_) return false;
  const Spending spending;
  try {
    engine_ = std::make_unique<Engine>(comm_);
    count_engines(1);
  } catch (const std::exception& error) {
    failed_ = true;
    if (rank_ == 0) say(LogLevel::warning, error.what());
  }
  return !failed_;
}

void ProgramComm::let_go(bool mpi_ends) {
  const Inside inside;
  if (!engine_) return;
  count_engines(-1);
  // Other ranks may still read what lies in the memory; nobody waits here for them.
  if (mpi_ends) {
    static_cast<void>(engine_.release());
  } else {
    engine_.reset();
  }
}

}  // namespace tailrace::plugins
