// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/node_sender.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/agreed_error.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server::on_node {

namespace {

constexpr double look_after_s = 0.5;  // how long a dead server may go unnoticed in a wait

std::ptrdiff_t memory_bytes(std::size_t num_tables, std::ptrdiff_t staging_bytes) {
  return staging_offset(static_cast<int>(num_tables)) + staging_bytes;
}

// Keeps an eye on the process whose number is `pid` at present.
bool runs(ProcessWatch& watch, const std::atomic<std::int32_t>& pid) {
  const std::int32_t now = pid.load(std::memory_order_acquire);
  if (now == 0) return false;
  if (watch.pid() != now) watch = ProcessWatch(now);
  return watch.alive();
}

}  // namespace

NodeSender::NodeSender(int client, const std::vector<int>& servers, std::ptrdiff_t staging_bytes)
    : memory_(memory_bytes(servers.size(), staging_bytes), memory_bytes(servers.size(), 0)),
      block_(reinterpret_cast<ClientBlock*>(memory_.data())),
      links_(servers.size()) {
  block_->client = client;
  block_->num_tables = static_cast<std::int32_t>(servers.size());
  block_->staging_offset = staging_offset(block_->num_tables);
  block_->staging_bytes = staging_bytes;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    ServerLink& link = links_[i];
    link.table = &block_->tables()[i];
    link.table->server = servers[i];
    for (std::size_t entry = Table::num_entries; entry > 0; --entry) link.free.push_back(entry - 1);
    link.taken.reserve(Table::num_entries);
  }
  released_.reserve(servers.size() * Table::num_entries);
  block_->mark = ClientBlock::block_mark;
}

std::span<std::byte> NodeSender::memory() {
  return {block_->staging(), static_cast<std::size_t>(block_->staging_bytes)};
}

const NodeSender::ServerLink& NodeSender::link_of(int server) const {
  for (const ServerLink& link : links_) {
    if (link.table->server == server) return link;
  }
  throw Error(Errc::internal, fmt::format("client {} does not share memory with server {}",
                                          block_->client, server));
}

NodeSender::ServerLink& NodeSender::link_of(int server) {
  return const_cast<ServerLink&>(std::as_const(*this).link_of(server));
}

bool NodeSender::can_hand_over(int server) const { return !link_of(server).free.empty(); }

void NodeSender::hand_over(int server, std::span<const std::byte> packet, int priority) {
  ServerLink& link = link_of(server);
  check(link);
  if (link.free.empty()) {
    throw Error(Errc::internal, fmt::format("{} packets are on their way to server {} already",
                                            Table::num_entries, server));
  }
  const std::size_t place = link.free.back();
  PacketEntry& entry = link.table->entries[place];
  entry.priority = priority;
  entry.sequence = sequence_++;
  entry.offset = packet.data() - block_->staging();
  entry.bytes = static_cast<std::int64_t>(packet.size());
  link.free.pop_back();
  link.taken.push_back(place);
  entry.state.store(PacketEntry::handed, std::memory_order_release);
  link.table->num_handed.fetch_add(1, std::memory_order_seq_cst);
  ring(link);
}

// True if the server's memory is at hand. A server that comes later looks at all tables then.
bool NodeSender::connect(ServerLink& link) {
  if (link.server_memory) return true;
  if (link.table->has_server.load(std::memory_order_seq_cst) == 0) return false;
  link.server_memory = Memory(link.table->server_block);
  return true;
}

void NodeSender::set_server_block(int server, const Endpoint& block) {
  Table& table = *link_of(server).table;
  table.server_block = block;
  table.has_server.store(1, std::memory_order_seq_cst);
}

void NodeSender::ring(ServerLink& link) {
  if (connect(link)) link.server()->bell.ring();
}

void NodeSender::check(ServerLink& link) {
  if (!connect(link)) return;
  ServerBlock& server = *link.server();
  if (server.state.load(std::memory_order_acquire) == ServerBlock::gone) {
    throw Error(Errc::io, server.text, server.sys_errno);
  }
  if (runs(link.process, server.pid) || runs(link.worker, server.worker)) return;
  throw Error(Errc::io, fmt::format("output server {} has ended: its process {} was killed",
                                    link.table->server, link.process.pid()));
}

void NodeSender::collect(ServerLink& link) {
  const std::uint64_t now = link.table->num_released.load(std::memory_order_acquire);
  if (now == link.num_released) return;
  link.num_released = now;
  std::erase_if(link.taken, [&](std::size_t place) {
    const PacketEntry& entry = link.table->entries[place];
    if (entry.state.load(std::memory_order_acquire) != PacketEntry::free) return false;
    released_.push_back(block_->staging() + entry.offset);
    link.free.push_back(place);
    return true;
  });
}

void NodeSender::progress() {
  heard_ = block_->bell.count();
  for (ServerLink& link : links_) collect(link);
}

void NodeSender::take_released(std::vector<const std::byte*>& released) {
  progress();
  released.insert(released.end(), released_.begin(), released_.end());
  released_.clear();
}

bool NodeSender::take_notice(Notice& notice) {
  for (ServerLink& link : links_) {
    Table& table = *link.table;
    const std::uint64_t next = table.notices_read.load(std::memory_order_relaxed);
    if (table.notices_written.load(std::memory_order_acquire) == next) continue;
    notice = table.notices[next % Table::num_notices];
    table.notices_read.store(next + 1, std::memory_order_seq_cst);
    // A server that found no room in the ring waits for this.
    const bool was_full =
        table.notices_written.load(std::memory_order_seq_cst) - next >= Table::num_notices;
    if (was_full) ring(link);
    return true;
  }
  return false;
}

void NodeSender::wait(double limit_s) {
  const double end_s = now_s() + limit_s;
  const auto nothing_new = [&] {
    return released_.empty() && std::ranges::all_of(links_, [](const ServerLink& link) {
             return link.table->notices_written.load(std::memory_order_acquire) ==
                    link.table->notices_read.load(std::memory_order_relaxed);
           });
  };
  while (block_->bell.count() == heard_ && nothing_new()) {
    const double left_s = end_s - now_s();
    if (left_s <= 0) break;
    block_->bell.wait(heard_, std::min(left_s, look_after_s));
    if (block_->bell.count() == heard_) {
      for (ServerLink& link : links_) check(link);
    }
  }
  progress();
}

// A server may end and free its memory as soon as the last client has said that it leaves, so the
// bell is found before. What keeps one server from being told must not keep the others from it.
void NodeSender::leave(double limit_s) {
  std::optional<Error> failure;
  for (ServerLink& link : links_) {
    try_also(failure, [&] { connect(link); });
    link.table->left.store(1, std::memory_order_seq_cst);
    if (link.server_memory) link.server()->bell.ring();
  }
  if (failure) throw *failure;
  const double end_s = now_s() + limit_s;
  for (ServerLink& link : links_) {
    const auto known = [&] { return link.table->left_known.load(std::memory_order_acquire) != 0; };
    while (!known()) {
      const double left_s = end_s - now_s();
      if (left_s <= 0) {
        throw Error(Errc::io, fmt::format("server {} did not answer within {} s that client {} may "
                                          "leave",
                                          link.table->server, limit_s, block_->client));
      }
      const std::uint32_t heard = block_->bell.count();
      if (known()) break;
      block_->bell.wait(heard, std::min(left_s, look_after_s));
      if (known()) break;
      // A server that has ended has answered before, or never will.
      std::optional<Error> gone;
      try_also(gone, [&] { check(link); });
      if (gone && !known()) throw *gone;
    }
  }
}

}  // namespace tailrace::server::on_node
