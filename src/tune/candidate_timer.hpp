// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/more/tune.hpp"
#include "tailrace/trace.hpp"
#include "tune/start.hpp"

namespace tailrace::tune {

/// Seconds from any moment on, of this rank.
using Clock = std::function<double()>;

/// The candidates of one problem while they are timed. All ranks know the same samples, so they
/// decide alike. Calls are collective and blocking, in the order below.
class CandidateTimer {
 public:
  /// Makes the trials.
  CandidateTimer(const Comm& comm, std::span<const Candidate> candidates, double budget_s,
                 Clock clock);
  /// Runs each once, compares results, and drops the hopeless after a few single runs.
  void screen();
  /// Times those that remain in rounds, until the budget is used up or the matter is clear. Few
  /// single runs, if they are long.
  void time();
  /// Compares results once more, as methods are used again and again. False if those that remain
  /// are to be timed anew, as what they lost to was wrong.
  bool has_winner();
  /// Local.
  Choice decide(std::string_view preferred);

 private:
  struct Entry {
    std::string trouble;  ///< why it does not count, or ""
    std::unique_ptr<Trial> trial;
    bool running = false;         ///< neither in trouble nor dropped as slow
    std::uint64_t expected = 0;   ///< checksum of this rank's results
    double single_s = 0;          ///< the shortest single run
    int singles = 0;              ///< that it is the shortest of, besides the first one
    int runs = 1;                 ///< of a sample
    std::vector<double> samples;  ///< [s a run], all from the same rounds while it is running

    double seconds() const;  ///< of a run, the best estimate so far
  };
  /// What a round runs: an entry, or the second copy of one.
  struct Slot {
    Entry* entry;
    Trial* trial;
    std::vector<double>* samples;
  };

  void try_once(std::size_t index);
  std::vector<Entry*> running();
  Entry& best();
  std::vector<Slot> shuffled();
  void run_singly();
  bool runs_are_long();
  bool time_long_runs();
  double time_runs(Trial& trial, int runs) const;
  std::vector<double> agreed(std::vector<double> local_s);
  void round();
  void set_runs(bool alike);
  void pair_best();
  void drop_slower(double times_as_slow);
  static std::vector<double> times(const std::vector<Entry*>& list);
  bool is_clear();
  /// `part` of the time that was left when all had been tried.
  bool used_up(double part = 1) const {
    return elapsed_s_ > tried_s_ + part * (budget_s_ - tried_s_);
  }
  void leave_out(std::size_t index, const std::string& trouble, bool warn);
  std::string wrong_results(Entry& entry) const;
  bool null_test_ran() const;
  double null() const;
  std::string reason(std::size_t winner, std::size_t fastest, double null);

  const Comm& comm_;
  std::span<const Candidate> candidates_;
  Start start_;
  double budget_s_;
  Clock clock_;
  double began_s_ = 0;
  double elapsed_s_ = 0;  ///< of rank 0, known to all
  double tried_s_ = 0;    ///< what trying each once took of it
  std::vector<Entry> entries_;
  Entry* reference_ = nullptr;  ///< the first whose results counted
  bool few_long_ = false;       ///< the shortest of few runs decides
  bool not_made_ = false;       ///< one that applies here could not be made, and none ran wrong
  Entry* leader_ = nullptr;     ///< that would have won when it was last looked at
  Entry* paired_ = nullptr;     ///< runs twice in each round: the null test
  /// Its second copy, made anew: memory that lies elsewhere is a difference, too. Null if there is
  /// no room for it: then the same one runs twice.
  std::unique_ptr<Trial> twin_;
  std::vector<double> twin_samples_;
  unsigned rounds_ = 0;
};

/// As `measure`, which does it by `now_s`.
Choice time_candidates(const Comm& comm, std::span<const Candidate> candidates, double budget_s,
                       std::string_view preferred, const Clock& clock);

}  // namespace tailrace::tune
