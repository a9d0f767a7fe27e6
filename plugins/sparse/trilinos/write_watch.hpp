// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tailrace::trilinos {

/// Tells whether this process, or the kernel on its behalf, has written to memory since `start`,
/// through any pointer. Writes of a network card to pages that it registered before `start` are
/// seen only if they change one of the items that are compared, one in 32 KiB. Local.
class WriteWatch {
 public:
  /// Whether this system can watch memory at all (Linux 6.7, userfaultfd permitted).
  static bool is_supported();

  /// Watches `bytes` at `memory` from now on. False if that is not possible, as for memory that
  /// other processes may write to.
  bool start(const void* memory, std::size_t bytes);
  /// True if nothing has been written since `start`. May be false although nothing was written,
  /// after the kernel moved pages.
  bool is_unchanged() const;

 private:
  bool started_ = false;
  const std::byte* begin_ = nullptr;
  const std::byte* first_page_ = nullptr;  ///< the whole pages, which the kernel watches
  const std::byte* end_of_pages_ = nullptr;
  std::vector<std::byte> head_, tail_;  ///< copies of what lies before and after them
  std::vector<std::uint64_t> samples_;  ///< from the whole pages
};

}  // namespace tailrace::trilinos
