// SPDX-License-Identifier: BSD-3-Clause
// Screening, rounds, null test. Slow candidates leave early, so that the budget goes to the close
// ones:
//   once each:      results compared (this also warms up);
//   single runs:    those 50 times slower than the best leave;
//   some rounds:    those twice as slow leave;
//   rounds with the best one entered twice: those 1.3 times as slow leave, until all is clear.
// Where a run is long, what disturbs it is a small part of it, and many would take seconds: then
// the shortest of a few single runs counts, and after each round those leave that are behind by
// more than so few may mislead.
// A sample is a batch of runs, long against clock and start. The order within a round is drawn
// anew. Candidates are compared by the ratios of their samples of the same rounds.
#include "tune/candidate_timer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "chooser/decide.hpp"
#include "core/say.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::tune {

namespace {

using chooser::first_as_good;
using chooser::largest_no_difference;
using chooser::least_difference;
using chooser::median;
using chooser::null_spread;
using chooser::ratio;
using chooser::spread;

constexpr double sample_s = 300e-6;  // a sample lasts at least so long
constexpr int most_runs = 4000;      // in a sample
constexpr int least_screening_rounds = 4;
constexpr int most_screening_rounds = 24;
constexpr int least_rounds = 3;           // even over the budget
constexpr int rounds_between_looks = 20;  // at whether the matter is clear
constexpr int most_rounds = 400;
constexpr double long_run_s = 2.5e-3;
/// After so many single runs, those leave that took so many times as long as the best one.
constexpr std::array long_run_limits{2.0, 1.3, 1.15, 1.1, 1.06};

/// "1.5 us"
std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

/// What `action` fails with on the lowest rank that it fails on, "" if on none; `code` is its kind.
template <class Action>
std::string failure_of(const Comm& comm, Errc& code, Action&& action) {
  try {
    run_agreed(comm.raw(), action);
  } catch (const Error& error) {
    code = error.code();
    return error.what();
  }
  return "";
}

}  // namespace

CandidateTimer::CandidateTimer(const Comm& comm, std::span<const Candidate> candidates,
                               double budget_s, Clock clock)
    : comm_(comm),
      candidates_(candidates),
      start_(comm),
      budget_s_(budget_s),
      clock_(std::move(clock)),
      entries_(candidates.size()) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Errc code = Errc::internal;
    const std::string trouble =
        failure_of(comm_, code, [&] { entries_[i].trial = candidates_[i].make(); });
    entries_[i].running = trouble.empty();
    if (trouble.empty()) continue;
    leave_out(i, trouble, code != Errc::invalid_input);
    not_made_ = not_made_ || code != Errc::invalid_input;
  }
  began_s_ = clock_();  // first touching the buffers of all can take longer than the budget
}

void CandidateTimer::leave_out(std::size_t index, const std::string& trouble, bool warn) {
  entries_[index].trouble = trouble;
  entries_[index].running = false;
  entries_[index].trial.reset();
  if (!warn || comm_.rank() != 0) return;
  say(LogLevel::warning,
      fmt::format("{} is excluded from the tuning: {}", candidates_[index].name, trouble));
}

std::vector<CandidateTimer::Entry*> CandidateTimer::running() {
  std::vector<Entry*> list;
  for (Entry& entry : entries_) {
    if (entry.running) list.push_back(&entry);
  }
  return list;
}

double CandidateTimer::Entry::seconds() const {
  return samples.empty() ? single_s : median(samples);
}

// How long each takes, as a multiple of the first one's time, where all have been in the same
// rounds.
std::vector<double> CandidateTimer::times(const std::vector<Entry*>& list) {
  const auto has_none = [](const Entry* entry) { return entry->samples.empty(); };
  const bool single = std::ranges::any_of(list, has_none);
  std::vector<double> found;
  for (const Entry* entry : list) {
    found.push_back(single ? entry->seconds() : ratio(entry->samples, list.front()->samples));
  }
  return found;
}

CandidateTimer::Entry& CandidateTimer::best() {
  const auto list = running();
  const auto found = times(list);
  return *list[static_cast<std::size_t>(std::ranges::min_element(found) - found.begin())];
}

// Local times: the clocks of two ranks cannot be compared.
double CandidateTimer::time_runs(Trial& trial, int runs) const {
  start_.together();
  const double start_s = clock_();
  for (int run = 0; run < runs; ++run) trial.run();
  return clock_() - start_s;
}

// The time of an operation is that of its slowest rank. Rank 0's clock goes along.
std::vector<double> CandidateTimer::agreed(std::vector<double> local_s) {
  local_s.push_back(comm_.rank() == 0 ? clock_() - began_s_ : 0);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, local_s.data(), to_int(std::ssize(local_s)), MPI_DOUBLE,
                          MPI_MAX, comm_.raw()));
  elapsed_s_ = local_s.back();
  local_s.pop_back();
  return local_s;
}

std::string CandidateTimer::wrong_results(Entry& entry) const {
  int first = entry.trial->checksum() == entry.expected ? comm_.num_ranks() : comm_.rank();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm_.raw()));
  if (first == comm_.num_ranks()) return "";
  const auto reference = static_cast<std::size_t>(reference_ - entries_.data());
  return fmt::format("its results on rank {} differ from those of {}", first,
                     candidates_[reference].name);
}

void CandidateTimer::try_once(std::size_t index) {
  Entry& entry = entries_[index];
  double seconds = 0;
  Errc code = Errc::internal;
  std::string trouble = failure_of(comm_, code, [&] { seconds = time_runs(*entry.trial, 1); });
  if (trouble.empty()) {
    if (reference_ == nullptr) {
      reference_ = &entry;
      entry.expected = entry.trial->checksum();
    } else {
      entry.expected = reference_->expected;
      trouble = wrong_results(entry);
    }
  }
  entry.single_s = agreed({seconds})[0];
  if (trouble.empty()) return;
  leave_out(index, trouble, true);
  not_made_ = false;
}

void CandidateTimer::screen() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].running) continue;
    if (reference_ != nullptr && used_up()) {
      leave_out(i, fmt::format("not tried: the budget of {} s was used up", budget_s_), false);
    } else {
      try_once(i);
    }
  }
  tried_s_ = elapsed_s_;
  for (int repeat = 0; repeat < 3 && running().size() > 1 && !used_up(0.25); ++repeat) {
    run_singly();
    const double limit_s = 50 * best().single_s + 5e-3;  // a time slice, where ranks share cores
    for (Entry* entry : running()) entry->running = entry->single_s <= limit_s;
    if (runs_are_long()) break;
  }
}

void CandidateTimer::run_singly() {
  const auto slots = shuffled();
  std::vector<double> seconds;
  for (const Slot& slot : slots) seconds.push_back(time_runs(*slot.trial, 1));
  seconds = agreed(std::move(seconds));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Entry& entry = *slots[i].entry;
    entry.single_s = std::min(entry.single_s, seconds[i]);
    ++entry.singles;
  }
}

bool CandidateTimer::runs_are_long() {
  const Entry& fastest = best();
  return fastest.singles > 0 && fastest.single_s >= long_run_s;
}

// False if they are not long: the one that seemed so was disturbed.
bool CandidateTimer::time_long_runs() {
  for (std::size_t done = 0; runs_are_long(); run_singly()) {
    const double limit_s = long_run_limits[done++] * best().single_s;
    for (Entry* entry : running()) entry->running = entry->single_s <= limit_s;
    few_long_ = true;
    if (running().size() == 1 || used_up() || done == long_run_limits.size()) return true;
  }
  return few_long_ = false;
}

// `alike`: as many for all, so that all have the same share of start and overlap between runs.
// Else fewer for slow ones, so that these do not take the time of the others.
void CandidateTimer::set_runs(bool alike) {
  const auto list = running();
  const double best_s = best().seconds();
  double round_s = 0;
  for (const Entry* entry : list) round_s += std::max(entry->seconds(), alike ? 0 : sample_s);
  for (Entry* entry : list) {
    const double own_s = std::max(alike ? best_s : entry->seconds(), 1e-9);
    const double wanted = std::ceil(sample_s / own_s);
    const double affordable = std::floor(budget_s_ / 30 / std::max(round_s, 1e-9));
    entry->runs = static_cast<int>(
        std::clamp(alike ? std::min(wanted, affordable) : wanted, 1.0, double{most_runs}));
  }
}

std::vector<CandidateTimer::Slot> CandidateTimer::shuffled() {
  std::vector<Slot> slots;
  for (Entry* entry : running()) slots.push_back({entry, entry->trial.get(), &entry->samples});
  if (paired_ != nullptr) {
    slots.push_back({paired_, twin_ ? twin_.get() : paired_->trial.get(), &twin_samples_});
  }
  std::mt19937 generator(rounds_++);  // the same order on all ranks
  for (std::size_t i = slots.size() - 1; i > 0; --i) {
    std::swap(slots[i], slots[generator() % (i + 1)]);
  }
  return slots;
}

void CandidateTimer::round() {
  const std::vector<Slot> slots = shuffled();
  std::vector<double> seconds;
  for (const Slot& slot : slots) {
    const int runs = slot.entry->runs;
    if (runs > 1) slot.trial->run();  // what the one before left behind is not counted
    seconds.push_back(time_runs(*slot.trial, runs) / runs);
  }
  seconds = agreed(std::move(seconds));
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].samples->push_back(seconds[i]);
}

// By the lower quartile of the ratios to the best one: on a busy machine these scatter, and nobody
// leaves before its time. Few samples may mislead, too.
void CandidateTimer::drop_slower(double times_as_slow) {
  const Entry& fastest = best();
  const double few = 1 + 2 / static_cast<double>(fastest.samples.size());
  for (Entry* entry : running()) {
    if (entry == paired_ || entry == &fastest) continue;
    entry->running = ratio(entry->samples, fastest.samples, 0.25) <= times_as_slow * few;
  }
}

// No other is within reach of the best one, or the same one won before and noise is small.
bool CandidateTimer::is_clear() {
  const auto list = running();
  const auto found = times(list);
  const double difference = null();
  const Entry* before = std::exchange(leader_, list[first_as_good(found, difference)]);
  if (difference <= least_difference && leader_ == before) return true;
  const double reach = *std::ranges::min_element(found) * (1 + 3 * difference);
  return std::ranges::count_if(found, [&](double time) { return time <= reach; }) == 1;
}

void CandidateTimer::pair_best() {
  paired_ = &best();
  const auto& candidate = candidates_[static_cast<std::size_t>(paired_ - entries_.data())];
  Errc code = Errc::internal;
  const auto trouble = failure_of(comm_, code, [&] {
    twin_ = candidate.make();
    twin_->run();  // touches its memory
  });
  if (!trouble.empty()) twin_.reset();
}

void CandidateTimer::time() {
  if (running().size() < 2 || time_long_runs()) return;
  set_runs(false);
  for (int done = 0; done < most_screening_rounds && !used_up(0.4); ++done) {
    if (done >= least_screening_rounds && used_up(0.2)) break;
    round();
  }
  if (best().samples.empty()) return;
  drop_slower(2);
  if (running().size() == 1 || used_up()) return;
  set_runs(true);  // in a batch a run is shorter than alone
  pair_best();
  for (Entry* entry : running()) entry->samples.clear();
  for (int done = 1; done <= most_rounds; ++done) {
    round();
    if (done >= least_rounds && used_up()) return;
    if (done % rounds_between_looks != 0) continue;
    drop_slower(1.3);
    if (is_clear()) return;
  }
}

bool CandidateTimer::has_winner() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].running || (rounds_ == 0 && used_up())) continue;
    entries_[i].trial->run();  // candidates may share the arrays of their results
    const std::string trouble = wrong_results(entries_[i]);
    if (!trouble.empty()) leave_out(i, trouble + " after some runs", true);
  }
  if (!running().empty()) return true;
  // The wrong ones were the fast ones: back to those that were dropped as slow.
  paired_ = leader_ = nullptr;
  twin_.reset();
  for (Entry& entry : entries_) {
    entry.running = entry.trouble.empty();
    entry.samples.clear();
  }
  twin_samples_.clear();
  return running().empty();
}

bool CandidateTimer::null_test_ran() const {
  return paired_ != nullptr && std::ssize(twin_samples_) >= least_rounds &&
         paired_->samples.size() == twin_samples_.size();
}

double CandidateTimer::null() const {
  if (few_long_) return least_difference;
  return null_test_ran() ? null_spread(paired_->samples, twin_samples_) : largest_no_difference;
}

std::string CandidateTimer::reason(std::size_t winner, std::size_t fastest, double null) {
  const auto works = [](const Entry& entry) { return entry.trouble.empty(); };
  if (std::ranges::count_if(entries_, works) == 1) return "no other alternative works here";
  std::string text = fmt::format("{} by measurement", time_text(entries_[winner].seconds()));
  if (winner != fastest) {
    const auto both = times({&entries_[winner], &entries_[fastest]});
    const double percent = std::max(0.0, 100 * (both[0] / both[1] - 1));
    text += fmt::format(
        "; {} is faster by {:.1f} %, which is less than the difference of two equal entries",
        candidates_[fastest].name, percent);
  }
  if (null_test_ran()) return text + fmt::format(" (null spread {:.1f} %)", 100 * null);
  if (few_long_)
    return text + fmt::format(" (the shortest of {} runs)", 1 + entries_[winner].singles);
  if (running().size() == 1) return text + "; all others were far slower in a few runs";
  return text +
         fmt::format("; few runs fit into the time, so {:.0f} % were taken as noise", 100 * null);
}

Choice CandidateTimer::decide(std::string_view preferred) {
  Choice choice;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    Timing timing{candidates_[i].name, entry.trouble, median(entry.samples), spread(entry.samples),
                  static_cast<int>(entry.samples.size())};
    if (entry.samples.empty() && entry.single_s > 0) {
      timing.median_s = entry.single_s;
      timing.num_samples = 1 + entry.singles;
    }
    choice.timings.push_back(timing);
    if (entry.running) places.push_back(i);
  }
  if (places.empty()) {
    std::string text = "none of the alternatives works here";
    for (const Timing& timing : choice.timings) text += "; " + timing.name + ": " + timing.trouble;
    throw AgreedError(not_made_ ? Errc::internal : Errc::invalid_input, text);
  }
  choice.null_spread = null();
  const auto found = times(running());
  std::size_t winner = places[first_as_good(found, choice.null_spread)];
  const double as_good_s = std::ranges::min(found) * (1 + choice.null_spread);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (candidates_[places[i]].name == preferred && found[i] <= as_good_s) winner = places[i];
  }
  choice.name = candidates_[winner].name;
  choice.measured = true;
  choice.why = reason(winner, places[first_as_good(found, 0)], choice.null_spread);
  return choice;
}

Choice time_candidates(const Comm& comm, std::span<const Candidate> candidates, double budget_s,
                       std::string_view preferred, const Clock& clock) {
  CandidateTimer timer(comm, candidates, budget_s, clock);
  timer.screen();
  do {
    timer.time();
  } while (!timer.has_winner());
  return timer.decide(preferred);
}

Choice measure(const Comm& comm, std::span<const Candidate> candidates, const Settings& settings,
               std::string_view preferred) {
  double budget_s = settings.budget_s;
  check_mpi(MPI_Bcast(&budget_s, 1, MPI_DOUBLE, 0, comm.raw()));
  return time_candidates(comm, candidates, budget_s, preferred, now_s);
}

}  // namespace tailrace::tune
