// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/receive_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "core/round_up.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

ReceiveQueue::ReceiveQueue(int num_clients, std::ptrdiff_t memory_bytes, Order order)
    : order_(order),
      memory_(memory_bytes, false),
      arena_({memory_.data(), static_cast<std::size_t>(memory_bytes)}),
      queues_(static_cast<std::size_t>(num_clients)),
      last_accepted_(static_cast<std::size_t>(num_clients)) {
  candidates_.reserve(static_cast<std::size_t>(num_clients));
}

void ReceiveQueue::add(const Offer& offer) {
  ClientQueue& of_client = queue(offer.client);
  const auto size = BlockArena::rounded(offer.bytes);
  if (size > of_client.largest) {
    if (of_client.held.empty()) reserve_ += size - of_client.largest;
    of_client.largest = size;
  }
  of_client.offers.push_back(offer);
  ++num_waiting_;
}

// The offer of this client that comes next, if any of it may come now.
std::optional<std::size_t> ReceiveQueue::best_of(const ClientQueue& queue) {
  if (queue.offers.empty()) return std::nullopt;
  const auto best = std::min_element(queue.offers.begin(), queue.offers.end(),
                                     [](const Offer& a, const Offer& b) {
                                       if (a.priority != b.priority) return a.priority > b.priority;
                                       return a.sequence < b.sequence;
                                     });
  for (const int priority : queue.under_way) {
    if (best->priority <= priority) return std::nullopt;
  }
  return static_cast<std::size_t>(best - queue.offers.begin());
}

std::size_t ReceiveQueue::oldest_of(const ClientQueue& queue) {
  const auto oldest = std::ranges::min_element(queue.offers, {}, &Offer::sequence);
  return static_cast<std::size_t>(oldest - queue.offers.begin());
}

bool ReceiveQueue::must_be_taken(const ClientQueue& queue, const Offer& offer) {
  return offer.sequence == queue.offers[oldest_of(queue)].sequence &&
         std::ranges::all_of(queue.held,
                             [&](const Held& held) { return held.sequence > offer.sequence; });
}

bool ReceiveQueue::fits(const ClientQueue& queue, std::ptrdiff_t bytes) const {
  const auto left = arena_.capacity() - arena_.used() - kept_ - BlockArena::rounded(bytes);
  return left >= (queue.held.empty() ? 0 : reserve_);
}

void ReceiveQueue::collect_candidates() {
  candidates_.clear();
  const auto num_clients = queues_.size();
  for (std::size_t i = 0; i < num_clients; ++i) {
    const auto client = (turn_ + i) % num_clients;
    const auto best = best_of(queues_[client]);
    if (best) candidates_.push_back({client, *best});
  }
  if (order_ == Order::clients_in_turn) return;
  std::sort(candidates_.begin(), candidates_.end(), [this](const Candidate& a, const Candidate& b) {
    const int first = queues_[a.client].offers[a.offer].priority;
    const int second = queues_[b.client].offers[b.offer].priority;
    if (first != second) return first > second;
    return last_accepted_[a.client] < last_accepted_[b.client];
  });
}

std::optional<Accepted> ReceiveQueue::accept() {
  if (num_waiting_ == 0) return std::nullopt;
  collect_candidates();
  for (const Candidate& candidate : candidates_) {
    const ClientQueue& of_client = queues_[candidate.client];
    auto place = find_place(of_client, of_client.offers[candidate.offer]);
    if (place) return take_in(candidate, std::move(*place));
  }
  // What is in memory may wait for a packet that a more important one has overtaken.
  for (const Candidate& candidate : candidates_) {
    const ClientQueue& of_client = queues_[candidate.client];
    if (!of_client.under_way.empty()) continue;
    const auto oldest = oldest_of(of_client);
    auto place = find_place(of_client, of_client.offers[oldest]);
    if (place) return take_in({candidate.client, oldest}, std::move(*place));
  }
  return std::nullopt;
}

std::optional<ReceiveQueue::Place> ReceiveQueue::find_place(const ClientQueue& queue,
                                                            const Offer& offer) {
  const bool must = must_be_taken(queue, offer);
  if (must || fits(queue, offer.bytes)) {
    if (const auto block = arena_.allocate(offer.bytes)) return Place{*block, {}};
  }
  if (!must) return std::nullopt;
  return find_extra(offer);
}

// Steps of one shape find the memory that the one before has left.
ReceiveQueue::Place ReceiveQueue::find_extra(const Offer& offer) {
  const auto bytes = static_cast<std::size_t>(offer.bytes);
  const auto wanted = BlockArena::rounded(offer.bytes) + page_bytes;
  std::ranges::sort(spares_, {}, &Buffer::bytes);
  auto spare = std::ranges::lower_bound(spares_, wanted, {}, &Buffer::bytes);
  if (spare == spares_.end() && !spares_.empty()) --spare;
  Buffer extra;
  if (spare != spares_.end()) {
    extra = std::move(*spare);
    spares_.erase(spare);
  }
  if (extra.bytes() < wanted) {
    extra = {};
    try {
      extra = Buffer(wanted, false);
    } catch (const std::bad_alloc&) {
      throw Error(Errc::io,
                  fmt::format("no memory for a packet of {} bytes of client {}, which does not fit "
                              "into the free part of the receive memory of {} bytes",
                              offer.bytes, offer.client, arena_.capacity()),
                  ENOMEM);
    }
  }
  return {{round_up(extra.data(), page_bytes), bytes}, std::move(extra)};
}

Accepted ReceiveQueue::take_in(const Candidate& candidate, Place place) {
  ClientQueue& of_client = queues_[candidate.client];
  const auto at = of_client.offers.begin() + static_cast<std::ptrdiff_t>(candidate.offer);
  const Offer offer = *at;
  of_client.offers.erase(at);
  of_client.under_way.push_back(offer.priority);
  if (of_client.held.empty()) reserve_ -= of_client.largest;
  of_client.held.push_back({offer.sequence, std::move(place.extra)});
  --num_waiting_;
  last_accepted_[candidate.client] = ++num_accepted_;
  turn_ = (candidate.client + 1) % queues_.size();
  return {offer, place.bytes};
}

void ReceiveQueue::finish(const Accepted& packet) {
  auto& under_way = queue(packet.offer.client).under_way;
  under_way.erase(std::find(under_way.begin(), under_way.end(), packet.offer.priority));
  arrived_.push_back({.client = packet.offer.client,
                      .bytes = packet.place.first(static_cast<std::size_t>(packet.offer.bytes)),
                      .handle = packet.offer.sequence});
}

bool ReceiveQueue::take(Arrival& arrival) {
  if (arrived_.empty()) return false;
  arrival = arrived_.front();
  arrived_.pop_front();
  return true;
}

void ReceiveQueue::release(const Arrival& arrival) {
  ClientQueue& of_client = queue(arrival.client);
  const auto held = std::ranges::find(of_client.held, arrival.handle, &Held::sequence);
  if (held == of_client.held.end()) {
    throw Error(Errc::internal,
                fmt::format("a packet of client {} is released twice", arrival.client));
  }
  if (held->extra.bytes() > 0) {
    spares_.push_back(std::move(held->extra));
  } else {
    arena_.free(arrival.bytes.data());
  }
  of_client.held.erase(held);
  if (of_client.held.empty()) reserve_ += of_client.largest;
}

void ReceiveQueue::forget(int client) {
  ClientQueue& of_client = queue(client);
  if (of_client.held.empty()) reserve_ -= of_client.largest;
  of_client.largest = 0;
}

}  // namespace tailrace::server
