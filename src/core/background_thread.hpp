// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <thread>

namespace tailrace {

/// A thread that gets no signals: they belong to the main thread (the end of a job's time). Local.
std::thread start_thread(std::function<void()> body);
/// The same with a low priority, so that the simulation goes first. Local.
std::thread start_background_thread(std::function<void()> body);

}  // namespace tailrace
