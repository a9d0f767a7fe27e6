// SPDX-License-Identifier: BSD-3-Clause
// The helper thread of a client that moves data by messages: it answers servers while the main
// thread computes. Needs MPI_THREAD_MULTIPLE.
#include "core/background_thread.hpp"
#include "server/transports/message_sender.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::by_message {

void MessageSender::start_helper() {
  helper_ = start_background_thread([this] { help(); });
}

void MessageSender::help() {
  constexpr double idle_nap_s = 0.05;
  while (!stop_helper_) {
    try {
      bool moved = false, idle = false;
      {
        const std::lock_guard lock(mutex_);
        if (failure_) return;
        moved = advance();
        idle = all_released();
      }
      const bool woken = !moved && (idle ? helper_doze_.sleep(idle_nap_s)
                                         : helper_doze_.nap(now_s() + idle_nap_s));
      if (moved || woken) helper_doze_.stir();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      return;
    }
  }
}

void MessageSender::stop_helper() {
  if (!helper_.joinable()) return;
  stop_helper_ = true;
  helper_doze_.wake();
  helper_.join();
}

void MessageSender::throw_failure() {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace tailrace::server::by_message
