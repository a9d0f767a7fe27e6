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
      lines_(servers.size()) {
  block_->client = client;
  block_->num_tables = static_cast<std::int32_t>(servers.size());
  block_->staging_offset = staging_offset(block_->num_tables);
  block_->staging_bytes = staging_bytes;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    Line& line = lines_[i];
    line.table = &block_->tables()[i];
    line.table->server = servers[i];
    for (std::size_t entry = Table::num_entries; entry > 0; --entry) line.free.push_back(entry - 1);
    line.taken.reserve(Table::num_entries);
  }
  released_.reserve(servers.size() * Table::num_entries);
  block_->mark = ClientBlock::block_mark;
}

std::span<std::byte> NodeSender::memory() {
  return {block_->staging(), static_cast<std::size_t>(block_->staging_bytes)};
}

const NodeSender::Line& NodeSender::line_of(int server) const {
  for (const Line& line : lines_) {
    if (line.table->server == server) return line;
  }
  throw Error(Errc::internal, fmt::format("client {} does not share memory with server {}",
                                          block_->client, server));
}

NodeSender::Line& NodeSender::line_of(int server) {
  return const_cast<Line&>(std::as_const(*this).line_of(server));
}

bool NodeSender::can_hand_over(int server) const { return !line_of(server).free.empty(); }

void NodeSender::hand_over(int server, std::span<const std::byte> packet, int priority) {
  Line& line = line_of(server);
  check(line);
  if (line.free.empty()) {
    throw Error(Errc::internal, fmt::format("{} packets are on their way to server {} already",
                                            Table::num_entries, server));
  }
  const std::size_t place = line.free.back();
  Entry& entry = line.table->entries[place];
  entry.priority = priority;
  entry.sequence = sequence_++;
  entry.offset = packet.data() - block_->staging();
  entry.bytes = static_cast<std::int64_t>(packet.size());
  line.free.pop_back();
  line.taken.push_back(place);
  entry.state.store(Entry::handed, std::memory_order_release);
  line.table->num_handed.fetch_add(1, std::memory_order_seq_cst);
  ring(line);
}

// True if the server's memory is at hand. A server that comes later looks at all tables then.
bool NodeSender::connect(Line& line) {
  if (line.server_memory) return true;
  if (line.table->has_server.load(std::memory_order_seq_cst) == 0) return false;
  line.server_memory = Memory(line.table->server_block);
  return true;
}

void NodeSender::set_server_block(int server, const Endpoint& block) {
  Table& table = *line_of(server).table;
  table.server_block = block;
  table.has_server.store(1, std::memory_order_seq_cst);
}

void NodeSender::ring(Line& line) {
  if (connect(line)) line.server()->bell.ring();
}

void NodeSender::check(Line& line) {
  if (!connect(line)) return;
  ServerBlock& server = *line.server();
  if (server.state.load(std::memory_order_acquire) == ServerBlock::gone) {
    throw Error(Errc::io, server.text, server.sys_errno);
  }
  if (runs(line.process, server.pid) || runs(line.worker, server.worker)) return;
  throw Error(Errc::io, fmt::format("output server {} has ended: its process {} was killed",
                                    line.table->server, line.process.pid()));
}

void NodeSender::collect(Line& line) {
  const std::uint64_t now = line.table->num_released.load(std::memory_order_acquire);
  if (now == line.num_released) return;
  line.num_released = now;
  std::erase_if(line.taken, [&](std::size_t place) {
    const Entry& entry = line.table->entries[place];
    if (entry.state.load(std::memory_order_acquire) != Entry::free) return false;
    released_.push_back(block_->staging() + entry.offset);
    line.free.push_back(place);
    return true;
  });
}

void NodeSender::progress() {
  heard_ = block_->bell.count();
  for (Line& line : lines_) collect(line);
}

void NodeSender::take_released(std::vector<const std::byte*>& released) {
  progress();
  released.insert(released.end(), released_.begin(), released_.end());
  released_.clear();
}

bool NodeSender::take_notice(Notice& notice) {
  for (Line& line : lines_) {
    Table& table = *line.table;
    const std::uint64_t next = table.notices_read.load(std::memory_order_relaxed);
    if (table.notices_written.load(std::memory_order_acquire) == next) continue;
    notice = table.notices[next % Table::num_notices];
    table.notices_read.store(next + 1, std::memory_order_seq_cst);
    // A server that found no room in the ring waits for this.
    const bool was_full =
        table.notices_written.load(std::memory_order_seq_cst) - next >= Table::num_notices;
    if (was_full) ring(line);
    return true;
  }
  return false;
}

void NodeSender::wait(double limit_s) {
  const double end_s = now_s() + limit_s;
  const auto nothing_new = [&] {
    return released_.empty() && std::ranges::all_of(lines_, [](const Line& line) {
             return line.table->notices_written.load(std::memory_order_acquire) ==
                    line.table->notices_read.load(std::memory_order_relaxed);
           });
  };
  while (block_->bell.count() == heard_ && nothing_new()) {
    const double left_s = end_s - now_s();
    if (left_s <= 0) break;
    block_->bell.wait(heard_, std::min(left_s, look_after_s));
    if (block_->bell.count() == heard_) {
      for (Line& line : lines_) check(line);
    }
  }
  progress();
}

// A server may end and free its memory as soon as the last client has said that it leaves, so the
// bell is found before. What keeps one server from being told must not keep the others from it.
void NodeSender::leave(double limit_s) {
  std::optional<Error> failure;
  for (Line& line : lines_) {
    try_also(failure, [&] { connect(line); });
    line.table->left.store(1, std::memory_order_seq_cst);
    if (line.server_memory) line.server()->bell.ring();
  }
  if (failure) throw *failure;
  const double end_s = now_s() + limit_s;
  for (Line& line : lines_) {
    const auto known = [&] { return line.table->left_known.load(std::memory_order_acquire) != 0; };
    while (!known()) {
      const double left_s = end_s - now_s();
      if (left_s <= 0) {
        throw Error(Errc::io, fmt::format("server {} did not answer within {} s that client {} may "
                                          "leave",
                                          line.table->server, limit_s, block_->client));
      }
      const std::uint32_t heard = block_->bell.count();
      if (known()) break;
      block_->bell.wait(heard, std::min(left_s, look_after_s));
      if (known()) break;
      // A server that has ended has answered before, or never will.
      std::optional<Error> gone;
      try_also(gone, [&] { check(line); });
      if (gone && !known()) throw *gone;
    }
  }
}

}  // namespace tailrace::server::on_node
