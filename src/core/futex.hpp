// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace tailrace {

/// Sleeps while `word` is `seen`, at most about `limit_s` (below 0: for ever); may return early.
/// Works between processes that share the memory of `word`. Local.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, double limit_s = -1);
/// Wakes all that sleep on `word`. Local.
void futex_wake(std::atomic<std::uint32_t>& word);

/// A bell in shared memory: rung by any number of processes and threads, heard by those that have
/// looked at its count before. Sleeping on it costs no processor time. Zeroed memory is a bell that
/// has not been rung.
class Doorbell {
 public:
  void ring() {
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake(count_);
  }
  /// How often it has been rung (modulo 2^32).
  std::uint32_t count() const { return count_.load(std::memory_order_seq_cst); }
  /// Sleeps until the count is no longer `heard`, at most about `limit_s`.
  void wait(std::uint32_t heard, double limit_s) {
    if (limit_s <= 0 || count() != heard) return;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (count() == heard) futex_wait(count_, heard, limit_s);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  alignas(64) std::atomic<std::uint32_t> count_;
  std::atomic<std::uint32_t> sleepers_;
};

}  // namespace tailrace
