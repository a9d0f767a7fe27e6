// SPDX-License-Identifier: BSD-3-Clause
#include "server/node_group.hpp"

#include <algorithm>
#include <cstring>

#include "core/round_up.hpp"

namespace tailrace::server {
namespace {

constexpr std::ptrdiff_t parts_bytes = 256 << 10;  // of a member's parts, together
constexpr double longest_sleep_s = 1;              // a wake-up ends it

void wait_for(SequenceFlag& flag, std::uint32_t round) {
  while (!flag.wait_for(round, longest_sleep_s, 0)) {
  }
}

}  // namespace

NodeGroup::NodeGroup(const Comm& node, std::string name)
    : rank_(node.rank()),
      size_(node.num_ranks()),
      name_(std::move(name)),
      part_bytes_(static_cast<std::size_t>(round_up(parts_bytes / size_, line_bytes))),
      window_(node, static_cast<std::ptrdiff_t>(sizeof(Head)) +
                        round_up(size_ * std::ptrdiff_t{sizeof(std::int64_t)}, line_bytes) +
                        size_ * static_cast<std::ptrdiff_t>(part_bytes_)) {}

NodeGroup::Segment NodeGroup::segment(int member) const {
  auto* start = window_.segment(member);
  auto* sizes = start + sizeof(Head);
  auto* parts = sizes + round_up(size_ * std::ptrdiff_t{sizeof(std::int64_t)}, line_bytes);
  return {reinterpret_cast<Head*>(start), reinterpret_cast<std::int64_t*>(sizes), parts};
}

// A message goes in rounds, a part of it each; all members take part in as many rounds as the
// longest message needs. A member writes once all have read what it wrote the round before.
std::vector<std::vector<std::byte>> NodeGroup::exchange(
    const std::vector<std::vector<std::byte>>& outgoing) {
  std::vector<std::vector<std::byte>> incoming(outgoing.size());
  bool more = true;
  for (std::size_t at = 0; more; at += part_bytes_) {
    for (int member = 0; member < size_; ++member) wait_for(segment(member).head->read, round_);
    ++round_;
    write(outgoing, at);
    segment(rank_).head->written.publish(round_);
    more = read(incoming, at);
    segment(rank_).head->read.publish(round_);
  }
  return incoming;
}

void NodeGroup::write(const std::vector<std::vector<std::byte>>& outgoing, std::size_t at) {
  const auto own = segment(rank_);
  for (std::size_t to = 0; to < outgoing.size(); ++to) {
    const auto& bytes = outgoing[to];
    own.sizes[to] = std::ssize(bytes);
    if (at >= bytes.size()) continue;
    std::memcpy(own.parts + to * part_bytes_, bytes.data() + at,
                std::min(part_bytes_, bytes.size() - at));
  }
}

/// Takes what begins at `at` of each message; true if any member has more for another.
bool NodeGroup::read(std::vector<std::vector<std::byte>>& incoming, std::size_t at) {
  bool more = false;
  const auto me = static_cast<std::size_t>(rank_);
  for (std::size_t from = 0; from < incoming.size(); ++from) {
    const auto other = segment(static_cast<int>(from));
    wait_for(other.head->written, round_);
    const auto longest = *std::max_element(other.sizes, other.sizes + size_);
    more = more || static_cast<std::size_t>(longest) > at + part_bytes_;
    const auto size = static_cast<std::size_t>(other.sizes[me]);
    incoming[from].resize(size);
    if (at >= size) continue;
    std::memcpy(incoming[from].data() + at, other.parts + me * part_bytes_,
                std::min(part_bytes_, size - at));
  }
  return more;
}

}  // namespace tailrace::server
