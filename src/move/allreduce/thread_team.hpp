// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "move/node_window.hpp"

namespace tailrace {

/// Threads of one rank that do their parts of a task together with the caller, and sleep in
/// between.
class ThreadTeam {
 public:
  /// With the caller `num_threads` in all. Local.
  explicit ThreadTeam(int num_threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int num_threads() const { return static_cast<int>(helpers_.size()) + 1; }
  /// Calls `part(thread)` on each of the threads; returns when all have returned. `part` throws
  /// nothing. Local.
  template <class Part>
  void run(Part&& part) {
    run_all([](void* context, int thread) { (*static_cast<Part*>(context))(thread); }, &part);
  }

 private:
  using Call = void (*)(void* context, int thread);
  void run_all(Call call, void* context);
  void help(int thread);

  std::vector<std::thread> helpers_;
  Call call_ = nullptr;  ///< null: the end
  void* context_ = nullptr;
  SequenceFlag given_;     ///< tasks
  SequenceFlag finished_;  ///< tasks, by all helpers
  std::atomic<int> left_{0};
  std::uint32_t num_tasks_ = 0;
};

}  // namespace tailrace
