// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace::tune {

/// When alternatives are timed. Environment variable TAILRACE_TUNE = off | remembered | first_use.
enum class Mode {
  off,         ///< never: the fallback of each problem
  remembered,  ///< what an earlier run (or `tailrace tune`) has measured here, else the fallback
  first_use    ///< as remembered; what nobody has measured yet is timed when it is first needed
};

struct Settings {
  Mode mode = Mode::first_use;
  /// The memory of winners: TAILRACE_TUNE_FILE, else tailrace/tune.json in the user's cache folder
  /// (XDG_CACHE_HOME, else ~/.cache). "" keeps nothing.
  std::string file;
  /// Longest time for one problem [s]: TAILRACE_TUNE_BUDGET_S.
  double budget_s = 1.0;
  /// Most memory that a problem may take for trying [bytes a rank]: TAILRACE_TUNE_MEMORY.
  std::ptrdiff_t memory_bytes = std::ptrdiff_t{1} << 30;

  /// From the environment. Throws `Errc::invalid_input`. Local.
  static Settings from_environment();
};

/// One alternative, made and ready to be run again and again. All calls are collective.
class Trial {
 public:
  virtual ~Trial() = default;
  virtual void run() = 0;
  /// Of this rank's results after a run; must equal the first candidate's. 0 if nothing to check.
  virtual std::uint64_t checksum() { return 0; }
};

struct Candidate {
  std::string name;
  /// Throws `Errc::invalid_input` on all ranks if it does not apply here. Collective.
  std::function<std::unique_ptr<Trial>()> make;
};

struct Problem {
  std::string operation;     ///< "exchange", "blocks", "allreduce", ...
  std::string key;           ///< everything that decides the winner: sizes, type, ranks, nodes
  std::string fallback;      ///< name of the candidate to use unmeasured
  std::string fallback_why;  ///< in a few words
  std::ptrdiff_t memory_bytes = 0;  ///< that trying it takes on this rank
};

/// What was found for one candidate.
struct Timing {
  std::string name;
  std::string trouble;  ///< "" if it ran and its results were right
  double median_s = 0;
  double spread_s = 0;  ///< half the distance between the quartiles
  int num_samples = 0;
};

struct Choice {
  std::string name;
  std::string why;  ///< in a sentence
  bool measured = false;
  std::vector<Timing> timings;
  double null_spread = 0;  ///< relative difference that two equal entries showed
};

/// Times the candidates: all start together, rounds interleaved in changing order, a second copy of
/// the best entry as null test; time of a sample is that of the slowest rank. Of those no slower
/// than the best by more than the null spread, the first in the list wins. The same result on all
/// ranks. Collective, blocking.
Choice measure(const Comm& comm, std::span<const Candidate> candidates, const Settings& settings);

/// The alternative for `problem`: remembered, measured or the fallback, as `settings` say; rank 0
/// reads and writes the memory file. The same result on all ranks. Collective, blocking.
Choice choose(const Comm& comm, const Problem& problem, std::span<const Candidate> candidates,
              const Settings& settings = Settings::from_environment());

}  // namespace tailrace::tune
