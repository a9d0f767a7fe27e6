// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/thread_team.hpp"

#include "core/worker.hpp"

namespace tailrace {

namespace {
constexpr int spins = 100;
constexpr double patience_s = 1.0;
}  // namespace

ThreadTeam::ThreadTeam(int num_threads) {
  for (int thread = 1; thread < num_threads; ++thread) {
    helpers_.push_back(start_thread([this, thread] { help(thread); }));
  }
}

ThreadTeam::~ThreadTeam() {
  call_ = nullptr;
  given_.publish(num_tasks_ + 1);
  for (auto& helper : helpers_) helper.join();
}

void ThreadTeam::run_all(Call call, void* context) {
  if (helpers_.empty()) return call(context, 0);
  call_ = call;
  context_ = context;
  left_.store(num_threads() - 1, std::memory_order_relaxed);
  given_.publish(++num_tasks_);
  call(context, 0);
  while (!finished_.wait_for(num_tasks_, patience_s, spins)) {
  }
}

void ThreadTeam::help(int thread) {
  for (std::uint32_t task = 1;; ++task) {
    while (!given_.wait_for(task, patience_s, spins)) {
    }
    if (call_ == nullptr) return;
    call_(context_, thread);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.publish(task);
  }
}

}  // namespace tailrace
