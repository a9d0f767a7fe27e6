// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tailrace/comm.hpp"

namespace tailrace {

enum class LogLevel { debug, info, warning, error };

struct LogOptions {
  std::string target = "stderr";    ///< "stderr", "stdout", or a file that lines are added to
  LogLevel level = LogLevel::info;  ///< what is less is dropped
  double lines_per_s = 20;  ///< and as many at once; over it info is left out, warnings wait
  double repeat_s = 10;  ///< [s] an identical line is written again no sooner; until then counted
  std::ptrdiff_t max_lines = 1000;       ///< different lines that a rank keeps
  std::ptrdiff_t max_line_bytes = 1000;  ///< longer ones are cut; at most 3500
  double finish_wait_s = 30;             ///< [s] how long `finish` waits for the other ranks
};

/// Where the library's own lines go: warnings, and errors that no call can return (output that was
/// lost while objects were destroyed). `handler` gets them from any thread, never two at once, and
/// must neither throw nor call this library; with none they go to the newest `Log` there is, else
/// to standard error. For the whole process. Local.
using LineHandler = std::function<void(LogLevel level, std::string_view text)>;
void set_line_handler(LineHandler handler);

/// Prints a line that a user must see and that no call can return. It goes where `set_line_handler`
/// says, else to the newest `Log`, else as "tailrace: TEXT" to standard error. From any thread,
/// never throws. Local.
void say(LogLevel level, std::string_view text) noexcept;

/// What a log has done so far, on this rank.
struct LogStatistics {
  std::int64_t given = 0;     ///< lines given here, with those of too low a level
  std::int64_t messages = 0;  ///< sent to rank 0
  std::int64_t written = 0;   ///< lines written (rank 0), repeats counted in them as one
  std::int64_t flushes = 0;   ///< write(2) calls (rank 0)
  std::int64_t left_out = 0;  ///< lines counted instead of kept or written
};

/// A funnel for what the ranks print, as output through a launcher is serial: info from rank 0
/// only, warnings and errors from any rank by way of rank 0, identical lines once with their
/// number and ranks: `warning: slow disk (x 37 on ranks 0-36)`. Memory, messages and lines a
/// second are bounded; what is left out is counted and reported. Every flush is one write(2). A
/// target that is closed or full never stops, kills or fails the program. Until it is finished it
/// also takes the library's own lines (`set_line_handler`).
///
/// Main thread only, as it calls MPI.
class Log {
 public:
  /// Rank 0 opens the target. Throws on all ranks `Errc::io` if it cannot, `Errc::invalid_input`
  /// for limits that are not positive. Collective, blocking.
  explicit Log(const Comm& comm, LogOptions options = {});
  /// `finish`es, unless an exception is on its way: then this rank's lines go to its own stderr.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Takes a line (line ends within it become " | "). Below warning only rank 0's count. An error
  /// also makes `progress`. Local, never blocks, never throws.
  void write(LogLevel level, std::string_view text) noexcept;
  void info(std::string_view text) noexcept { write(LogLevel::info, text); }
  void warning(std::string_view text) noexcept { write(LogLevel::warning, text); }
  void error(std::string_view text) noexcept { write(LogLevel::error, text); }

  /// Moves lines towards rank 0, which writes them; call it once per step. Local, never blocks.
  void progress() noexcept;

  /// Writes all that is left; further lines are dropped. If not all ranks come within
  /// `finish_wait_s`, this rank's lines go to its own stderr instead. Collective, blocking.
  void finish() noexcept;

  const LogStatistics& statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
