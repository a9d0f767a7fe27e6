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

namespace tailrace::tune {

/// When alternatives are timed. Environment variable TAILRACE_TUNE = off | remembered | first_use;
/// TAILRACE_REPRODUCIBLE=1 overrides it with off.
enum class Mode {
  off,         ///< never: use the fallback of each problem
  remembered,  ///< use what an earlier run (or `tailrace tune`) measured here, otherwise the
               ///< fallback
  first_use    ///< like `remembered`, but problems without a result are timed at first use
};

struct Settings {
  Mode mode = Mode::first_use;
  /// File of results: TAILRACE_TUNE_FILE, otherwise tune.json in TAILRACE_CACHE or in the folder
  /// tailrace of the user's cache folder (XDG_CACHE_HOME, otherwise ~/.cache). "" stores nothing.
  std::string file;
  /// Time limit for one problem [s]: TAILRACE_TUNE_BUDGET_S.
  double budget_s = 3.0;
  /// Memory limit for the trials of a problem [bytes per rank]: TAILRACE_TUNE_MEMORY, a number that
  /// may end in k, M or G.
  std::ptrdiff_t memory_bytes = std::ptrdiff_t{1} << 30;

  /// Settings from the environment. Throws `Errc::invalid_input`. Local.
  static Settings from_environment();
};

/// One alternative, ready to be run repeatedly. All calls are collective.
class Trial {
 public:
  virtual ~Trial() = default;
  virtual void run() = 0;
  /// Checksum of this rank's results, called directly after a run; must equal that of the first
  /// candidate. 0 if there is nothing to check.
  virtual std::uint64_t checksum() { return 0; }
};

struct Candidate {
  std::string name;
  /// Throws `Errc::invalid_input` on all ranks if it does not apply here. Collective.
  std::function<std::unique_ptr<Trial>()> make;
};

struct Problem {
  std::string operation;  ///< "exchange", "blocks", "allreduce", ...
  /// What determines the winner in addition to the machine and the placement of ranks: sizes, type.
  std::string key;
  std::string fallback;             ///< name of the candidate to use without measurement
  std::string fallback_why;         ///< reason for the fallback, in a few words
  std::ptrdiff_t memory_bytes = 0;  ///< memory of its trials on this rank
};

/// The result of one candidate.
struct Timing {
  std::string name;
  std::string trouble;  ///< "" if it ran and its results were correct
  double median_s = 0;  ///< the shortest sample if only a few long runs fit
  double spread_s = 0;  ///< half the distance between the quartiles
  int num_samples = 0;
};

struct Choice {
  std::string name;
  std::string why;        ///< reason for the choice, in a sentence
  bool measured = false;  ///< whether it was measured in this call
  std::vector<Timing> timings;
  double null_spread = 0;  ///< noise floor: relative difference of two identical entries
};

/// Times the candidates: all ranks start together, and rounds are interleaved in changing order; a
/// sample is the time of the slowest rank. Slow candidates are dropped early; the best one is then
/// timed twice, and the difference is the noise. If a run takes milliseconds, its time is the
/// shortest of a few runs, and the noise is taken as 3 %. Among candidates within the noise of the
/// best, `preferred` wins, otherwise the first in the list. A candidate that does not apply, fails,
/// or gives results other than the first one is excluded, with the reason in `trouble`. The result
/// is the same on all ranks. Takes about `settings.budget_s` (of rank 0) after the candidates have
/// been created, and runs each at least once within it. Throws on all ranks if none works:
/// `Errc::internal` if one could not be created and none ran, otherwise `Errc::invalid_input`.
/// Collective, blocking.
Choice measure(const Comm& comm, std::span<const Candidate> candidates, const Settings& settings,
               std::string_view preferred = {});

/// The alternative for `problem`: remembered, measured (preferring the fallback) or the fallback,
/// as the `settings` of rank 0 specify; rank 0 reads and writes the results file. On an idle
/// machine, `Mode::first_use` repeats measurements that other programs disturbed (after ten
/// minutes) and those older than half a year: at most four per process, and none after three
/// repeats without improvement. A file that cannot be read or written gives a warning, not an
/// error. The fallback is always used under a simulator, and if no candidate can be tried (for
/// example for lack of memory). The result is the same on all ranks. Throws `Errc::invalid_input`
/// on all ranks if none applies. Collective, blocking.
Choice choose(const Comm& comm, const Problem& problem, std::span<const Candidate> candidates,
              const Settings& settings);
/// Chooses with the settings of the environment; throws `Errc::invalid_input` on all ranks if they
/// are invalid on any rank.
Choice choose(const Comm& comm, const Problem& problem, std::span<const Candidate> candidates);

/// The machine properties that must be equal for a result to be reused.
struct Machine {
  std::string processor;   ///< model of the processor
  int cores = 0;           ///< cores of a node
  int memory_domains = 0;  ///< NUMA domains of a node
  std::string kernel;      ///< release of the operating system's kernel
  std::string mpi;         ///< version of the MPI library
  std::string tailrace;    ///< version of this library

  bool operator==(const Machine&) const = default;
};
/// The machine of the calling rank. Local.
Machine this_machine();

/// A result in the results file.
struct Remembered {
  std::string operation, key;
  std::string places;  ///< placement of the ranks: "8 ranks on 2 nodes, 4 each; 4 ranks on 8 cores"
  std::string winner, why;
  std::string date;  ///< in UTC: 2026-01-31T12:00:00Z
  double null_spread = 0;
  /// Share of the measuring time in which the most affected rank had to wait for a core because
  /// other programs ran.
  double waited = 0;
  int repeats = 0;  ///< repeats without improvement over this measurement
  std::vector<Timing> timings;
  Machine machine;
};
/// `entry` as JSON text, in the format of the results file. Local.
std::string to_text(const Remembered& entry);
/// All entries of a results file, unchanged. Throws `Errc::io` if it cannot be read,
/// `Errc::corrupt` if it is not a results file. Local.
std::vector<Remembered> list_remembered(const std::string& file);
/// Adds entries to a results file, replacing earlier ones for the same problem, placement and
/// machine. Several jobs may do so concurrently. Throws `Errc::io` if it cannot be written. Local.
void remember(const std::string& file, std::span<const Remembered> winners);

}  // namespace tailrace::tune
