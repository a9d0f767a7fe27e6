// SPDX-License-Identifier: BSD-3-Clause
// A table of samples of one thread, filled in a signal handler.
#pragma once
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tailrace::plugins {

struct Sample {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint64_t> count{0};
};

// Counts samples by their key, which is not 0. A part that is three quarters full is left as it is
// and one twice as large is begun, so a key may have entries in several parts.
class SampleTable {
 public:
  // Reserves the first part, if there is none.
  bool prepare() { return num_parts_.load() > 0 || begin_part(); }

  // False: there was no memory.
  bool add(std::uint64_t key, std::uint64_t count) {
    for (;;) {
      const std::size_t part = num_parts_.load(std::memory_order_relaxed);
      if (part == 0) return false;
      if (Sample* entry = entry_of(part - 1, key)) {
        entry->count.store(entry->count.load(std::memory_order_relaxed) + count,
                           std::memory_order_relaxed);
        return true;
      }
      if (!begin_part()) return false;
    }
  }

  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t part = 0; part < num_parts_.load(); ++part)
      for (std::size_t i = 0; i < size_of(part); ++i)
        if (const auto count = parts_[part][i].count.load()) {
          visit(parts_[part][i].key.load(), count);
        }
  }

 private:
  static constexpr std::size_t first_size = 4096;
  static constexpr std::size_t max_parts = 10;
  static std::size_t size_of(std::size_t part) { return first_size << part; }

  bool begin_part() {
    const std::size_t part = num_parts_.load(std::memory_order_relaxed);
    if (part == max_parts) return false;
    void* const memory = mmap(nullptr, size_of(part) * sizeof(Sample), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    parts_[part] = static_cast<Sample*>(memory);
    used_ = 0;
    num_parts_.store(part + 1);
    return true;
  }

  // Null: the part is full.
  Sample* entry_of(std::size_t part, std::uint64_t key) {
    const std::size_t size = size_of(part);
    std::size_t at = (key * 0x9E3779B97F4A7C15U >> 32U) % size;
    for (;; at = (at + 1) % size) {
      Sample& entry = parts_[part][at];
      const std::uint64_t found = entry.key.load(std::memory_order_relaxed);
      if (found == key) return &entry;
      if (found != 0) continue;
      if (used_ >= size / 4 * 3) return nullptr;
      ++used_;
      entry.key.store(key, std::memory_order_relaxed);
      return &entry;
    }
  }

  std::array<Sample*, max_parts> parts_{};
  std::atomic<std::size_t> num_parts_{0};
  std::size_t used_ = 0;  // entries of the last part
};

}  // namespace tailrace::plugins
