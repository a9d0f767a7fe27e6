// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/packet.hpp"
#include "server/team.hpp"

namespace tailrace::server {

/// The client's side of a transport: staging memory, and packets (contiguous bytes of it) that go
/// to servers. Of one client, packets of the same server arrive in the order of their priority,
/// equal ones in the order in which they were handed over; but where a server has no room, the
/// oldest packet comes in before more important ones. Main thread only. Throws `Errc::io` if a
/// server is gone.
class Sender {
 public:
  virtual ~Sender() = default;
  /// The staging memory, 64-byte aligned, always the same. Local.
  virtual std::span<std::byte> memory() = 0;
  /// Called before the first `bytes` of the staging memory are used. Throws `Errc::io` if the node
  /// does not have so much. Local.
  virtual void provide(std::ptrdiff_t bytes) { static_cast<void>(bytes); }
  /// True if another packet may be handed over to `server` (tables of packets are finite). Local.
  virtual bool can_hand_over(int server) const = 0;
  /// Hands `packet`, which lies in `memory()` and is not empty, over to `server`; its bytes must
  /// not change until it is released. Never waits. Local.
  virtual void hand_over(int server, std::span<const std::byte> packet, int priority) = 0;
  /// Moves data on, as far as this side has a part in it. Never waits. Local.
  virtual void progress() = 0;
  /// Appends the first bytes of packets whose memory is free again. Local.
  virtual void take_released(std::vector<const std::byte*>& released) = 0;
  /// The next notice, in the order in which the leader sent them; false if there is none. Local.
  virtual bool take_notice(Notice& notice) = 0;
  /// Sleeps until something may have happened, at most `limit_s`; helps as `progress` does. Local.
  virtual void wait(double limit_s) = 0;
  /// Whether servers work in the memory that this client has given, as they read the packets where
  /// they lie. Then what they need besides counts here, too. Local.
  virtual bool is_memory_of_servers() const { return false; }
  /// Tells all servers that nothing more comes; all packets must have been released. Waits, with a
  /// limit, until they know. Collective over the clients.
  virtual void leave(double limit_s) = 0;
};

/// A packet that has arrived whole.
struct Arrival {
  int client = -1;
  std::span<const std::byte> bytes;  ///< 64-byte aligned; valid until released
  std::uint64_t handle = 0;          ///< the transport's own
};

/// The server's side. Called from one thread (the rank's main thread, or the server thread if the
/// transport makes no MPI calls), except `wake`.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// The next packet that has arrived whole; false if there is none. Never waits. Local.
  virtual bool take(Arrival& arrival) = 0;
  /// The server needs the packet no more; where the client's memory is used until then, it is free
  /// again. Any order. Local.
  virtual void release(const Arrival& arrival) = 0;
  /// Tells `client`. Never waits, never loses one. Local.
  virtual void notify(int client, const Notice& notice) = 0;
  /// The server needs `bytes` of its memory for other things than packets, from now on. Local.
  virtual void keep_room(std::ptrdiff_t bytes) { static_cast<void>(bytes); }
  /// The step has ended and every client has been told; its packets are released next. Transports
  /// whose packets outlive the server remember it, so that a restarted server does not wait for
  /// those of them that are already gone (`PacketHeader` says which step a packet is of). Local.
  virtual void mark_ended(std::int32_t stream, std::int64_t number) {
    static_cast<void>(stream);
    static_cast<void>(number);
  }
  /// Moves data on. Never waits. Local.
  virtual void progress() = 0;
  /// Sleeps (no spinning: an idle server uses no processor time) until something may have happened
  /// or `wake` is called, at most `limit_s`. Local.
  virtual void wait(double limit_s) = 0;
  /// Ends a `wait` in progress or to come. From any thread.
  virtual void wake() = 0;
  /// True once every client has left. Local.
  virtual bool all_left() const = 0;
};

struct TransportSettings {
  std::ptrdiff_t client_bytes = 0;  ///< staging memory of this client
  /// Receive memory of this server, where one is needed; it takes more for a client's oldest
  /// packet.
  std::ptrdiff_t server_bytes = 0;
  int senders_at_once = 4;
  std::ptrdiff_t chunk_bytes = 4 << 20;
  bool helper_thread = false;
  double watchdog_s = 120;
};

/// A method to get packets from clients to servers: a line of `transport_table()`.
struct Transport {
  const char* name;
  const char* summary;  ///< one line, for `tailrace list` and the docs
  /// "" if it can be used by this team here, else why not. May probe. Collective over `team.all`.
  std::string (*refuses)(const Team& team);
  /// Collective over `team.all`, blocking: each rank makes the side (or sides: threads) that it
  /// needs. Throw on all ranks.
  std::function<std::unique_ptr<Sender>(const Team&, const TransportSettings&)> make_sender;
  std::function<std::unique_ptr<Receiver>(const Team&, const TransportSettings&)> make_receiver;
};

/// All transports; the first is the plain reference. Local.
std::span<const Transport> transport_table();
/// The one called `name`. Throws `Errc::invalid_input` listing the names. Local.
const Transport& find_transport(const std::string& name);
/// The one that "auto" stands for, and `why`, in a sentence; between nodes the tuner's choice for
/// `settings`. The same on all ranks. Collective over `team.all`, blocking. Throws
/// `Errc::invalid_input` if none can be used.
const Transport& choose_transport(const Team& team, const TransportSettings& settings,
                                  std::string& why);

// The lines of the table of transports, each in a file of its own.
Transport push_ordered();
Transport push_any();
Transport credit();
Transport pull();
Transport node();
Transport shmem();

}  // namespace tailrace::server
