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
  std::string target = "stderr";    ///< "stderr", "stdout", or a file to append to
  LogLevel level = LogLevel::info;  ///< lower levels are dropped
  double lines_per_s = 20;  ///< maximum, also in a burst; above it, info is omitted, warnings wait
  double repeat_s = 10;     ///< [s] minimum interval between identical lines; repeats are counted
  std::ptrdiff_t max_lines = 1000;       ///< distinct lines that a rank keeps
  std::ptrdiff_t max_line_bytes = 1000;  ///< longer ones are cut; at most 3500
  double finish_wait_s = 30;             ///< [s] how long `finish` waits for the other ranks
};

/// Sets the handler for the library's messages: warnings, and errors that no call can return
/// (output that was lost while objects were destroyed). `handler` is called from any thread, but
/// never concurrently; it must neither throw nor call this library. Without a handler, messages go
/// to the newest `Log`, otherwise to standard error. Applies to the whole process. Local.
using LineHandler = std::function<void(LogLevel level, std::string_view text)>;
void set_line_handler(LineHandler handler);

/// Prints a message that a user must see and that no call can return: to the handler of
/// `set_line_handler`, otherwise to the newest `Log`, otherwise as "tailrace: TEXT" to standard
/// error. May be called from any thread; never throws. Local.
void say(LogLevel level, std::string_view text) noexcept;

/// Counters of a log on this rank.
struct LogStatistics {
  std::int64_t given = 0;     ///< lines passed to `write`, including those of too low a level
  std::int64_t messages = 0;  ///< sent to rank 0
  std::int64_t written = 0;   ///< lines written (rank 0); a line with a count of repeats is one
  std::int64_t flushes = 0;   ///< write(2) calls (rank 0)
  std::int64_t left_out = 0;  ///< lines that were only counted, not kept or written
};

/// Collects the lines that ranks print, because output through a launcher is serial: info from rank
/// 0 only, warnings and errors from any rank via rank 0, identical lines once with their number and
/// ranks: `warning: slow disk (x 37 on ranks 0-36)`. Memory, messages and lines per second are
/// bounded; omitted lines are counted and reported. Every flush is one write(2). A closed or full
/// target never stops or fails the program. Until it is finished, a log also receives the library's
/// messages (`set_line_handler`).
///
/// Use it on the main thread only: it calls MPI.
class Log {
 public:
  /// Rank 0 opens the target. Throws on all ranks: `Errc::io` if that fails, `Errc::invalid_input`
  /// for limits that are not positive. Collective, blocking.
  explicit Log(const Comm& comm, LogOptions options = {});
  /// Calls `finish`. During stack unwinding this rank's lines go to its standard error instead.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Adds a line (line ends within it become " | "). Levels below warning are ignored on ranks
  /// other than 0. An error also calls `progress`. Local, never blocks, never throws.
  void write(LogLevel level, std::string_view text) noexcept;
  void info(std::string_view text) noexcept { write(LogLevel::info, text); }
  void warning(std::string_view text) noexcept { write(LogLevel::warning, text); }
  void error(std::string_view text) noexcept { write(LogLevel::error, text); }

  /// Moves lines towards rank 0, which writes them; call it once per step. Local, never blocks.
  void progress() noexcept;

  /// Writes all remaining lines; later lines are dropped. If not all ranks arrive within
  /// `finish_wait_s`, this rank's lines go to its standard error instead. Collective, blocking.
  void finish() noexcept;

  const LogStatistics& statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace
