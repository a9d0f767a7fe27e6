// SPDX-License-Identifier: BSD-3-Clause
// What the compute ranks agree on in a write: the votes of one meeting.
#include <algorithm>
#include <limits>

#include "core/agreed_error.hpp"
#include "core/same_on_all.hpp"
#include "server/served_stream.hpp"
#include "store/contents_check.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t after_all_steps = 1'000'000'000'000;  // number of a failure of no step

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(1e9 * seconds); }
double seconds(std::int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

}  // namespace

ServedStream::Votes ServedStream::vote(const Asked& asked, const std::optional<Error>& problem,
                                       bool fits) {
  const auto& team = client_.team();
  Votes votes{};
  votes[right] = problem ? team.client : none;
  votes[digest] = static_cast<std::int64_t>(
      add_to_digest(store::digest_of(asked.path, asked.contents), asked.start) >> 1);
  votes[minus_digest] = -votes[digest];
  const auto key = [&](std::int64_t number) { return number * team.num_clients() + team.client; };
  votes[failed] = none;
  if (client_.gone()) votes[failed] = key(after_all_steps);
  if (!failures_.empty()) votes[failed] = key(failures_.front().notice.number);
  votes[room] = fits ? 1 : 0;
  votes[room_lowered] = fits || room_for_ == Reserved::lowered_step ? 1 : 0;
  votes[can_spill] = 0;
  if (options_.when_full == WhenFull::spill) {
    votes[can_spill] = spill_.has_room(step_bytes_) ? 1 : 0;
  }
  votes[minus_run_ns] = -nanoseconds(now_s() - opened_s_);
  votes[minus_seen_ns] = -nanoseconds(statistics_.call_s);
  votes[unchanged] = 1;
  return votes;
}

Situation ServedStream::agree_on(Votes votes, const Asked& asked,
                                 const std::optional<Error>& problem) {
  const auto& comm = *client_.team().compute;
  const double start_s = now_s();
  try {
    meet(asked.call, votes);
  } catch (const Error&) {
    unreserve();
    throw;
  }
  statistics_.agree_s += now_s() - start_s;
  const bool alike = votes[digest] == -votes[minus_digest];
  if (votes[right] != none || votes[failed] != none || !alike) unreserve();
  if (votes[right] != none) agree(comm.raw(), problem ? &*problem : nullptr);
  if (!alike) store::require_alike(comm, "stream " + name_, asked.path, asked.contents);
  if (votes[failed] != none) throw_failure(votes[failed]);
  shapes_changed_ = votes[unchanged] == 0;
  return {votes[room] == 1, votes[room_lowered] == 1, votes[can_spill] == 1,
          seconds(-votes[minus_run_ns]), seconds(-votes[minus_seen_ns])};
}

// The rank that knows of the oldest failure tells the others, which may not have heard yet.
void ServedStream::throw_failure(std::int64_t key) {
  const auto& comm = *client_.team().compute;
  const std::int64_t number = key / comm.num_ranks();
  const int root = static_cast<int>(key % comm.num_ranks());
  std::optional<Error> failure;
  if (root == comm.rank()) {
    failure = client_.gone();
    if (number < after_all_steps) {
      const auto& [notice, text] = failures_.front();
      failure = Error(static_cast<Errc>(notice.code), text, notice.sys_errno);
    }
  }
  if (number < after_all_steps) {
    told_ = std::max(told_, number);
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
  const double passed_s = now_s() - handed->handed_s;
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
  const double slowest = std::min(passed_s, std::max(notice.seconds, 0.0));
  if (slowest > statistics_.slowest_s) {
    statistics_.slowest_s = slowest;
    statistics_.slowest_step = handed->step;
  }
  under_way_.erase(handed);
}

}  // namespace tailrace::server
