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

bool is_of_step(const ClientBlock& block, const Entry& entry, std::int32_t stream,
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
  lines_.reserve(clients.size());
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
  for (Line& line : lines_) line.block->bell.ring();
}

void NodeReceiver::attach(const Endpoint& endpoint) {
  Line line;
  line.client = endpoint.client;
  line.memory = Memory(endpoint);
  line.block = reinterpret_cast<ClientBlock*>(line.memory.data());
  if (line.block->mark != ClientBlock::block_mark || line.block->client != endpoint.client) {
    throw Error(Errc::io, fmt::format("descriptor {} of process {} is not the memory of client {}",
                                      endpoint.fd, endpoint.pid, endpoint.client));
  }
  for (std::int32_t i = 0; i < line.block->num_tables; ++i) {
    Table& table = line.block->tables()[i];
    if (table.server == server_) line.table = &table;
  }
  if (line.table == nullptr) {
    throw Error(Errc::internal,
                fmt::format("client {} has no table for server {}", endpoint.client, server_));
  }
  line.seen.resize(Table::num_entries);
  lines_.push_back(std::move(line));
}

// Another process may have served these clients before, and have died anywhere.
void NodeReceiver::recover() {
  if (block_->ended_valid.load(std::memory_order_acquire) != 0) {
    end_packets(block_->ended_stream, block_->ended_number);
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    Table& table = *lines_[i].table;
    for (Entry& entry : table.entries) {
      if (entry.state.load(std::memory_order_acquire) == Entry::ended) {
        entry.state.store(Entry::free, std::memory_order_release);
      }
    }
    table.num_released.fetch_add(1, std::memory_order_seq_cst);
    if (memory_.descriptor() >= 0) table.server_block = memory_.endpoint();
    table.has_server.store(1, std::memory_order_seq_cst);
    lines_[i].block->bell.ring();
    look(i);
  }
}

void NodeReceiver::end_packets(std::int32_t stream, std::int64_t number) {
  for (const Line& line : lines_) {
    for (Entry& entry : line.table->entries) {
      if (entry.state.load(std::memory_order_acquire) == Entry::handed &&
          is_of_step(*line.block, entry, stream, number)) {
        entry.state.store(Entry::ended, std::memory_order_release);
      }
    }
  }
}

// Order of the heap: high priority first, then the order of handing over.
void NodeReceiver::look(std::size_t number) {
  Line& line = lines_[number];
  if (!line.left && line.table->left.load(std::memory_order_seq_cst) != 0) {
    line.left = true;
    someone_left_ = true;
    line.table->left_known.store(1, std::memory_order_seq_cst);
    line.block->bell.ring();
  }
  const std::uint64_t num_handed = line.table->num_handed.load(std::memory_order_seq_cst);
  if (num_handed == line.num_handed) return;
  line.num_handed = num_handed;
  for (std::size_t i = 0; i < Table::num_entries; ++i) {
    const Entry& entry = line.table->entries[i];
    if (line.seen[i] || entry.state.load(std::memory_order_acquire) != Entry::handed) continue;
    line.seen[i] = true;
    waiting_.push_back({entry.priority, entry.sequence, number, i});
    std::ranges::push_heap(waiting_, later_than);
  }
}

bool NodeReceiver::later_than(const Waiting& a, const Waiting& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.sequence != b.sequence) return a.sequence > b.sequence;
  return a.line > b.line;
}

bool NodeReceiver::take(Arrival& arrival) {
  progress();
  if (waiting_.empty()) return false;
  std::ranges::pop_heap(waiting_, later_than);
  const Waiting next = waiting_.back();
  waiting_.pop_back();
  const Line& line = lines_[next.line];
  const Entry& entry = line.table->entries[next.entry];
  arrival.client = line.client;
  arrival.bytes = {line.block->staging() + entry.offset, static_cast<std::size_t>(entry.bytes)};
  arrival.handle = (static_cast<std::uint64_t>(next.line) << entry_bits) | next.entry;
  return true;
}

void NodeReceiver::release(const Arrival& arrival) { act(Release{arrival.handle}); }

void NodeReceiver::notify(int client, const Notice& notice) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].client == client) return act(Tell{i, notice});
  }
  throw Error(Errc::internal,
              fmt::format("server {} does not share memory with client {}", server_, client));
}

void NodeReceiver::mark_ended(std::int32_t stream, std::int64_t number) {
  act(Mark{stream, number});
}

// The order of actions is kept: a step must not be marked as ended before its clients were told,
// nor be released before it is marked.
void NodeReceiver::act(const Action& action) {
  if (!later_.empty() || !carry_out(action)) later_.push_back(action);
}

bool NodeReceiver::carry_out(const Action& action) {
  if (const auto* release = std::get_if<Release>(&action)) {
    Line& line = lines_[release->handle >> entry_bits];
    const auto place = static_cast<std::size_t>(release->handle & ((1U << entry_bits) - 1));
    line.seen[place] = false;
    line.table->entries[place].state.store(Entry::free, std::memory_order_release);
    line.table->num_released.fetch_add(1, std::memory_order_seq_cst);
    line.block->bell.ring();
    return true;
  }
  if (const auto* mark = std::get_if<Mark>(&action)) {
    block_->ended_valid.store(0, std::memory_order_seq_cst);
    block_->ended_stream = mark->stream;
    block_->ended_number = mark->number;
    block_->ended_valid.store(1, std::memory_order_seq_cst);
    end_packets(mark->stream, mark->number);
    block_->num_ended.fetch_add(1, std::memory_order_release);
    return true;
  }
  const auto& tell = std::get<Tell>(action);
  Line& line = lines_[tell.line];
  if (line.left) return true;
  Table& table = *line.table;
  const std::uint64_t next = table.notices_written.load(std::memory_order_relaxed);
  if (next - table.notices_read.load(std::memory_order_seq_cst) >= Table::num_notices) return false;
  table.notices[next % Table::num_notices] = tell.notice;
  table.notices_written.store(next + 1, std::memory_order_seq_cst);
  line.block->bell.ring();
  return true;
}

void NodeReceiver::progress() {
  heard_ = block_->bell.count();
  for (std::size_t i = 0; i < lines_.size(); ++i) look(i);
  while (!later_.empty() && carry_out(later_.front())) later_.pop_front();
}

void NodeReceiver::wait(double limit_s) {
  if (waiting_.empty() && !someone_left_) block_->bell.wait(heard_, limit_s);
  someone_left_ = false;  // the caller looks at `all_left` now
}

void NodeReceiver::wake() { block_->bell.ring(); }

bool NodeReceiver::all_left() const {
  return std::ranges::all_of(lines_, [](const Line& line) { return line.left; });
}

}  // namespace tailrace::server::on_node
