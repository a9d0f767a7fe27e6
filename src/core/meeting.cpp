// SPDX-License-Identifier: BSD-3-Clause
#include "core/meeting.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/last_resort.hpp"
#include "core/log_lines.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "core/wait.hpp"

namespace tailrace {

namespace {

constexpr int waiting_tag = 32765;  // of no other messages

std::int64_t digest_of_call(std::string_view text) {
  std::uint64_t sum = text.size() + 1;
  for (const char c : text) sum = add_to_digest(sum, static_cast<unsigned char>(c));
  return static_cast<std::int64_t>(sum >> 1);
}

}  // namespace

Meeting::Meeting(const Comm& comm, Settings settings)
    : comm_(comm), settings_(std::move(settings)) {
  const int num_ranks = comm.num_ranks();
  // On several nodes, as the ranks of one may all be missing.
  speakers_ = {0, std::min(1, num_ranks - 1), num_ranks / 2, num_ranks - 1};
  tells_.fill(MPI_REQUEST_NULL);
}

Meeting::~Meeting() {
  if (detail::mpi_is_finalized()) return;
  end_requests(tells_);
  try {
    if (may_speak(comm_.rank())) hear();
  } catch (const std::exception&) {
    // Messages that nobody needs.
  }
}

void Meeting::begin(std::string_view call, std::span<std::int64_t> votes) {
  meet(call, Role::caller, votes);
}

void Meeting::begin_last(std::string_view call) { meet(call, Role::ender, {}); }

void Meeting::leave(Leaving how) noexcept {
  if (std::exchange(left_, true) || detail::mpi_is_finalized()) return;
  const auto role = how == Leaving::failed      ? Role::failed
                    : how == Leaving::finalized ? Role::finalized
                                                : Role::destroyed;
  try {
    meet("the end", role, {});
  } catch (const std::exception& error) {
    end_job(comm_, fmt::format("{} cannot be ended: {}", settings_.who, error.what()));
  }
}

void Meeting::meet(std::string_view call, Role role, std::span<std::int64_t> votes) {
  const auto rank = comm_.rank();
  const bool leaves = role != Role::caller && role != Role::ender;
  own_[digest] = role == Role::caller ? digest_of_call(call) : 0;
  own_[minus_digest] = -own_[digest];
  own_[failed_rank] = role == Role::failed ? rank : none;
  own_[sound_rank] = role != Role::failed ? rank : none;
  own_[leaver] = leaves ? 8 * static_cast<std::int64_t>(rank) + static_cast<int>(role) : none;
  own_[caller] = role == Role::caller ? rank : none;
  // As many numbers from all ranks, whatever they call.
  std::fill(std::ranges::copy(votes, own_.begin() + num_own).out, own_.end(), none);
  ++number_;
  said_ = false;
  here_.clear();
  if (may_speak(rank)) hear();  // so that messages of earlier meetings do not pile up
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(own_.data(), all_.data(), static_cast<int>(own_.size()), MPI_INT64_T,
                           MPI_MIN, comm_.raw(), &request));
  const double start_s = MPI_Wtime();
  wait_until(WaitPolicy{}, [&] {
    if (is_done(request)) return true;
    if (settings_.meanwhile) settings_.meanwhile();
    watch(call, role, MPI_Wtime() - start_s);
    return false;
  });
  judge(call, role);
  std::copy_n(all_.begin() + num_own, votes.size(), votes.begin());
}

// Alike on all ranks.
void Meeting::judge(std::string_view call, Role role) {
  const bool calls = all_[caller] != none;
  const bool split = all_[failed_rank] != none && all_[sound_rank] != none;
  if (!split && !(calls && all_[leaver] != none)) {
    if (all_[digest] == -all_[minus_digest]) return;
    const CommonArgument made{"the call", std::string(call)};
    require_same(comm_, settings_.who, {&made, 1});
    return;
  }
  // One rank says it; the others come after it, if need be.
  const auto speaker = calls ? all_[caller] : all_[sound_rank];
  save(comm_.rank() == speaker);
  const auto who = split ? all_[failed_rank] : all_[leaver] / 8;
  const auto how = split ? Role::failed : static_cast<Role>(all_[leaver] % 8);
  end_job(comm_, fmt::format("{}: {} waits for rank {}, which {}", settings_.who,
                             role == Role::caller || role == Role::ender ? call : "its end", who,
                             how == Role::failed      ? "has left it by an exception"
                             : how == Role::finalized ? "has called MPI_Finalize"
                                                      : "has destroyed it"));
}

// All ranks are here, so what they have begun together can end.
void Meeting::save(bool speaks) const {
  const double end_s = MPI_Wtime() + (speaks ? 1 : 2) * patience_s();
  while (MPI_Wtime() < end_s) {
    const bool safe = !settings_.all_safe || settings_.all_safe();
    if (speaks && safe) return;
    nap(WaitPolicy{}, WaitPolicy{}.longest_nap_s);
  }
}

// In a long wait: who else waits, and what that means.
void Meeting::watch(std::string_view call, Role role, double waited_s) {
  const double patience = patience_s();
  if (waited_s < patience / 10) return;
  if (role == Role::failed && waited_s > patience) {
    end_job(comm_, fmt::format("{} was left by an exception, and the other ranks have not ended "
                               "theirs for {} s",
                               settings_.who, patience));
  }
  if (told_ != number_) tell();
  const bool listens = may_speak(comm_.rank());
  if (listens) {
    note(comm_.rank());
    hear();
  }
  const bool speaks = listens && std::ranges::none_of(speakers_, [&](int rank) {
                        return rank < comm_.rank() && here_[static_cast<std::size_t>(rank)];
                      });
  if (speaks && !said_ && waited_s > patience / 2) {
    said_ = true;
    say_now(LogLevel::warning, fmt::format("rank {}: {}: {} has waited {:.3g} s for {}",
                                           comm_.rank(), settings_.who, call, waited_s, missing()));
  }
  const bool limited = settings_.limit_s > 0 && role == Role::caller;
  if (limited && waited_s > settings_.limit_s + (speaks ? 0 : patience)) {
    end_job(comm_, fmt::format("{}: {} has waited {:.3g} s (watchdog_s) for {}", settings_.who,
                               call, waited_s, listens ? missing() : "other ranks"));
  }
}

bool Meeting::may_speak(int rank) const {
  return std::ranges::find(speakers_, rank) != speakers_.end();
}

void Meeting::tell() {
  int ended = 0;
  check_mpi(MPI_Testall(num_speakers, tells_.data(), &ended, MPI_STATUSES_IGNORE));
  if (ended == 0) return;
  told_ = number_;
  for (std::size_t s = 0; s < num_speakers; ++s) {
    const bool again = std::find(speakers_.begin(), speakers_.begin() + static_cast<long>(s),
                                 speakers_[s]) != speakers_.begin() + static_cast<long>(s);
    if (again || speakers_[s] == comm_.rank()) continue;
    check_mpi(
        MPI_Isend(&told_, 1, MPI_INT64_T, speakers_[s], waiting_tag, comm_.raw(), &tells_[s]));
  }
}

void Meeting::hear() {
  for (;;) {
    int any = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, waiting_tag, comm_.raw(), &any, &status));
    if (any == 0) return;
    std::int64_t number = 0;
    check_mpi(MPI_Recv(&number, 1, MPI_INT64_T, status.MPI_SOURCE, waiting_tag, comm_.raw(),
                       MPI_STATUS_IGNORE));
    if (number == number_) note(status.MPI_SOURCE);
  }
}

void Meeting::note(int rank) {
  here_.resize(static_cast<std::size_t>(comm_.num_ranks()));
  here_[static_cast<std::size_t>(rank)] = true;
}

std::string Meeting::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
    if (!here_[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
  }
  return ranks.empty() ? "a message of MPI" : detail::name_ranks(ranks);
}

}  // namespace tailrace
