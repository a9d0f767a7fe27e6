// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <mutex>

#include "tailrace/trace.hpp"

namespace tailrace::server {

/// How a side sleeps that can learn of news only by asking: in naps, short when something happened
/// lately, longer the longer nothing has. A server that is busy reacts within a millisecond; one
/// that has been idle for a second asks forty times a second, at about 0.1 % of a core.
class Doze {
 public:
  explicit Doze(double longest_nap_s = 25e-3);
  /// Something happened: naps are short again. The sleeping thread only.
  void stir();
  /// Sleeps for one nap, at most until `until_s`; true if it was ended by `wake`.
  bool nap(double until_s);
  /// Sleeps for `sleep_s`; true if it was ended by `wake`.
  bool sleep(double sleep_s);
  /// Ends a nap in progress or the next one. From any thread.
  void wake();

 private:
  double longest_nap_s_;
  double stirred_s_;
  std::mutex mutex_;
  std::condition_variable bell_;
  bool woken_ = false;
};

/// What one look around has brought.
struct Look {
  bool moved = false;  ///< data: no nap, there may be more
  bool news = false;   ///< for the caller of `wait`
};

/// Looks around, with naps while nothing moves, until there is news, `wake` was called or `limit_s`
/// has passed.
template <class LookAround>
void doze_until_news(Doze& doze, double limit_s, LookAround&& look_around) {
  const double until_s = now_s() + limit_s;
  do {
    const Look look = look_around();
    if (look.moved || look.news) doze.stir();
    if (look.news) return;
    if (!look.moved && doze.nap(until_s)) return;
  } while (now_s() < until_s);
}

/// For how long nothing has been heard of a peer, counted only while somebody listens: who computes
/// for ten minutes and asks then has not been left alone for ten minutes.
class Silence {
 public:
  void heard() { silent_s_ = 0; }
  /// Says that it listens now; true if all was silent for `limit_s`.
  bool lasts(double now_s, double limit_s);
  /// Nothing is expected of the peer for now.
  void rest();

 private:
  double silent_s_ = 0;
  double listened_s_ = -1;
};

}  // namespace tailrace::server
