// SPDX-License-Identifier: BSD-3-Clause
// The table of packets that a client keeps in its own memory, where a server reads it one-sided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <xxhash.h>

#include "server/packet.hpp"
#include "server/transports/participants.hpp"

namespace tailrace::server::one_sided {

/// The packets of one client for one server. Each value has one writer. What is longer than a word
/// may be seen half-written, so it carries a check.
struct PacketTable {
  static constexpr std::size_t num_entries = 64;
  static constexpr std::size_t num_notes = 8;

  struct Front {
    std::uint64_t handed = 0;  ///< packets handed over so far
    std::uint64_t handed_check = ~std::uint64_t{0};
    std::uint64_t notes_taken = 0;
    std::uint64_t left = 0;  ///< 1: nothing more comes
  };
  struct Entry {
    std::uint64_t sequence = 0;  ///< of the packet, from 1; its entry is sequence - 1 modulo
    std::int64_t offset = 0, bytes = 0, priority = 0;
    std::uint64_t check = 0;
  };
  struct Note {
    std::uint64_t number = 0;  ///< from 1
    std::uint64_t check = 0;
    Notice notice;
  };

  // Written by the client.
  alignas(64) Front front;
  alignas(64) Entry entries[num_entries];
  // Written by the server.
  alignas(64) std::uint64_t released[num_entries];  ///< sequence of the packet that is not needed
  std::uint64_t pulse;
  std::uint64_t goodbye;
  Note notes[num_notes];

  static std::uint64_t check_of(const Entry& entry) {
    return XXH3_64bits(&entry, offsetof(Entry, check));
  }
  static std::uint64_t check_of(const Note& note) {
    return XXH3_64bits_withSeed(&note.notice, sizeof note.notice, note.number);
  }
};

/// Memory of the clients that servers can reach without their help: a table for each server, and
/// the staging memory.
class ClientMemory {
 public:
  virtual ~ClientMemory() = default;

  /// The client's own. Local.
  virtual PacketTable* tables() = 0;
  virtual std::span<std::byte> data() = 0;
  /// Lets others see what was written here, and this side what others wrote. Local.
  virtual void sync() = 0;

  /// For servers. The same bytes of the tables of several clients, one after another in `to`;
  /// waits.
  virtual void read_tables(std::span<const int> clients, std::ptrdiff_t offset,
                           std::ptrdiff_t bytes, std::byte* to) = 0;
  /// Returns when the client can see it.
  virtual void write_table(int client, std::ptrdiff_t offset, std::span<const std::byte> bytes) = 0;
  /// Begins to read staging memory; at most one read a ticket. Never waits.
  virtual void start_read(std::size_t ticket, int client, std::ptrdiff_t offset,
                          std::span<std::byte> to) = 0;
  virtual bool ended(std::size_t ticket) = 0;
};

/// Makes the memory of this rank known to all, with `num_tickets` for reads. Collective over
/// `participants.comm`, blocking. So is the destructor.
using MakeClientMemory = std::unique_ptr<ClientMemory> (*)(const Participants& participants,
                                                           std::size_t num_tickets);

/// What makes one one-sided transport differ from another.
struct OneSidedProtocol {
  const char* name;
  MakeClientMemory make_memory;
};

std::unique_ptr<Sender> make_sender(const OneSidedProtocol& protocol, const Team& team,
                                    const TransportSettings& settings);
std::unique_ptr<Receiver> make_receiver(const OneSidedProtocol& protocol, const Team& team,
                                        const TransportSettings& settings);

/// The line of the table for `protocol`.
inline Transport line(const OneSidedProtocol& protocol, const char* summary,
                      std::string (*refuses)(const Team& team)) {
  return {.name = protocol.name,
          .summary = summary,
          .refuses = refuses,
          .make_sender = std::bind_front(&make_sender, protocol),
          .make_receiver = std::bind_front(&make_receiver, protocol)};
}

}  // namespace tailrace::server::one_sided
