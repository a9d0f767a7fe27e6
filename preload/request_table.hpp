// SPDX-License-Identifier: BSD-3-Clause
// What is known of requests, by their handles: open addressing in memory of its own, half full at
// most. Not safe for threads.
#pragma once
#include <mpi.h>

#include "comms.hpp"

namespace tailrace::preload {

// An Entry has a member `request` and is free where is_free() says so.
template <class Entry>
class RequestTable {
 public:
  bool is_full() const { return num_ >= slots_ / 2; }
  // Room is left beside that for others that must not be lost.
  bool has_spare_room() const { return num_ < slots_ / 4; }
  bool is_empty() const { return num_ == 0; }

  Entry* find(MPI_Request request) {
    for (unsigned at = first_slot(request); !table_[at].is_free(); at = (at + 1) % slots_)
      if (table_[at].request == request) return &table_[at];
    return nullptr;
  }

  // There must be room.
  void insert(const Entry& entry) {
    unsigned at = first_slot(entry.request);
    while (!table_[at].is_free()) at = (at + 1) % slots_;
    table_[at] = entry;
    ++num_;
  }

  // Takes an entry out and moves those after it up, so that no chain breaks.
  void erase(Entry* entry) {
    --num_;
    *entry = {};
    const auto at = static_cast<unsigned>(entry - table_);
    for (unsigned next = (at + 1) % slots_; !table_[next].is_free(); next = (next + 1) % slots_) {
      const Entry moved = table_[next];
      table_[next] = {};
      --num_;
      insert(moved);
    }
  }

 private:
  static constexpr unsigned slots_ = 16384;
  static unsigned first_slot(MPI_Request request) {
    return static_cast<unsigned>(bits_of(request) * 0x9E3779B97F4A7C15U >> 40U) % slots_;
  }
  Entry table_[slots_];
  unsigned num_ = 0;
};

}  // namespace tailrace::preload
