// SPDX-License-Identifier: BSD-3-Clause
#include "futex.hpp"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tailrace {

namespace {

// The wait is shared between processes, so no FUTEX_PRIVATE_FLAG.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit, nullptr, 0);
}

}  // namespace

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, double limit_s) {
  if (limit_s < 0) return futex(word, FUTEX_WAIT, seen, nullptr);
  const auto seconds = static_cast<std::time_t>(limit_s);
  const timespec limit{seconds, static_cast<long>(1e9 * (limit_s - static_cast<double>(seconds)))};
  futex(word, FUTEX_WAIT, seen, &limit);
}

void futex_wake(std::atomic<std::uint32_t>& word) { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace tailrace
