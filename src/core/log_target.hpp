// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "core/system_call.hpp"

namespace tailrace::detail {

/// Where lines go. What goes wrong after opening is kept to itself: nobody could be told.
class LogTarget {
 public:
  LogTarget() = default;
  /// "stderr", "stdout" or a file, which is made or added to. Throws `Errc::io`.
  explicit LogTarget(const std::string& name);

  /// As many bytes can be written at once without waiting: 0 if it is full now.
  std::ptrdiff_t room() const;
  /// One write(2). Never raises SIGPIPE.
  void write(const std::string& text) noexcept;

 private:
  Descriptor own_;
  int file_ = -1;
  bool pipe_ = false;
  bool broken_ = false;  // no longer there (closed pipe, full disk)
};

}  // namespace tailrace::detail
