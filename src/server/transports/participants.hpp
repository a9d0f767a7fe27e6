// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/team.hpp"
#include "server/transport.hpp"
#include "server/transports/receive_queue.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {

/// Polling with backoff: sleeps are short when something happened lately and longer the longer
/// nothing has. A server that is busy reacts within a millisecond; one that has been idle for a
/// second polls forty times a second, which takes about 0.1 % of a core.
class Backoff {
 public:
  explicit Backoff(double longest_nap_s = 25e-3) : longest_nap_s_(longest_nap_s) {}
  /// Something happened: naps are short again. The sleeping thread only.
  void stir() { stirred_s_ = now_s(); }
  /// Sleeps for one nap, at most until `until_s`; true if it was ended by `wake`.
  bool nap(double until_s);
  /// Sleeps for `sleep_s`; true if it was ended by `wake`.
  bool sleep(double sleep_s);
  /// Ends a nap in progress or the next one. From any thread.
  void wake();

 private:
  double longest_nap_s_;
  double stirred_s_ = now_s();
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
void poll_until_news(Backoff& backoff, double limit_s, LookAround&& look_around) {
  const double until_s = now_s() + limit_s;
  do {
    const Look look = look_around();
    if (look.moved || look.news) backoff.stir();
    if (look.news) return;
    if (!look.moved && backoff.nap(until_s)) return;
  } while (now_s() < until_s);
}

/// How long a peer has been silent. Time counts only while this side listens: a rank that computes
/// for ten minutes and polls then has not been left alone for ten minutes.
class SilenceTimer {
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

/// What client and server ranks must know of each other: a communicator of this transport alone, so
/// that its messages meet no others, and what sizes they agree on.
struct Participants {
  /// Throws `Errc::invalid_input` on all ranks for settings out of range. Collective over
  /// `team.all`, blocking.
  Participants(const char* name, const Team& team, const TransportSettings& given);

  const char* transport;
  Comm comm;
  TransportSettings settings;
  int client, server;  ///< this rank's number, or -1
  std::vector<int> rank_of_client, rank_of_server;
  std::vector<int> client_of_rank, server_of_rank;  ///< or -1
  std::ptrdiff_t largest_client_bytes = 0;

  int client_rank(int number) const { return rank_of_client[static_cast<std::size_t>(number)]; }
  int server_rank(int number) const { return rank_of_server[static_cast<std::size_t>(number)]; }
  int num_clients() const { return static_cast<int>(rank_of_client.size()); }
  int num_servers() const { return static_cast<int>(rank_of_server.size()); }

  /// Throws `Errc::invalid_input` unless `packet` lies in `memory` and there is `server`. Local.
  void check_packet(std::span<const std::byte> memory, int server_number,
                    std::span<const std::byte> packet) const;
  /// Throws `Errc::io`: server `server_number` has been silent for too long. Local.
  [[noreturn]] void give_up(std::size_t server_number, std::ptrdiff_t num_packets) const;
};

/// Gives up if a server of which a client awaits something (`busy` of its link) has been silent for
/// too long. Looks now and then; `watched_s` is when it last did. Local.
template <class ServerLink>
void watch_servers(const Participants& participants, std::vector<ServerLink>& links,
                   double& watched_s) {
  const double now = now_s(), limit = participants.settings.watchdog_s;
  if (now - watched_s < std::min(0.25, limit / 32)) return;
  watched_s = now;
  for (std::size_t server = 0; server < links.size(); ++server) {
    ServerLink& link = links[server];
    const bool silent = link.busy > 0 && link.silence.lasts(now, limit);
    if (link.busy == 0 || silent) link.silence.rest();
    if (silent) participants.give_up(server, static_cast<std::ptrdiff_t>(link.busy));
  }
}

/// What the client's sides of the transports that copy have in common.
class CopySender : public Sender {
 public:
  void take_released(std::vector<const std::byte*>& released) override {
    const std::lock_guard lock(mutex_);
    released.insert(released.end(), released_.begin(), released_.end());
    released_.clear();
  }

  bool take_notice(Notice& notice) override {
    const std::lock_guard lock(mutex_);
    if (notices_.empty()) return false;
    notice = notices_.front();
    notices_.pop_front();
    return true;
  }

 protected:
  explicit CopySender(Participants participants) : participants_(std::move(participants)) {}

  [[noreturn]] void refuse_more(int server, std::size_t most) const;
  /// Moves data on until `done`. Throws `Errc::io`, which says `what`, at `until_s`, `limit_s` from
  /// the beginning.
  template <class Done>
  void wait_until(double until_s, double limit_s, const char* what, Done&& done) {
    while (!done()) {
      if (now_s() >= until_s) fail_to_leave(what, limit_s);
      wait(std::min(0.1, limit_s));
    }
  }

  Participants participants_;
  mutable std::mutex mutex_;  // where a thread helps
  std::vector<const std::byte*> released_;
  std::deque<Notice> notices_;
  double watched_s_ = 0;
  Backoff backoff_{2e-3};

 private:
  [[noreturn]] void fail_to_leave(const char* what, double limit_s) const;
};

/// What the server's sides of the transports that copy have in common.
class CopyReceiver : public Receiver {
 public:
  bool take(Arrival& arrival) override { return queue_->take(arrival); }
  void release(const Arrival& arrival) override { queue_->release(arrival); }
  void keep_room(std::ptrdiff_t bytes) override { queue_->keep_room(bytes); }
  void progress() override {
    if (advance()) backoff_.stir();
  }
  void wait(double limit_s) override {
    poll_until_news(backoff_, limit_s, [this] {
      const bool moved = advance();
      return Look{moved, std::exchange(news_, false)};
    });
  }
  void wake() override { backoff_.wake(); }

 protected:
  explicit CopyReceiver(Participants participants) : participants_(std::move(participants)) {}
  /// Makes `queue_`. Collective over the ranks of `participants_`, blocking.
  void make_receive_queue(ReceiveQueue::Order order);
  /// Moves data on as far as it can; true if it did.
  virtual bool advance() = 0;

  /// A packet on its way here.
  struct Transfer {
    bool used = false;
    Accepted packet;
    std::ptrdiff_t begun = 0, arrived = 0;  // bytes
    int open = 0;                           // reads or receives
    SilenceTimer silence = {};
  };
  /// Takes packets that may come now, `at_once` at the same time, and calls `begin` with the place
  /// of each in `transfers_`; true if there were any.
  template <class Begin>
  bool start_transfers(int at_once, Begin&& begin) {
    bool started = false;
    while (num_transfers_ < at_once) {
      const auto packet = queue_->accept();
      if (!packet) break;
      auto free = std::ranges::find(transfers_, false, &Transfer::used);
      if (free == transfers_.end()) free = transfers_.insert(free, Transfer{});
      *free = {.used = true, .packet = *packet};
      ++num_transfers_;
      begin(static_cast<std::size_t>(free - transfers_.begin()));
      started = true;
    }
    return started;
  }
  void end_transfer(Transfer& transfer) {
    queue_->finish(transfer.packet);
    transfer.used = false;
    --num_transfers_;
    news_ = true;
  }

  Participants participants_;
  std::unique_ptr<ReceiveQueue> queue_;
  std::vector<Transfer> transfers_;
  int num_transfers_ = 0;
  bool news_ = false;  // for the caller of `wait`
  Backoff backoff_;
};

/// "" if the servers are ranks of their own, which alone may make MPI calls. Local.
std::string refuses_but_ranks(const Team& team);

}  // namespace tailrace::server
