// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/futex.hpp"
#include "core/round_up.hpp"
#include "core/shared_memory.hpp"
#include "server/packet.hpp"

namespace tailrace::server::on_node {

/// Where memory without a name can be found: descriptor `fd` of process `pid`, as others open it
/// through /proc. Plain bytes.
struct Endpoint {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::int64_t bytes = 0;
  std::int32_t client = -1;  ///< whose memory it is, or -1
  std::int32_t padding = 0;
};

/// Memory that processes of a node share. It has no name in any file system: it is gone with the
/// last process that has it, whatever that one ends of. Move-only. Local.
class Memory {
 public:
  Memory() = default;
  /// New memory, zeroed. The node gives the first `provided` bytes now (all, if negative), the rest
  /// when `provide` asks for it. Throws `Errc::io` if there is not so much. Local.
  explicit Memory(std::ptrdiff_t bytes, std::ptrdiff_t provided = -1);
  /// Memory of another process (or of this one). Throws `Errc::io` saying what forbids it. Local.
  explicit Memory(const Endpoint& endpoint);

  std::byte* data() const { return mapping_.data(); }
  std::ptrdiff_t bytes() const { return mapping_.bytes(); }
  explicit operator bool() const { return data() != nullptr; }
  /// Has the node give the first `bytes`, as far as it has not: what it does not have would end the
  /// program at its first use. Throws `Errc::io`. Local.
  void provide(std::ptrdiff_t bytes);
  /// For other processes; for memory that was made here. Local.
  Endpoint endpoint(int client = -1) const;
  /// Of the memory; -1 if it is that of another process. Local.
  int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
  Mapping mapping_;
  std::ptrdiff_t provided_ = 0;
};

/// Opens the descriptor that `endpoint` names; it stays valid when that process is gone. Throws
/// `Errc::io`. Local.
Descriptor open_endpoint(const Endpoint& endpoint);

/// Tells whether a process still runs, also after its number has been given to another. Local.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  explicit ProcessWatch(int pid);
  bool alive() const;
  int pid() const { return pid_; }
  /// Readable when the process has ended; -1 where the kernel has no such descriptors.
  int descriptor() const { return descriptor_.get(); }

 private:
  int pid_ = 0;
  Descriptor descriptor_;
};

// What lies in the memory that clients and servers of a node share. Zeroed memory is a valid start.

/// A packet on its way. The client writes it and sets `handed`; the server sets `free` again.
struct PacketEntry {
  enum State : std::uint32_t { free, handed, ended };
  std::atomic<std::uint32_t> state;
  std::int32_t priority;
  std::uint64_t sequence;  ///< order of handing over
  std::int64_t offset;     ///< in the client's staging memory
  std::int64_t bytes;
};

/// A client and one of its servers: packets one way, notices the other.
struct Table {
  static constexpr std::size_t num_entries = 256;
  static constexpr std::uint64_t num_notices = 512;

  std::int32_t server;
  alignas(64) std::atomic<std::uint64_t> num_handed;
  std::atomic<std::uint32_t> left;  ///< the client has nothing more
  alignas(64) std::atomic<std::uint64_t> num_released;
  std::atomic<std::uint32_t> left_known;  ///< the server has seen it
  std::atomic<std::uint32_t> has_server;  ///< `server_block` is valid
  Endpoint server_block;                  ///< memory with the server's bell
  PacketEntry entries[num_entries];
  alignas(64) std::atomic<std::uint64_t> notices_written;
  alignas(64) std::atomic<std::uint64_t> notices_read;
  Notice notices[num_notices];
};

/// The beginning of a client's memory; tables and staging memory follow.
struct ClientBlock {
  static constexpr std::uint64_t block_mark = 0x746c72'6e6f6465'31;
  std::uint64_t mark;
  std::int32_t client;
  std::int32_t num_tables;
  std::int64_t staging_offset;
  std::int64_t staging_bytes;
  Doorbell bell;  ///< rung when a packet has been released or a notice has come

  Table* tables() { return reinterpret_cast<Table*>(this + 1); }
  std::byte* staging() { return reinterpret_cast<std::byte*>(this) + staging_offset; }
};

/// Memory of a server: its bell, and what must outlive it.
struct ServerBlock {
  enum State : std::uint32_t { starting, serving, gone };
  enum Outcome : std::uint32_t { not_known, kept_all, lost_some };
  static constexpr std::size_t text_bytes = 400;
  Doorbell bell;                     ///< rung when there is a packet
  std::atomic<std::uint32_t> state;  ///< `gone`: for ever, and `text` says why
  std::atomic<std::int32_t> pid;     ///< the process that is responsible for serving
  std::atomic<std::int32_t> worker;  ///< the one that serves for it, or 0
  std::atomic<std::uint32_t> stop;   ///< clients will not leave, but the server shall end
  std::atomic<std::int32_t> num_restarts;
  std::atomic<std::uint64_t> num_ended;  ///< steps
  std::atomic<std::uint32_t> outcome;    ///< of a process
  std::int32_t sys_errno;
  char text[text_bytes];
  /// The step that ended last. A server that dies while it sets the entries of its packets is
  /// followed by one that does it again.
  std::atomic<std::uint32_t> ended_valid;
  std::int32_t ended_stream;
  std::int64_t ended_number;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Bytes of the memory of a client with `num_tables` servers; `staging_offset` of it.
constexpr std::ptrdiff_t staging_offset(int num_tables) {
  const auto front = static_cast<std::ptrdiff_t>(sizeof(ClientBlock)) +
                     num_tables * static_cast<std::ptrdiff_t>(sizeof(Table));
  return round_up(front, page_bytes);
}

}  // namespace tailrace::server::on_node
