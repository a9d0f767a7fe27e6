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
  off,         ///< never: the fallback of each problem
  remembered,  ///< what an earlier run (or `tailrace tune`) has measured here, else the fallback
  first_use    ///< as remembered; what was not measured yet is timed when it is first needed
};

struct Settings {
  Mode mode = Mode::first_use;
  /// The memory of winners: TAILRACE_TUNE_FILE, else tune.json in TAILRACE_CACHE or in the folder
  /// tailrace of the user's cache folder (XDG_CACHE_HOME, else ~/.cache). "" keeps nothing.
  std::string file;
  /// Longest time for one problem [s]: TAILRACE_TUNE_BUDGET_S.
  double budget_s = 3.0;
  /// Most memory that a problem may take for trying [bytes per rank]: TAILRACE_TUNE_MEMORY, a
  /// number that may end in k, M or G.
  std::ptrdiff_t memory_bytes = std::ptrdiff_t{1} << 30;

  /// From the environment. Throws `Errc::invalid_input`. Local.
  static Settings from_environment();
};

/// One alternative, made and ready to be run again and again. All calls are collective.
class Trial {
 public:
  virtual ~Trial() = default;
  virtual void run() = 0;
  /// Of this rank's results, called right after a run; must equal the first candidate's. 0 if there
  /// is nothing to check.
  virtual std::uint64_t checksum() { return 0; }
};

struct Candidate {
  std::string name;
  /// Throws `Errc::invalid_input` on all ranks if it does not apply here. Collective.
  std::function<std::unique_ptr<Trial>()> make;
};

struct Problem {
  std::string operation;  ///< "exchange", "blocks", "allreduce", ...
  /// What decides the winner besides the machine and how many ranks are where: sizes, type.
  std::string key;
  std::string fallback;             ///< name of the candidate to use unmeasured
  std::string fallback_why;         ///< in a few words
  std::ptrdiff_t memory_bytes = 0;  ///< that trying it takes on this rank
};

/// What was found for one candidate.
struct Timing {
  std::string name;
  std::string trouble;  ///< "" if it ran and its results were right
  double median_s = 0;  ///< of long runs, of which few fit: the shortest
  double spread_s = 0;  ///< half the distance between the quartiles
  int num_samples = 0;
};

struct Choice {
  std::string name;
  std::string why;        ///< in a sentence
  bool measured = false;  ///< just now
  std::vector<Timing> timings;
  double null_spread = 0;  ///< relative difference that is none, from two equal entries
};

/// Times the candidates: all ranks start together, rounds interleaved in changing order; a sample
/// is the time of the slowest rank. Those far behind are dropped early; the best one then runs a
/// second time under another name, and what differs between these two is noise. Where a run
/// takes milliseconds, the shortest of a few counts, and 3 % are noise. Of those no slower
/// than the best by more than that, `preferred` wins, or else the first in the list. A
/// candidate that does not apply, fails, or gives other results than the first one is left out with
/// its trouble. The same result on all ranks. Takes about `settings.budget_s` (of rank 0) once all
/// are made, but tries each at least once while that lasts. Throws on all ranks if none works:
/// `Errc::internal` if one could not be made and none ran, else `Errc::invalid_input`. Collective,
/// blocking.
Choice measure(const Comm& comm, std::span<const Candidate> candidates, const Settings& settings,
               std::string_view preferred = {});

/// The alternative for `problem`: remembered, measured (the fallback is preferred) or the fallback,
/// as `settings` of rank 0 say; rank 0 reads and writes the memory file. What was measured while
/// other programs took the cores, more than ten minutes ago, or half a year ago, is measured again
/// (by `Mode::first_use`) where nothing disturbs: a process checks four such entries at most, and
/// three repeats that do no better end it. A file that cannot be read or written is a warning, not
/// an error. Always the fallback under a simulator, and where none can be tried, for want of
/// memory, say. The same result on all ranks. Throws `Errc::invalid_input` on all ranks if none
/// applies. Collective, blocking.
Choice choose(const Comm& comm, const Problem& problem, std::span<const Candidate> candidates,
              const Settings& settings);
/// The same with the settings of the environment; throws `Errc::invalid_input` on all ranks if
/// these are wrong on any.
Choice choose(const Comm& comm, const Problem& problem, std::span<const Candidate> candidates);

/// What must be the same for a winner to be used again.
struct Machine {
  std::string processor;   ///< model
  int cores = 0;           ///< of a node
  int memory_domains = 0;  ///< of a node
  std::string kernel;      ///< release of the operating system
  std::string mpi;         ///< version of the MPI library
  std::string tailrace;    ///< version of this library

  bool operator==(const Machine&) const = default;
};
/// This one, as the calling rank sees it. Local.
Machine this_machine();

/// A winner in the memory file.
struct Remembered {
  std::string operation, key;
  std::string
      places;  ///< how many ranks ran where: "8 ranks on 2 nodes, 4 each; 4 ranks on 8 cores"
  std::string winner, why;
  std::string date;  ///< in UTC: 2026-01-31T12:00:00Z
  double null_spread = 0;
  /// Part of the time of measuring for which the worst-off rank wanted a core and got none, as
  /// other programs ran.
  double waited = 0;
  int repeats = 0;  ///< that did no better than this measurement
  std::vector<Timing> timings;
  Machine machine;
};
/// `entry` as JSON text, as a memory file holds it. Local.
std::string to_text(const Remembered& entry);
/// All winners of a memory file, as they stand there. Throws `Errc::io` if it cannot be read,
/// `Errc::corrupt` if it is no memory file. Local.
std::vector<Remembered> list_remembered(const std::string& file);
/// Adds winners to a memory file, in place of earlier ones for the same problem, places and
/// machine. Several jobs may do so at once. Throws `Errc::io` if it cannot be written. Local.
void remember(const std::string& file, std::span<const Remembered> winners);

}  // namespace tailrace::tune
