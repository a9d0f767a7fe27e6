// SPDX-License-Identifier: BSD-3-Clause
#include "server/mpi_relay.hpp"

namespace tailrace::server {

class MpiRelay::RelayedPeers : public Peers {
 public:
  explicit RelayedPeers(MpiRelay& relay) : relay_(relay) {}
  int rank() const override { return relay_.peers_.rank(); }
  int size() const override { return relay_.peers_.size(); }

  void send(int server, const PeerMessage& message) override {
    const std::lock_guard lock(relay_.mutex_);
    if (server == rank()) {
      relay_.arrived_.push_back(message);
      relay_.arrived_.back().from = server;
    } else {
      relay_.to_send_.emplace_back(server, message);
    }
  }

  bool take(PeerMessage& message) override {
    const std::lock_guard lock(relay_.mutex_);
    if (relay_.arrived_.empty()) return false;
    message = std::move(relay_.arrived_.front());
    relay_.arrived_.pop_front();
    return true;
  }

 private:
  MpiRelay& relay_;
};

class MpiRelay::RelayedGroup : public CalledGroup {
 public:
  RelayedGroup(MpiRelay& relay, const Comm& servers) : CalledGroup(servers), relay_(relay) {}

 private:
  GroupCall carry_out(const StartCall& start) override { return relay_.carry_out(start); }
  MpiRelay& relay_;
};

std::unique_ptr<Peers> MpiRelay::make_peers() { return std::make_unique<RelayedPeers>(*this); }
std::unique_ptr<Group> MpiRelay::make_group(const Comm& servers) {
  return std::make_unique<RelayedGroup>(*this, servers);
}

GroupCall MpiRelay::carry_out(StartCall start) {
  std::unique_lock lock(mutex_);
  start_ = std::move(start);
  call_ended_.wait(lock, [&] { return complete_; });
  complete_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  GroupCall call = std::move(*call_);
  call_.reset();
  return call;
}

void MpiRelay::progress() {
  const std::lock_guard lock(mutex_);
  move_messages();
  move_call();
}

void MpiRelay::move_messages() {
  for (const auto& [server, message] : to_send_) peers_.send(server, message);
  to_send_.clear();
  PeerMessage message;
  while (peers_.take(message)) {
    arrived_.push_back(std::move(message));
    receiver_.wake();
  }
}

void MpiRelay::move_call() {
  if (!start_ && (!call_ || complete_)) return;
  try {
    if (start_) call_.emplace(std::exchange(start_, nullptr)());
    complete_ = call_->advance(false);
  } catch (...) {
    failure_ = std::current_exception();
    complete_ = true;
  }
  if (complete_) call_ended_.notify_one();
}

}  // namespace tailrace::server
