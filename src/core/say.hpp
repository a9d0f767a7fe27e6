// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailrace/log.hpp"

namespace tailrace {

/// As `say`, but at once: for a rank that waits, and so fetches nothing from a `LineQueue`.
void say_now(LogLevel level, std::string_view text) noexcept;

/// Prints what the queues hold, and then `text`, to standard error: the job ends. From any thread.
/// Local.
void say_last(std::string_view text) noexcept;

/// Takes the library's lines while it lives (a `Log` has one), for one thread to fetch.
class LineQueue {
 public:
  LineQueue();
  ~LineQueue();
  LineQueue(const LineQueue&) = delete;
  LineQueue& operator=(const LineQueue&) = delete;

  struct Lines {
    std::vector<std::pair<LogLevel, std::string>> lines;
    std::int64_t left_out = 0;  ///< there is room for a thousand
  };
  /// What has come since the last call. Local.
  Lines take();

 private:
  friend void say(LogLevel level, std::string_view text) noexcept;
  friend void say_last(std::string_view text) noexcept;
  Lines waiting_;
};

}  // namespace tailrace
