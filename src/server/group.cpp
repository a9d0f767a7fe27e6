// SPDX-License-Identifier: BSD-3-Clause
#include "server/group.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "core/bytes.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 30;  // MPI's counts have 31 bits

}  // namespace

void Group::reduce(std::span<double> values, Operation operation) {
  const auto all = gather(std::as_bytes(values));
  std::vector<double> other(values.size());
  for (std::size_t member = 0; member < all.size(); ++member) {
    std::memcpy(other.data(), all[member].data(), values.size_bytes());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = member == 0                   ? other[i]
                  : operation == Operation::sum ? values[i] + other[i]
                                                : std::max(values[i], other[i]);
    }
  }
}

GroupExchange::GroupExchange(const Comm& comm, int channel,
                             std::span<const std::vector<std::byte>> outgoing)
    : comm_(comm.raw()), tag_(channel), outgoing_(outgoing), sizes_(outgoing.size()) {
  for (const auto& bytes : outgoing) own_sizes_.push_back(std::ssize(bytes));
  for (std::size_t m = 0; m < outgoing.size(); ++m) {
    const auto peer = static_cast<int>(m);
    check_mpi(MPI_Irecv(&sizes_[m], 1, MPI_INT64_T, peer, tag_, comm_, &requests_.emplace_back()));
    check_mpi(
        MPI_Isend(&own_sizes_[m], 1, MPI_INT64_T, peer, tag_, comm_, &requests_.emplace_back()));
  }
}

bool GroupExchange::advance(bool wait) {
  while (!requests_.empty()) {
    const int count = to_int(std::ssize(requests_));
    int done = 1;
    if (wait) {
      check_mpi(MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE));
    } else {
      check_mpi(MPI_Testall(count, requests_.data(), &done, MPI_STATUSES_IGNORE));
    }
    if (done == 0) return false;
    requests_.clear();
    if (!sizes_.empty()) start_messages();
  }
  return true;
}

// Messages from a member arrive in the order in which it sent them, so one tag is enough.
void GroupExchange::start_messages() {
  incoming_.resize(sizes_.size());
  for (std::size_t m = 0; m < incoming_.size(); ++m) {
    const auto peer = static_cast<int>(m);
    incoming_[m].resize(static_cast<std::size_t>(sizes_[m]));
    for (std::size_t at = 0; at < incoming_[m].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, incoming_[m].size() - at));
      check_mpi(MPI_Irecv(incoming_[m].data() + at, count, MPI_BYTE, peer, tag_, comm_,
                          &requests_.emplace_back()));
    }
    for (std::size_t at = 0; at < outgoing_[m].size(); at += chunk_bytes) {
      const auto count = static_cast<int>(std::min(chunk_bytes, outgoing_[m].size() - at));
      check_mpi(MPI_Isend(outgoing_[m].data() + at, count, MPI_BYTE, peer, tag_, comm_,
                          &requests_.emplace_back()));
    }
  }
  sizes_.clear();
}

void MpiGroup::reduce(std::span<double> values, Operation operation) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), to_int(std::ssize(values)), MPI_DOUBLE,
                          operation == Operation::sum ? MPI_SUM : MPI_MAX, comm_.raw()));
}

std::vector<std::vector<std::byte>> MpiGroup::exchange(
    const std::vector<std::vector<std::byte>>& outgoing) {
  GroupExchange call(comm_, 0, outgoing);
  call.advance(true);
  return call.take_incoming();
}

class MpiRelay::ChannelGroup : public Group {
 public:
  ChannelGroup(MpiRelay& relay, int channel) : relay_(relay), channel_(channel) {}
  int rank() const override { return relay_.comm_.rank(); }
  int size() const override { return relay_.comm_.num_ranks(); }
  std::string name() const override { return relay_.name_; }
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

void GuardedGroup::run(const std::function<void()>& action) {
  bool others = false;
  const auto failure = failure_of([&] {
    try {
      action();
    } catch (const OtherFailed&) {
      others = true;
    }
  });
  if (!others && !any(failure.has_value())) return;
  if (size() == 1) throw Error(*failure);
  ByteWriter out;
  if (failure) out.put(about(name(), *failure));
  const auto all = group_.gather(out.take());
  for (const auto& bytes : all) {
    if (!bytes.empty()) throw Error(ByteReader(bytes).get_error());
  }
  throw Error(Errc::internal, "servers disagree about a failure");
}

bool GuardedGroup::any(bool failed) {
  double flag = failed ? 1 : 0;
  group_.max({&flag, 1});
  return flag > 0;
}

void GuardedGroup::fine() {
  if (any(false)) throw OtherFailed{};
}

}  // namespace tailrace::server
