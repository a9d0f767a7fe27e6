// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/node_receiver.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "server/packet.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server::on_node {

namespace {

constexpr std::uint64_t entry_bits = 16;

bool is_of_step(const ClientBlock& block, const PacketEntry& entry, std::int32_t stream,
                std::int64_t number) {
  if (entry.bytes < static_cast<std::int64_t>(sizeof(PacketHeader))) return false;
  PacketHeader header;
  const auto* front = reinterpret_cast<const std::byte*>(&block) + block.staging_offset;
  std::memcpy(&header, front + entry.offset, sizeof header);
  return header.mark == PacketHeader::packet_mark && header.stream == stream &&
         header.number == number;
}

}  // namespace

NodeReceiver::NodeReceiver(int server, std::span<const Endpoint> clients, Memory block)
    : server_(server),
      memory_(std::move(block)),
      block_(reinterpret_cast<ServerBlock*>(memory_.data())) {
  links_.reserve(clients.size());
  for (const Endpoint& endpoint : clients) attach(endpoint);
  recover();
  block_->state.store(ServerBlock::serving, std::memory_order_release);
}

NodeReceiver::~NodeReceiver() {
  // A process server's block is that of its supervisor, which has the last word.
  if (block_->pid.load(std::memory_order_relaxed) != getpid()) return;
  const auto text = fmt::format("output server {} has ended", server_);
  std::strncpy(block_->text, text.c_str(), ServerBlock::text_bytes - 1);
  block_->state.store(ServerBlock::gone, std::memory_order_release);
  for (ClientLink& link : links_) link.block->bell.ring();
}

void NodeReceiver::attach(const Endpoint& endpoint) {
  ClientLink link;
  link.client = endpoint.client;
  link.memory = Memory(endpoint);
  link.block = reinterpret_cast<ClientBlock*>(link.memory.data());
  if (link.block->mark != ClientBlock::block_mark || link.block->client != endpoint.client) {
    throw Error(Errc::io, fmt::format("descriptor {} of process {} is not the memory of client {}",
                                      endpoint.fd, endpoint.pid, endpoint.client));
  }
  for (std::int32_t i = 0; i < link.block->num_tables; ++i) {
    Table& table = link.block->tables()[i];
    if (table.server == server_) link.table = &table;
  }
  if (link.table == nullptr) {
    throw Error(Errc::internal,
                fmt::format("client {} has no table for server {}", endpoint.client, server_));
  }
  link.seen.resize(Table::num_entries);
  links_.push_back(std::move(link));
}

// Another process may have served these clients before, and have died anywhere.
void NodeReceiver::recover() {
  if (block_->ended_valid.load(std::memory_order_acquire) != 0) {
    end_packets(block_->ended_stream, block_->ended_number);
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Table& table = *links_[i].table;
    for (PacketEntry& entry : table.entries) {
      if (entry.state.load(std::memory_order_acquire) == PacketEntry::ended) {
        entry.state.store(PacketEntry::free, std::memory_order_release);
      }
    }
    table.num_released.fetch_add(1, std::memory_order_seq_cst);
    if (memory_.descriptor() >= 0) table.server_block = memory_.endpoint();
    table.has_server.store(1, std::memory_order_seq_cst);
    links_[i].block->bell.ring();
    look(i);
  }
}

void NodeReceiver::end_packets(std::int32_t stream, std::int64_t number) {
  for (const ClientLink& link : links_) {
    for (PacketEntry& entry : link.table->entries) {
      if (entry.state.load(std::memory_order_acquire) == PacketEntry::handed &&
          is_of_step(*link.block, entry, stream, number)) {
        entry.state.store(PacketEntry::ended, std::memory_order_release);
      }
    }
  }
}

// Order of the heap: high priority first, then the order of handing over.
void NodeReceiver::look(std::size_t number) {
  ClientLink& link = links_[number];
  if (!link.left && link.table->left.load(std::memory_order_seq_cst) != 0) {
    link.left = true;
    someone_left_ = true;
    link.table->left_known.store(1, std::memory_order_seq_cst);
    link.block->bell.ring();
  }
  const std::uint64_t num_handed = link.table->num_handed.load(std::memory_order_seq_cst);
  if (num_handed == link.num_handed) return;
  link.num_handed = num_handed;
  for (std::size_t i = 0; i < Table::num_entries; ++i) {
    const PacketEntry& entry = link.table->entries[i];
    if (link.seen[i] || entry.state.load(std::memory_order_acquire) != PacketEntry::handed)
      continue;
    link.seen[i] = true;
    waiting_.push_back({entry.priority, entry.sequence, number, i});
    std::ranges::push_heap(waiting_, later_than);
  }
}

bool NodeReceiver::later_than(const Waiting& a, const Waiting& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.sequence != b.sequence) return a.sequence > b.sequence;
  return a.link > b.link;
}

bool NodeReceiver::take(Arrival& arrival) {
  progress();
  if (waiting_.empty()) return false;
  std::ranges::pop_heap(waiting_, later_than);
  const Waiting next = waiting_.back();
  waiting_.pop_back();
  const ClientLink& link = links_[next.link];
  const PacketEntry& entry = link.table->entries[next.entry];
  arrival.client = link.client;
  arrival.bytes = {link.block->staging() + entry.offset, static_cast<std::size_t>(entry.bytes)};
  arrival.handle = (static_cast<std::uint64_t>(next.link) << entry_bits) | next.entry;
  return true;
}

// The order of actions is kept: a step must not be marked as ended before its clients were told,
// nor be released before it is marked.
template <class Action>
void NodeReceiver::act(Action&& action) {
  if (!later_.empty() || !action()) later_.emplace_back(action);
}

void NodeReceiver::release(const Arrival& arrival) {
  act([this, handle = arrival.handle] {
    ClientLink& link = links_[handle >> entry_bits];
    const auto place = static_cast<std::size_t>(handle & ((1U << entry_bits) - 1));
    link.seen[place] = false;
    link.table->entries[place].state.store(PacketEntry::free, std::memory_order_release);
    link.table->num_released.fetch_add(1, std::memory_order_seq_cst);
    link.block->bell.ring();
    return true;
  });
}

void NodeReceiver::notify(int client, const Notice& notice) {
  const auto link = std::ranges::find(links_, client, &ClientLink::client);
  if (link == links_.end()) {
    throw Error(Errc::internal,
                fmt::format("server {} does not share memory with client {}", server_, client));
  }
  act([this, &to = *link, notice] { return tell(to, notice); });
}

bool NodeReceiver::tell(ClientLink& link, const Notice& notice) {
  if (link.left) return true;
  Table& table = *link.table;
  const std::uint64_t next = table.notices_written.load(std::memory_order_relaxed);
  if (next - table.notices_read.load(std::memory_order_seq_cst) >= Table::num_notices) return false;
  table.notices[next % Table::num_notices] = notice;
  table.notices_written.store(next + 1, std::memory_order_seq_cst);
  link.block->bell.ring();
  return true;
}

void NodeReceiver::mark_ended(std::int32_t stream, std::int64_t number) {
  act([this, stream, number] {
    block_->ended_valid.store(0, std::memory_order_seq_cst);
    block_->ended_stream = stream;
    block_->ended_number = number;
    block_->ended_valid.store(1, std::memory_order_seq_cst);
    end_packets(stream, number);
    block_->num_ended.fetch_add(1, std::memory_order_release);
    return true;
  });
}

void NodeReceiver::progress() {
  heard_ = block_->bell.count();
  for (std::size_t i = 0; i < links_.size(); ++i) look(i);
  while (!later_.empty() && later_.front()()) later_.pop_front();
}

void NodeReceiver::wait(double limit_s) {
  if (waiting_.empty() && !someone_left_) block_->bell.wait(heard_, limit_s);
  someone_left_ = false;  // the caller looks at `all_left` now
}

void NodeReceiver::wake() { block_->bell.ring(); }

bool NodeReceiver::all_left() const {
  return std::ranges::all_of(links_, [](const ClientLink& link) { return link.left; });
}

}  // namespace tailrace::server::on_node
