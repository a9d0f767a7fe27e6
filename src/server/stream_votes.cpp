// SPDX-License-Identifier: BSD-3-Clause
// What the compute ranks agree on in a write: one reduction by minimum.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/agreed_error.hpp"
#include "core/same_on_all.hpp"
#include "core/wait.hpp"
#include "server/served_stream.hpp"
#include "store/contents_check.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr double none = std::numeric_limits<double>::max();
constexpr double after_all_steps = 1e12;  // the number of a failure that is of no step

/// So much of a digest as a double holds.
double whole(std::uint64_t digest) { return static_cast<double>(digest >> 14); }

}  // namespace

ServedStream::Votes ServedStream::vote(const Asked& asked, const std::optional<Error>& problem,
                                       bool fits) {
  const auto& team = client_.team();
  Votes votes{};
  votes[right] = problem ? team.client : none;
  votes[digest] = whole(add_to_digest(store::digest_of(asked.path, asked.contents), asked.start));
  votes[minus_digest] = -votes[digest];
  const auto key = [&](double number) { return number * team.num_clients() + team.client; };
  votes[failed] = none;
  if (client_.gone()) votes[failed] = key(after_all_steps);
  if (!failures_.empty()) votes[failed] = key(static_cast<double>(failures_.front().notice.number));
  votes[room] = fits ? 1 : 0;
  votes[room_lowered] = fits || room_for_ == Reserved::lowered_step ? 1 : 0;
  votes[can_spill] = 0;
  if (options_.when_full == WhenFull::spill) {
    votes[can_spill] = spill_.has_room(step_bytes_) ? 1 : 0;
  }
  votes[minus_run_s] = -(now_s() - opened_s_);
  votes[minus_seen_s] = -statistics_.call_s;
  votes[unchanged] = 1;
  return votes;
}

// Naps leave the core to ranks that still compute, and data on its way goes on.
void ServedStream::reduce(std::span<double> values) {
  const double start_s = now_s();
  MPI_Request request = MPI_REQUEST_NULL;
  std::array<double, num_votes> own{};
  std::ranges::copy(values, own.begin());
  check_mpi(MPI_Iallreduce(own.data(), values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                           MPI_MIN, client_.team().compute->raw(), &request));
  wait_until(WaitPolicy{}, [&] {
    if (is_done(request)) return true;
    client_.progress();
    return false;
  });
  statistics_.agree_s += now_s() - start_s;
}

Situation ServedStream::agree_on(Votes votes, const Asked& asked,
                                 const std::optional<Error>& problem) {
  const auto& comm = *client_.team().compute;
  reduce(votes);
  const bool alike = votes[digest] == -votes[minus_digest];
  if (votes[right] != none || votes[failed] != none || !alike) unreserve();
  if (votes[right] != none) agree(comm.raw(), problem ? &*problem : nullptr);
  if (!alike) store::require_alike(comm, "stream " + name_, asked.path, asked.contents);
  if (votes[failed] != none) throw_failure(votes[failed]);
  shapes_changed_ = votes[unchanged] == 0;
  return {votes[room] == 1, votes[room_lowered] == 1, votes[can_spill] == 1, -votes[minus_run_s],
          -votes[minus_seen_s]};
}

// The rank that knows of the oldest failure tells the others, which may not have heard yet.
void ServedStream::throw_failure(double key) {
  const auto& comm = *client_.team().compute;
  const auto clients = static_cast<double>(comm.num_ranks());
  const double number = std::floor(key / clients);
  const int root = static_cast<int>(key - number * clients);
  std::optional<Error> failure;
  if (root == comm.rank()) {
    failure = client_.gone();
    if (number < after_all_steps) {
      const auto& [notice, text] = failures_.front();
      failure = Error(static_cast<Errc>(notice.code), text, notice.sys_errno);
    }
  }
  if (number < after_all_steps) {
    told_ = std::max(told_, static_cast<std::int64_t>(number));
    std::erase_if(failures_, [&](const auto& told) { return told.notice.number <= told_; });
  }
  throw_together(comm.raw(), root, std::move(failure));
}

void ServedStream::take_notices() {
  WholeNotice told;
  while (client_.take_notice(number_of_stream_, told)) take(told);
}

// A restarted server may tell again what is known.
void ServedStream::take(const WholeNotice& told) {
  const auto& notice = told.notice;
  const auto handed = std::ranges::find(under_way_, notice.number, &Handed::number);
  if (handed == under_way_.end()) return;
  const double seconds = now_s() - handed->handed_s;
  if (notice.kind == Notice::Kind::failed) {
    ++statistics_.failed;
    if (options_.on_failure == OnFailure::stop && notice.number > told_) {
      failures_.push_back(told);
    }
  } else {
    ++statistics_.complete;
    if (client_.team().client == 0) statistics_.written_bytes += notice.bytes;
    last_complete_ = handed->path;
  }
  statistics_.write_s += notice.write_s;
  const double slowest = std::min(seconds, std::max(notice.seconds, 0.0));
  if (slowest > statistics_.slowest_s) {
    statistics_.slowest_s = slowest;
    statistics_.slowest_step = handed->step;
  }
  under_way_.erase(handed);
}

}  // namespace tailrace::server
