// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

namespace tailrace::trilinos {

/// Tells whether this process, or the kernel on its behalf, has written to memory since `start`,
/// through any pointer. Writes of a network card to pages that it registered before `start` are
/// seen only if they change one of the items that are compared, one in 32 KiB. Copies watch the
/// same. Local; one thread at a time uses all objects.
class WriteWatch {
 public:
  /// Whether this system can watch memory at all (Linux 6.7, userfaultfd permitted).
  static bool is_supported();

  /// Watches `bytes` at `memory` from now on; several objects may watch the same. False if that is
  /// not possible, as for memory that other processes may write to.
  bool start(const void* memory, std::size_t bytes);
  /// True if nothing has been written since `start`. May be false although nothing was written,
  /// after the kernel moved pages.
  bool is_unchanged() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tailrace::trilinos
