// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/intake.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tailrace/error.hpp"

namespace tailrace::server {

Intake::Intake(int num_clients, std::ptrdiff_t memory_bytes, Order order)
    : order_(order),
      memory_(memory_bytes, false),
      arena_({memory_.data(), static_cast<std::size_t>(memory_bytes)}),
      lines_(static_cast<std::size_t>(num_clients)),
      last_accepted_(static_cast<std::size_t>(num_clients)) {
  candidates_.reserve(static_cast<std::size_t>(num_clients));
}

void Intake::add(const Offer& offer) {
  Line& of_client = line(offer.client);
  const auto size = BlockArena::rounded(offer.bytes);
  if (size > of_client.largest) {
    if (of_client.held == 0) reserve_ += size - of_client.largest;
    of_client.largest = size;
  }
  of_client.offers.push_back(offer);
  ++num_waiting_;
}

// The offer of this client that comes next, if any of it may come now.
std::optional<std::size_t> Intake::best_of(const Line& line) const {
  if (line.offers.empty()) return std::nullopt;
  const auto best =
      std::min_element(line.offers.begin(), line.offers.end(), [](const Offer& a, const Offer& b) {
        if (a.priority != b.priority) return a.priority > b.priority;
        return a.sequence < b.sequence;
      });
  for (const int priority : line.under_way) {
    if (best->priority <= priority) return std::nullopt;
  }
  return static_cast<std::size_t>(best - line.offers.begin());
}

bool Intake::fits(const Line& line, std::ptrdiff_t bytes) const {
  const auto left = arena_.capacity() - arena_.used() - BlockArena::rounded(bytes);
  return left >= (line.held == 0 ? 0 : reserve_);
}

void Intake::collect_candidates() {
  candidates_.clear();
  const auto num_clients = lines_.size();
  for (std::size_t i = 0; i < num_clients; ++i) {
    const auto client = (turn_ + i) % num_clients;
    const auto best = best_of(lines_[client]);
    if (best) candidates_.push_back({client, *best});
  }
  if (order_ == Order::clients_in_turn) return;
  std::sort(candidates_.begin(), candidates_.end(), [this](const Candidate& a, const Candidate& b) {
    const int first = lines_[a.client].offers[a.offer].priority;
    const int second = lines_[b.client].offers[b.offer].priority;
    if (first != second) return first > second;
    return last_accepted_[a.client] < last_accepted_[b.client];
  });
}

std::optional<Accepted> Intake::accept() {
  if (num_waiting_ == 0) return std::nullopt;
  collect_candidates();
  for (const Candidate& candidate : candidates_) {
    Line& of_client = lines_[candidate.client];
    const auto at = of_client.offers.begin() + static_cast<std::ptrdiff_t>(candidate.offer);
    const Offer offer = *at;
    if (!fits(of_client, offer.bytes)) continue;
    const auto place = arena_.allocate(offer.bytes);
    if (!place) continue;
    of_client.offers.erase(at);
    of_client.under_way.push_back(offer.priority);
    if (of_client.held++ == 0) reserve_ -= of_client.largest;
    --num_waiting_;
    last_accepted_[candidate.client] = ++num_accepted_;
    turn_ = (candidate.client + 1) % lines_.size();
    return Accepted{offer, *place};
  }
  return std::nullopt;
}

void Intake::finish(const Accepted& packet) {
  auto& under_way = line(packet.offer.client).under_way;
  under_way.erase(std::find(under_way.begin(), under_way.end(), packet.offer.priority));
  bytes_received_ += packet.offer.bytes;
  arrived_.push_back({.client = packet.offer.client,
                      .bytes = packet.place.first(static_cast<std::size_t>(packet.offer.bytes)),
                      .handle = packet.offer.sequence});
}

bool Intake::take(Arrival& arrival) {
  if (arrived_.empty()) return false;
  arrival = arrived_.front();
  arrived_.pop_front();
  return true;
}

void Intake::release(const Arrival& arrival) {
  arena_.free(arrival.bytes.data());
  Line& of_client = line(arrival.client);
  if (of_client.held <= 0) {
    throw Error(Errc::internal,
                fmt::format("a packet of client {} is released twice", arrival.client));
  }
  if (--of_client.held == 0) reserve_ += of_client.largest;
}

void Intake::forget(int client) {
  Line& of_client = line(client);
  if (of_client.held == 0) reserve_ -= of_client.largest;
  of_client.largest = 0;
}

}  // namespace tailrace::server
