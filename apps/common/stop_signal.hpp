// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tailrace/reduction.hpp"

namespace tailrace::app {

/// Turns SIGTERM and SIGINT into a wish to stop that all ranks learn of together. One object a
/// program; when it goes, the signals end the program again.
class StopSignal {
 public:
  /// Of ranks that leave it to others to stop. Local.
  StopSignal();
  /// Collective, blocking.
  explicit StopSignal(const Comm& comm);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// What `finish` returns if a rank's `start` told of trouble: larger than any signal.
  static constexpr int trouble = 1 << 16;

  /// Starts asking the other ranks; the answer travels while the caller computes. Collective.
  void start(bool has_trouble);
  /// Number of the signal that some rank has received before its `start`, `trouble`, or 0; the same
  /// on all ranks. Collective, blocking.
  int finish();
  /// Whether this rank has received a signal, for votes of others. Local.
  static bool is_wanted();
  /// "SIGTERM", "SIGINT" or "signal 3".
  static std::string name(int signal);

 private:
  std::optional<Reduction> votes_;
  std::int32_t any_ = 0;
};

}  // namespace tailrace::app
