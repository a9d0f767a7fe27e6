// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "core/worker.hpp"

namespace tailrace {

/// Threads of one rank that do their parts of a task together with the caller, and sleep in
/// between.
class ThreadTeam {
 public:
  /// With the caller `num_threads` in all. Local.
  explicit ThreadTeam(int num_threads) : begun_(num_threads), ended_(num_threads) {
    for (int thread = 1; thread < num_threads; ++thread) {
      helpers_.push_back(start_thread([this, thread] {
        for (begun_.arrive_and_wait(); part_; begun_.arrive_and_wait()) {
          part_(thread);
          ended_.arrive_and_wait();
        }
      }));
    }
  }
  ~ThreadTeam() {
    part_ = nullptr;
    begun_.arrive_and_wait();
    for (auto& helper : helpers_) helper.join();
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int num_threads() const { return static_cast<int>(helpers_.size()) + 1; }
  /// Calls `part(thread)` on each of the threads; returns when all have returned. `part` throws
  /// nothing. Allocates nothing. Local.
  template <class Part>
  void run(Part&& part) {
    part_ = std::ref(part);
    begun_.arrive_and_wait();
    part(0);
    ended_.arrive_and_wait();
  }

 private:
  std::vector<std::thread> helpers_;
  std::function<void(int)> part_;  ///< empty: the end
  std::barrier<> begun_, ended_;
};

}  // namespace tailrace
