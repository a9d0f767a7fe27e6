// SPDX-License-Identifier: BSD-3-Clause
// What is known of requests, by their handles: open addressing in memory of its own, half full at
// most. Threads take turns (`TableLock`); whether a table is empty may be asked without.
#pragma once
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>

#include "profile/comms.hpp"
#include "profile/recorder.hpp"

namespace tailrace::plugins {

// Held where several threads may call MPI; nothing where they may not.
class TableLock {
 public:
  TableLock() {
    if (state.has_threads) mutex.lock();
  }
  ~TableLock() {
    if (state.has_threads) mutex.unlock();
  }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  static inline std::mutex mutex;
};

// An Entry has a member `request` and is free where is_free() says so.
template <class Entry>
class RequestTable {
 public:
  bool is_full() const { return num() >= int{slots_} / 2; }
  // Room is left beside that for others that must not be lost.
  bool has_spare_room() const { return num() < int{slots_} / 4; }
  bool is_empty() const { return num() == 0; }

  Entry* find(MPI_Request request) {
    for (unsigned at = first_slot(request); !table_[at].is_free(); at = (at + 1) % slots_)
      if (table_[at].request == request) return &table_[at];
    return nullptr;
  }

  // Looks at all slots.
  template <class Condition>
  bool any(const Condition& condition) const {
    return std::any_of(std::begin(table_), std::end(table_),
                       [&](const Entry& entry) { return !entry.is_free() && condition(entry); });
  }

  // There must be room.
  void insert(const Entry& entry) {
    unsigned at = first_slot(entry.request);
    while (!table_[at].is_free()) at = (at + 1) % slots_;
    table_[at] = entry;
    count(1);
  }

  // Takes an entry out and moves those after it up, so that no chain breaks.
  void erase(Entry* entry) {
    count(-1);
    *entry = {};
    const auto at = static_cast<unsigned>(entry - table_);
    for (unsigned next = (at + 1) % slots_; !table_[next].is_free(); next = (next + 1) % slots_) {
      const Entry moved = table_[next];
      table_[next] = {};
      count(-1);
      insert(moved);
    }
  }

 private:
  static constexpr unsigned slots_ = 16384;
  static unsigned first_slot(MPI_Request request) {
    return static_cast<unsigned>(bits_of(request) * 0x9E3779B97F4A7C15U >> 40U) % slots_;
  }
  int num() const { return num_.load(std::memory_order_relaxed); }
  void count(int change) { num_.store(num() + change, std::memory_order_relaxed); }
  Entry table_[slots_];
  std::atomic<int> num_{0};
};

}  // namespace tailrace::plugins
