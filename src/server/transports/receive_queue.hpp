// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "server/block_arena.hpp"
#include "server/transport.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace::server {

/// A packet that waits at its client.
struct Offer {
  int client = -1;
  int slot = 0;  ///< in the client's table
  int priority = 0;
  std::uint64_t sequence = 0;  ///< of the client's packets to this server, ascending
  std::ptrdiff_t offset = 0;   ///< in the client's memory, where the transport needs it
  std::ptrdiff_t bytes = 0;
};

/// An offer that was accepted, and the memory that it goes to.
struct Accepted {
  Offer offer;
  std::span<std::byte> place;
};

/// What the server's sides of all transports that copy have in common: the receive memory, which of
/// the waiting packets comes next, and those that have arrived. Knows nothing of how data moves.
///
/// Of one client the packet of the highest priority comes first, equal ones in their order; another
/// one may overtake a transfer under way only if its priority is higher. Among clients the highest
/// priority wins, then the one that has waited longest.
///
/// Each client that has nothing in memory keeps room in reserve for a packet as large as its
/// largest so far: else a client that is ahead could fill the memory with steps that others can not
/// complete any more.
///
/// The oldest packet of a client is always taken: if there is no room for it, beyond the memory.
/// Packets of the oldest unfinished step are the oldest of all clients on all servers, as steps are
/// handed over in the same order everywhere and those before it have been released. So that step
/// becomes whole whatever fills the memory: newer steps, holes, or a step larger than the memory.
/// Beyond the memory lie at most a packet of each client, or two where priorities differ.
class ReceiveQueue {
 public:
  enum class Order { by_priority, clients_in_turn };

  ReceiveQueue(int num_clients, std::ptrdiff_t memory_bytes, Order order);

  void add(const Offer& offer);
  /// The next packet that may come now, with memory for it; nothing if none waits or fits. Throws
  /// `Errc::io` (ENOMEM) if this node has no memory for one that must be taken.
  std::optional<Accepted> accept();
  /// All bytes of an accepted packet are there.
  void finish(const Accepted& packet);
  bool take(Arrival& arrival);
  /// Gives the memory back. Throws `Errc::internal` for what is not held.
  void release(const Arrival& arrival);
  /// Leaves `bytes` of the memory to others than packets, except for those that must be taken.
  void keep_room(std::ptrdiff_t bytes) { kept_ = bytes; }
  /// Its reserve is free for others.
  void forget(int client);

  bool waits(int client) const { return !queues_[static_cast<std::size_t>(client)].offers.empty(); }
  bool all_taken() const { return arrived_.empty(); }

 private:
  struct Held {
    std::uint64_t sequence = 0;
    Buffer extra;  // where it lies, if not in the memory
  };
  struct ClientQueue {  // of a client
    std::vector<Offer> offers;
    std::vector<int> under_way;  // priorities of accepted packets that have not arrived
    std::vector<Held> held;
    std::ptrdiff_t largest = 0;  // bytes of its largest offer so far
  };
  struct Candidate {
    std::size_t client = 0;
    std::size_t offer = 0;
  };
  struct Place {
    std::span<std::byte> bytes;
    Buffer extra;
  };
  static std::optional<std::size_t> best_of(const ClientQueue& queue);
  static std::size_t oldest_of(const ClientQueue& queue);
  static bool must_be_taken(const ClientQueue& queue, const Offer& offer);
  bool fits(const ClientQueue& queue, std::ptrdiff_t bytes) const;
  void collect_candidates();
  std::optional<Place> find_place(const ClientQueue& queue, const Offer& offer);
  Place find_extra(const Offer& offer);
  Accepted take_in(const Candidate& candidate, Place place);
  ClientQueue& queue(int client) { return queues_[static_cast<std::size_t>(client)]; }

  Order order_;
  Buffer memory_;
  BlockArena arena_;
  std::vector<Buffer> spares_;  // memory beyond, not in use
  std::vector<ClientQueue> queues_;
  std::vector<Candidate> candidates_;
  std::deque<Arrival> arrived_;
  std::size_t turn_ = 0;        // clients_in_turn: where to look first
  std::ptrdiff_t reserve_ = 0;  // of clients that hold nothing
  std::ptrdiff_t kept_ = 0;     // for other things than packets
  std::uint64_t num_accepted_ = 0;
  std::vector<std::uint64_t> last_accepted_;  // by client: when it had its turn last
  int num_waiting_ = 0;
};

}  // namespace tailrace::server
