// SPDX-License-Identifier: BSD-3-Clause
// The compute side of an output: what the ranks agree on in a write, and what a step needs.
#include "server/output_state.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "chooser/absolute_path.hpp"
#include "core/agreed_error.hpp"
#include "core/same_on_all.hpp"
#include "core/say.hpp"
#include "core/wait.hpp"
#include "move/strided_copy.hpp"
#include "server/step_file.hpp"

namespace tailrace {
namespace {

constexpr std::int64_t after_all_steps = 1'000'000'000'000;  // number of a failure of no step
constexpr double longest_wait_s = 0.1;                       // news end it

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(1e9 * seconds); }
double seconds(std::int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

/// Ends copies from devices at the end of a call, however it ends.
class EndOfCopies {
 public:
  explicit EndOfCopies(DeviceCopies& copies) : copies_(copies) {}
  ~EndOfCopies() { copies_.end(); }
  EndOfCopies(const EndOfCopies&) = delete;
  EndOfCopies& operator=(const EndOfCopies&) = delete;

 private:
  DeviceCopies& copies_;
};

/// Adds the time until it goes to `sum_s`.
class Timed {
 public:
  explicit Timed(double& sum_s) : sum_s_(sum_s) {}
  ~Timed() { sum_s_ += now_s() - start_s_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& sum_s_;
  double start_s_ = now_s();
};

}  // namespace

using server::Overflow;
using server::Situation;

Output::State::State(std::string its_name, OutputOptions options, Meeting& meeting,
                     const Comm& comm)
    : name_(std::move(its_name)),
      options_(std::move(options)),
      comm_(comm),
      trace_(options_.trace),
      meeting_(meeting),
      overflow_(options_),
      opened_s_(now_s()) {
  if (!options_.series.empty()) series_.emplace(options_);
}

OutputStatistics Output::State::statistics() const {
  auto now = statistics_;
  now.run_s = now_s() - opened_s_;
  return now;
}

// The description of a lowered step is as long as that of the step itself.
WriteResult Output::State::write(const std::string& path, const FileContents& given) {
  const Timed call(statistics_.call_s);
  const EndOfCopies end_of_copies(device_);
  progress();
  const auto& filled = with_defaults_.of(given, comm_.rank(), comm_.num_ranks());
  const auto& contents = series_ ? series_->with_time(filled) : filled;
  auto problem = store::check_contents(contents, comm_.rank(), comm_.num_ranks());
  if (!problem && path.empty()) {
    problem = Error(Errc::invalid_input, who() + ": the path is empty");
  }
  if (!problem) {
    problem = failure_of([&] { server::check_compression(options_, path, contents); });
  }
  if (!problem && series_) problem = series_->check(path, contents);
  bool fits = false;
  if (!problem) problem = failure_of([&] { find_device_arrays(contents); });
  if (!problem) problem = failure_of([&] { prepare(path, contents); });
  if (!problem) {
    try_reserve();
    fits = room_for_ == Reserved::step;
    problem = never_fits();  // memory that the node did not have is not counted any more
  }
  const Asked asked{"write", path, contents, start_of_path(path)};
  auto votes = vote(asked, problem, fits);
  if (!problem) vote_more(path, contents, votes);
  meet("write", votes);
  auto situation = hear(votes, asked, problem);
  if (shapes_changed_ || series_) {
    try {
      if (series_) continue_series(path, contents);
      if (shapes_changed_) take_shapes(contents);
    } catch (const Error&) {
      give_room_back();
      throw;
    }
  }
  auto choice = overflow_.first(situation);
  if (choice.action == Overflow::Action::wait) {
    wait_for_room(choice);
    votes = vote(asked, std::nullopt, room_for_ == Reserved::step);
    {
      const Timed agreeing(statistics_.agree_s);
      reduce(votes);
    }
    situation = hear(votes, asked, std::nullopt);
    choice = overflow_.after_wait(situation);
  }
  ++statistics_.steps;
  return carry_out(choice.action, path, contents);
}

// Before the first step is on its way to those who write.
void Output::State::continue_series(const std::string& path, const FileContents& contents) {
  if (!series_->begun()) {
    run_agreed(comm_.raw(), [&] {
      if (comm_.rank() == 0) series_->begin(path, contents);
    });
  }
  series_->note(path, contents);
}

void Output::State::progress() {
  if (!closed_) advance();
}

void Output::State::finish() {
  if (closed_) return;
  const Timed call(statistics_.call_s);
  meet("finish");
  wait_for_all(statistics_.end_s);
}

void Output::State::finish_or_say() noexcept {
  while (!closed_) {
    const auto left = under_way_.size() + failures_.size();
    try {
      wait_for_all(statistics_.end_s);
      return;
    } catch (const std::exception& error) {
      if (comm_.rank() == 0) say(LogLevel::error, fmt::format("{} lost: {}", who(), error.what()));
      if (gone() || under_way_.size() + failures_.size() >= left) return;
    }
  }
}

void Output::State::wait_for_all(double& waited_s) {
  const Span span(trace_, Activity::wait, "wait for output");
  const Timed waiting(waited_s);
  const std::string path;
  const FileContents nothing;
  const Asked asked{"finish", path, nothing};
  const auto meet_with = [&](const std::optional<Error>& problem) {
    auto votes = vote(asked, problem, true);
    reduce(votes);
    hear(votes, asked, problem);
  };
  while (has_spilled()) {
    wait(longest_wait_s);
    progress();
    meet_with(std::nullopt);
  }
  double heard_s = now_s();
  while (!gone() && !all_ended() && now_s() - heard_s < options_.wait_limit_s) {
    const auto before = under_way_.size();
    wait(longest_wait_s);
    progress();
    if (under_way_.size() != before) heard_s = now_s();
  }
  std::optional<Error> problem;
  if (!gone() && !all_ended()) {
    problem = Error(Errc::io, fmt::format("{}: {} (step {}) is not on disk after {} s", who(),
                                          under_way_.front().path, under_way_.front().step,
                                          options_.wait_limit_s));
  }
  meet_with(problem);
}

Output::State::Votes Output::State::vote(const Asked& asked, const std::optional<Error>& problem,
                                         bool fits) {
  Votes votes{};
  votes[Vote::right] = problem ? comm_.rank() : none;
  votes[Vote::digest] = static_cast<std::int64_t>(
      add_to_digest(store::digest_of(asked.path, asked.contents), asked.start) >> 1);
  votes[Vote::minus_digest] = -votes[Vote::digest];
  const auto key = [&](std::int64_t number) { return number * comm_.num_ranks() + comm_.rank(); };
  votes[Vote::failed] = none;
  if (gone()) votes[Vote::failed] = key(after_all_steps);
  if (!failures_.empty()) votes[Vote::failed] = key(failures_.front().handed.number);
  votes[Vote::room] = fits ? 1 : 0;
  votes[Vote::room_lowered] = fits || room_for_ == Reserved::lowered_step ? 1 : 0;
  const bool may_spill = options_.when_full == WhenFull::spill && !asked.path.empty() && !problem;
  votes[Vote::can_spill] = may_spill && can_spill_now() ? 1 : 0;
  votes[Vote::minus_run_ns] = -nanoseconds(now_s() - opened_s_);
  votes[Vote::minus_seen_ns] = -nanoseconds(statistics_.call_s);
  votes[Vote::unchanged] = 1;
  votes[Vote::ended] = first_heard();
  votes[Vote::minus_num_failed] = -statistics_.failed;
  votes[Vote::plan] = none;
  votes[Vote::minus_device] = device_.any() ? -1 : 0;
  return votes;
}

void Output::State::meet(const char* what, std::span<std::int64_t> votes) {
  static_assert(Vote::num_votes <= Meeting::most_votes);
  const Timed agreeing(statistics_.agree_s);
  try {
    meeting_.begin(name_.empty() ? what : std::string(what) + " of output " + name_, votes);
  } catch (const Error&) {
    give_room_back();
    throw;
  }
}

void Output::State::give_room_back() {
  unreserve();
  room_for_ = Reserved::nothing;
}

// In the middle of a call, which no rank can leave.
void Output::State::reduce(Votes& votes) {
  const Votes own = votes;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(own.data(), votes.data(), Vote::num_votes, MPI_INT64_T, MPI_MIN,
                           comm_.raw(), &request));
  wait_until(WaitPolicy{}, [&] {
    if (is_done(request)) return true;
    advance();
    return false;
  });
}

Situation Output::State::hear(const Votes& votes, const Asked& asked,
                              const std::optional<Error>& problem) {
  const bool alike = votes[Vote::digest] == -votes[Vote::minus_digest];
  if (votes[Vote::right] != none || votes[Vote::failed] != none || !alike) {
    give_room_back();
  }
  if (votes[Vote::right] != none) agree(comm_.raw(), problem ? &*problem : nullptr);
  if (!alike) store::require_alike(comm_, who(), asked.path, asked.contents);
  if (votes[Vote::failed] != none) throw_failure(votes);
  settle(votes);
  hear_votes(votes);
  any_on_device_ = votes[Vote::minus_device] < 0;
  shapes_changed_ = votes[Vote::unchanged] == 0;
  return {votes[Vote::room] == 1, votes[Vote::room_lowered] == 1, votes[Vote::can_spill] == 1,
          seconds(-votes[Vote::minus_run_ns]), seconds(-votes[Vote::minus_seen_ns])};
}

/// The oldest step under way of which this rank hears itself.
std::int64_t Output::State::first_heard() const {
  const auto first = std::ranges::find(under_way_, true, &Handed::hears);
  return first == under_way_.end() ? none : first->number;
}

// What others have heard, of steps of which this rank does not hear.
void Output::State::settle(const Votes& votes) {
  auto num_failed = std::max<std::int64_t>(0, -votes[Vote::minus_num_failed] - statistics_.failed);
  std::erase_if(under_way_, [&](const Handed& step) {
    if (step.hears || step.number >= votes[Vote::ended]) return false;
    if (num_failed > 0) {
      --num_failed;
      ++statistics_.failed;
    } else {
      ++statistics_.complete;
      last_complete_ = step.path;
    }
    return true;
  });
  note_all_ended(std::min(votes[Vote::ended], num_handed_));
}

void Output::State::exchange_news() {
  const std::string path;
  const FileContents nothing;
  auto votes = vote({"news", path, nothing}, std::nullopt, true);
  reduce(votes);
  settle(votes);
}

// The rank that knows of the oldest failure tells the others, which may not have heard yet.
void Output::State::throw_failure(const Votes& votes) {
  const std::int64_t number = votes[Vote::failed] / comm_.num_ranks();
  const int root = static_cast<int>(votes[Vote::failed] % comm_.num_ranks());
  std::optional<Error> failure;
  Handed step{number, -1, "", 0};
  for (const auto& handed : under_way_) {
    if (handed.number == number) step = handed;
  }
  for (const auto& known : failures_) {
    if (known.handed.number == number) step = known.handed;
  }
  if (root == comm_.rank()) {
    failure = number < after_all_steps ? failures_.front().error : gone();
  }
  if (number < after_all_steps) {
    told_ = std::max(told_, number);
    std::erase_if(failures_, [&](const auto& known) { return known.handed.number <= told_; });
  }
  settle(votes);
  try {
    throw_together(comm_.raw(), root, std::move(failure));
  } catch (const AgreedError& error) {
    throw AgreedError(error.code(), error.what(), error.sys_errno(),
                      {error.place().rank, step.path, step.step});
  }
}

void Output::State::note_handed(const std::string& path, std::int64_t step, bool hears) {
  under_way_.push_back({num_handed_++, step, path, now_s(), hears});
}

void Output::State::set_hears(std::int64_t number, bool hears) {
  const auto step = std::ranges::find(under_way_, number, &Handed::number);
  if (step != under_way_.end()) step->hears = hears;
}

// A restarted server may tell again what is known.
void Output::State::end_step(Ended told) {
  const auto handed = std::ranges::find(under_way_, told.number, &Handed::number);
  if (handed == under_way_.end()) return;
  const double passed_s = now_s() - handed->handed_s;
  statistics_.write_s += told.write_s;
  statistics_.writer_cpu_s += told.cpu_s;
  statistics_.written_bytes += told.written_bytes;
  if (told.failure) {
    ++statistics_.failed;
    if (options_.on_failure == OnFailure::stop && told.number > told_) {
      failures_.push_back({*handed, std::move(*told.failure)});
    }
  } else {
    ++statistics_.complete;
    last_complete_ = handed->path;
  }
  const double slowest_s = std::min(passed_s, std::max(told.seconds, 0.0));
  if (slowest_s > statistics_.slowest_s) {
    statistics_.slowest_s = slowest_s;
    statistics_.slowest_step = handed->step;
  }
  under_way_.erase(handed);
}

void Output::State::try_reserve() {
  room_for_ = Reserved::nothing;
  if (reserve(false)) {
    room_for_ = Reserved::step;
  } else if (options_.when_full == WhenFull::lower && reserve(true)) {
    room_for_ = Reserved::lowered_step;
  }
}

void Output::State::find_device_arrays(const FileContents& contents) {
  given_arrays_.clear();
  for (const auto& variable : contents.variables) given_arrays_.push_back(variable.data);
  device_.begin(given_arrays_, contents.stream);
}

void Output::State::agree_on_copies(const std::string& path, std::int64_t step,
                                    std::optional<Error> failure) {
  if (!any_on_device_) return;
  if (failure) failure = about(fmt::format("{}: {} (step {})", who(), path, step), *failure);
  try {
    agree(comm_.raw(), failure ? &*failure : nullptr);
  } catch (const Error&) {
    ++statistics_.failed;
    throw;
  }
}

const FileContents& Output::State::on_host(const std::string& path, const FileContents& contents) {
  if (!any_on_device_) return contents;
  auto failure = failure_of([&] { copy_to_host(contents); });
  agree_on_copies(path, contents.step, std::move(failure));
  any_on_device_ = false;
  return copied_;
}

// In the same form.
void Output::State::copy_to_host(const FileContents& contents) {
  copied_ = contents;
  host_memory_.resize(contents.variables.size());
  for (std::size_t v = 0; v < contents.variables.size(); ++v) {
    const auto& given = contents.variables[v];
    if (!device_.on_device(given.data)) continue;
    const auto item = item_bytes(given.type);
    if (host_memory_[v].bytes() < given.memory.num_items * item) {
      host_memory_[v] = Buffer(given.memory.num_items * item, false);
    }
    const auto boxes = given.layout->boxes(comm_.rank());
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      const auto side = side_of(boxes[b], boxes[b], given.memory.boxes[b]);
      device_.run(StridedCopy(boxes[b], side, side, item), given.data, host_memory_[v].data());
    }
    copied_.variables[v].data = host_memory_[v].data();
  }
  device_.finish();
}

void Output::State::wait_for_room(const Overflow::Choice& choice) {
  const Span span(trace_, Activity::wait, "wait for room");
  const Timed waiting(statistics_.room_s);
  const double end_s = now_s() + choice.limit_s;
  if (room_for_ == Reserved::lowered_step && !choice.lowered_will_do) {
    give_room_back();
  }
  while (room_for_ == Reserved::nothing && failures_.empty() && !gone()) {
    const double left_s = end_s - now_s();
    if (left_s <= 0) break;
    wait(std::min(longest_wait_s, left_s));
    progress();
    if (reserve(false)) {
      room_for_ = Reserved::step;
    } else if (choice.lowered_will_do && reserve(true)) {
      room_for_ = Reserved::lowered_step;
    }
    if (const auto never = never_fits()) fail(*never);
  }
}

WriteResult Output::State::carry_out(Overflow::Action action, const std::string& path,
                                     const FileContents& contents) {
  const auto take = [&](bool lowered, WriteResult result) {
    room_for_ = Reserved::nothing;
    hand_over(path, contents, lowered);
    if (!writes_in_call()) return result;
    const auto num_failed = statistics_.failed;
    wait_for_all(statistics_.agree_s);
    return statistics_.failed == num_failed ? WriteResult::written : WriteResult::dropped;
  };
  switch (action) {
    case Overflow::Action::take:
      return take(false, WriteResult::staged);
    case Overflow::Action::lower:
      if (room_for_ == Reserved::step) {
        unreserve();
        if (!reserve(true)) throw Error(Errc::internal, "a lowered step needs more room");
      }
      ++statistics_.lowered;
      return take(true, WriteResult::lowered);
    case Overflow::Action::spill:
      unreserve();
      spill(path, contents);
      ++statistics_.spilled;
      return WriteResult::spilled;
    case Overflow::Action::thin:
      ++statistics_.thinned;
      break;
    case Overflow::Action::drop:
      ++statistics_.dropped;
      break;
    case Overflow::Action::wait:
      unreserve();
      throw Error(Errc::io, fmt::format("{}: {} (step {}): no room in staging memory after waiting "
                                        "for {} s",
                                        who(), path, contents.step, options_.wait_limit_s));
  }
  give_room_back();
  return WriteResult::dropped;
}

}  // namespace tailrace
