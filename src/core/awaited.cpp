// SPDX-License-Identifier: BSD-3-Clause
#include "core/awaited.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/at_finalize.hpp"
#include "core/last_resort.hpp"
#include "core/log_lines.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "core/wait.hpp"
#include "core/world_ranks.hpp"

namespace tailrace {

namespace {

constexpr int waiting_tag = 32764;  // of no other messages

thread_local Awaited* waiting = nullptr;  // in whose call this thread waits

int rank_in_world() {
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  return rank;
}

}  // namespace

/// What a rank tells the others of its group.
struct Awaited::Message {
  std::int64_t object = 0, call = 0;
  std::array<char, 48> who{};
};

/// Ranks with objects in common, until MPI_Finalize.
struct Awaited::Group {
  /// Collective, blocking. Not a `Comm`, as it lives as long as MPI.
  Group(const Comm& from, std::vector<int> in_world)
      : world_ranks(std::move(in_world)), here(world_ranks.size()) {
    check_mpi(MPI_Comm_dup(from.raw(), &comm));
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  }

  static std::list<Group>& all() {
    static std::list<Group> groups;
    return groups;
  }
  /// The next message, if there is any: its sender, else -1.
  int receive(Message& message) const {
    int any = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, waiting_tag, comm, &any, &status));
    if (any == 0) return -1;
    check_mpi(MPI_Recv(&message, sizeof message, MPI_BYTE, status.MPI_SOURCE, waiting_tag, comm,
                       MPI_STATUS_IGNORE));
    return status.MPI_SOURCE;
  }

  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> world_ranks;
  std::vector<std::int64_t> calls;  ///< begun on this rank, of each object
  std::vector<bool> here;           ///< ranks that wait in this rank's call, too
  std::list<std::pair<Message, MPI_Request>> sent;
};

#ifdef SMPI_H

// Ranks are coroutines of one process, and simulated seconds mean nothing here.
Awaited::Group* Awaited::group_of(const Comm&) { return nullptr; }
void watch_end_of_mpi() {}

#else

// Main threads make the objects of a group in the same order on all ranks.
Awaited::Group* Awaited::group_of(const Comm& comm) {
  if (comm.num_ranks() == 1) return nullptr;
  int main_thread = 0;
  check_mpi(MPI_Is_thread_main(&main_thread));
  if (!true_on_all(comm, main_thread != 0)) return nullptr;
  auto ranks = world_ranks_of(comm);
  auto& groups = Group::all();
  const auto found = std::ranges::find(groups, ranks, &Group::world_ranks);
  return found != groups.end() ? &*found : &groups.emplace_back(comm, std::move(ranks));
}

void watch_end_of_mpi() {
  // Never destroyed: MPI may have ended before the process does.
  static auto* const at_end = new AtFinalize(tell_end_of_mpi);
  static_cast<void>(at_end);
}

#endif

Awaited::Awaited(const Comm& comm, std::string who) : group_(group_of(comm)), who_(std::move(who)) {
  if (group_ == nullptr) return;
  number_ = group_->calls.size();
  group_->calls.push_back(0);
}

void Awaited::begin() {
  ++call_;
  if (group_ != nullptr) group_->calls[number_] = call_;
}

Awaited::Wait::Wait(Awaited& object)
    : before_(std::exchange(waiting, object.group_ != nullptr ? &object : nullptr)) {
  object.start_s_ = 0;
}
Awaited::Wait::~Wait() { waiting = before_; }

bool waits_in_call() { return waiting != nullptr; }

void tell_long_wait() {
  if (waiting != nullptr) waiting->look();
}

void Awaited::look() {
  const double now = MPI_Wtime(), patience = patience_s();
  if (start_s_ == 0) {
    start_s_ = now;
    next_look_s_ = now + patience / 10;
    next_to_tell_ = 0;
    said_ = false;
    std::fill(group_->here.begin(), group_->here.end(), false);
  }
  if (now < next_look_s_) return;
  next_look_s_ = now + patience / 20;
  hear();
  tell();
  if (!said_ && now - start_s_ > patience / 2) say_late(now - start_s_);
}

// A few at a time, as all ranks may wait for one.
void Awaited::tell() {
  std::erase_if(group_->sent, [](auto& one) { return is_done(one.second); });
  Message message{.object = static_cast<std::int64_t>(number_), .call = call_};
  who_.copy(message.who.data(), message.who.size() - 1);
  const auto num_ranks = static_cast<int>(group_->world_ranks.size());
  for (int told = 0; told < 64 && next_to_tell_ < num_ranks; ++told, ++next_to_tell_) {
    auto& [sent, request] = group_->sent.emplace_back(message, MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(&sent, sizeof sent, MPI_BYTE, next_to_tell_, waiting_tag, group_->comm,
                        &request));
  }
}

// Its own message, too.
void Awaited::hear() {
  Message message;
  for (int rank = group_->receive(message); rank >= 0; rank = group_->receive(message)) {
    if (message.object == static_cast<std::int64_t>(number_) && message.call == call_) {
      group_->here[static_cast<std::size_t>(rank)] = true;
    }
  }
}

// The first rank that waits says it.
void Awaited::say_late(double waited_s) {
  said_ = true;
  const auto& here = group_->here;
  const int own = rank_in_world();
  std::vector<int> late;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const int rank = group_->world_ranks[i];
    if (here[i] && rank < own) return;
    if (!here[i] && rank != own) late.push_back(rank);
  }
  say_now(LogLevel::warning,
          fmt::format("rank {}: call {} of {} has waited {:.3g} s for {}", own, call_, who_,
                      waited_s, late.empty() ? "a message of MPI" : detail::name_ranks(late)));
}

// A message of an older call was for a wait that has ended.
void tell_end_of_mpi() {
  std::list<MPI_Request> ends;
  try {
    for (auto& group : Awaited::Group::all()) {
      check_mpi(MPI_Ibarrier(group.comm, &ends.emplace_back(MPI_REQUEST_NULL)));
    }
    wait_until(WaitPolicy{}, [&] {
      for (const auto& group : Awaited::Group::all()) {
        Awaited::Message message;
        for (int rank = group.receive(message); rank >= 0; rank = group.receive(message)) {
          const auto object = static_cast<std::size_t>(message.object);
          if (object < group.calls.size() && message.call <= group.calls[object]) continue;
          const int own = rank_in_world();
          end_job(own, fmt::format("rank {} waits in call {} of {} for rank {}, which has called "
                                   "MPI_Finalize",
                                   group.world_ranks[static_cast<std::size_t>(rank)], message.call,
                                   message.who.data(), own));
        }
      }
      std::erase_if(ends, [](MPI_Request& request) { return is_done(request); });
      return ends.empty();
    });
    for (auto& group : Awaited::Group::all()) {
      for (auto& one : group.sent) wait_for(one.second, WaitPolicy{});
      MPI_Comm_free(&group.comm);
    }
  } catch (const std::exception&) {
    // MPI ends anyway.
  }
}

}  // namespace tailrace
