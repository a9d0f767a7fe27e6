// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>

namespace tailrace::server {

/// Calls action(i) for each i of 0 .. count - 1, by up to `threads` threads, each taking the next
/// free number. The first exception is thrown again when all threads have stopped; numbers that
/// nobody has taken by then are left out. Local, blocking.
void parallel_for(std::ptrdiff_t count, int threads,
                  const std::function<void(std::ptrdiff_t)>& action);

}  // namespace tailrace::server
