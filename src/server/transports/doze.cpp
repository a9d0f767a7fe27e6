// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/doze.hpp"

#include <algorithm>
#include <chrono>

namespace tailrace::server {

namespace {

constexpr double shortest_nap_s = 50e-6;  // what the kernel rounds shorter ones up to
constexpr double share_of_idle_time = 0.02;

}  // namespace

Doze::Doze(double longest_nap_s) : longest_nap_s_(longest_nap_s), stirred_s_(now_s()) {}

void Doze::stir() { stirred_s_ = now_s(); }

bool Doze::nap(double until_s) {
  const double now = now_s();
  const double wanted = share_of_idle_time * (now - stirred_s_);
  return sleep(
      std::min(std::clamp(wanted, shortest_nap_s, longest_nap_s_), std::max(0.0, until_s - now)));
}

bool Doze::sleep(double sleep_s) {
  std::unique_lock lock(mutex_);
  bell_.wait_for(lock, std::chrono::duration<double>(sleep_s), [this] { return woken_; });
  return std::exchange(woken_, false);
}

void Doze::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  bell_.notify_one();
}

bool Silence::lasts(double now_s, double limit_s) {
  // One look after a long pause says little: what the peer sent may not have been read yet.
  constexpr int looks = 8;
  if (listened_s_ >= 0) silent_s_ += std::min(now_s - listened_s_, limit_s / looks);
  listened_s_ = now_s;
  return silent_s_ > limit_s;
}

void Silence::rest() {
  silent_s_ = 0;
  listened_s_ = -1;
}

}  // namespace tailrace::server
