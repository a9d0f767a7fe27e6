// SPDX-License-Identifier: BSD-3-Clause
// A stated, simulated shared file system: writes are made at once, then wait until the stated rate
// allows them. The rate is a queue: each write takes the next `bytes / rate` seconds of a clock
// that all processes of this user on this node share, one for each file system (a leaky bucket that
// holds nothing). Needs no root; what the disk itself takes is part of the wait, not added to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/shared_memory.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"

namespace tailrace::file {

/// What the back end `limited:RATE[,LATENCY]` states.
struct Limit {
  std::ptrdiff_t bytes_per_s = 0;  ///< 0: no limit
  double latency_s = 0;            ///< of each call
};

constexpr std::string_view limited_name = "limited";

/// Whether hint `back_end` names the limited back end, with or without a limit. Local.
bool names_limited(std::string_view back_end);

/// The limit that hint `back_end` states; none if it names another back end, or no rate. Throws
/// `Errc::invalid_input` for a rate or latency that does not parse or is out of range. Local.
Limit parse_limit(std::string_view back_end);

/// Makes writes as slow as a limit states. One thread at a time.
class Limiter {
 public:
  /// `back_end` is the hint, of which `limited:...` alone limits; `path` lies in the file system
  /// whose writes share the rate. Throws `Errc::io`. Local.
  Limiter(std::string_view back_end, const std::string& path);
  ~Limiter();
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  /// Waits until `calls` calls that began at `start_s` of `now_s()` and have written `bytes` may
  /// end.
  void wait(double start_s, std::ptrdiff_t bytes, std::int64_t calls);

 private:
  Limit limit_;
  std::string name_;  // of the file of the clock
  Descriptor file_;
  Mapping clock_;
};

/// A `SmallFile` that is as slow as hint `back_end` states. Throws as `fail_errno` does. Local.
class LimitedFile {
 public:
  LimitedFile(const std::string& path, int flags, std::string_view back_end);
  void write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset);
  void flush();
  void close() { file_.close(); }

 private:
  double start_s_;
  Limiter limiter_;
  SmallFile file_;
};

}  // namespace tailrace::file
