// SPDX-License-Identifier: BSD-3-Clause
#include "parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tailrace::server {

void parallel_for(std::ptrdiff_t count, int threads,
                  const std::function<void(std::ptrdiff_t)>& action) {
  std::atomic<std::ptrdiff_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::ptrdiff_t i = next++; i < count; i = next++) action(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::ptrdiff_t t = 1; t < std::min<std::ptrdiff_t>(threads, count); ++t) {
      helpers.emplace_back(work);
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tailrace::server
