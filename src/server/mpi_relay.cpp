// SPDX-License-Identifier: BSD-3-Clause
#include "server/mpi_relay.hpp"

#include <algorithm>
#include <cstring>

namespace tailrace::server {

class MpiRelay::ChannelGroup : public Group {
 public:
  ChannelGroup(MpiRelay& relay, int channel) : relay_(relay), channel_(channel) {}
  int rank() const override { return relay_.comm_.rank(); }
  int size() const override { return relay_.comm_.num_ranks(); }
  // In the order of the servers, so that all of them get the same bits.
  void reduce(std::span<double> values, Operation operation) override {
    const auto all = gather(std::as_bytes(values));
    std::vector<double> other(values.size());
    for (std::size_t server = 0; server < all.size(); ++server) {
      std::memcpy(other.data(), all[server].data(), values.size_bytes());
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = server == 0                   ? other[i]
                    : operation == Operation::sum ? values[i] + other[i]
                                                  : std::max(values[i], other[i]);
      }
    }
  }
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& outgoing) override {
    return relay_.exchange(channel_, outgoing);
  }

 private:
  MpiRelay& relay_;
  int channel_;
};

std::unique_ptr<Group> MpiRelay::make_group(int channel) {
  return std::make_unique<ChannelGroup>(*this, channel);
}

std::vector<std::vector<std::byte>> MpiRelay::exchange(
    int channel, const std::vector<std::vector<std::byte>>& outgoing) {
  Call call{.channel = channel, .outgoing = outgoing};
  std::unique_lock lock(mutex_);
  calls_.push_back(&call);
  if (wakes_ != nullptr) wakes_->wake();
  call_ended_.wait(lock, [&] { return call.complete; });
  if (call.failure) std::rethrow_exception(call.failure);
  return call.exchange->take_incoming();
}

void MpiRelay::progress() {
  const std::lock_guard lock(mutex_);
  const auto ended = std::erase_if(calls_, [&](Call* call) {
    try {
      if (!call->exchange) call->exchange.emplace(comm_, call->channel, call->outgoing);
      call->complete = call->exchange->advance(false);
    } catch (...) {
      call->failure = std::current_exception();
      call->complete = true;
    }
    return call->complete;
  });
  if (ended > 0) call_ended_.notify_all();
}

}  // namespace tailrace::server
