// SPDX-License-Identifier: BSD-3-Clause
// What the transports by messages have in common: the words that clients and servers exchange, and
// what distinguishes one of them from another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/wait.hpp"
#include "server/team.hpp"
#include "server/transport.hpp"
#include "server/transports/participants.hpp"
#include "server/transports/receive_queue.hpp"

namespace tailrace::server::by_message {

/// What makes one transport by messages differ from another.
struct MessageProtocol {
  const char* name;
  /// The server asks for each packet; else the client sends at once and the server says when it has
  /// it.
  bool asked_for;
  ReceiveQueue::Order order;
  /// Packets under way to a server at once; 0: `senders_at_once` of the settings.
  int at_once;
};

/// From client to server: a packet waits (or follows), or nothing more comes.
struct Head {
  enum class Kind : std::int32_t { packet, leave };
  Kind kind = Kind::packet;
  std::int32_t slot = 0;
  std::int32_t priority = 0;
  std::int32_t unused = 0;
  std::int64_t bytes = 0;
  std::uint64_t sequence = 0;
};

/// From server to client. Only notices carry all of it.
struct Word {
  enum class Kind : std::int32_t { send, have, notice, alive, goodbye };
  Kind kind = Kind::alive;
  std::int32_t slot = 0;  ///< send, have: the packet
  Notice notice = {};
};
constexpr int short_word_bytes = 2 * sizeof(std::int32_t);

constexpr int head_tag = 0;
constexpr int word_tag = 1;
constexpr int data_tag = 2;           ///< plus the slot
constexpr int slots_per_server = 64;  ///< packets of a client that wait for a server

/// Calls `end` with the owner of each request that is done, and takes both out of their lists; true
/// if there were any. Local.
template <class Owner, class End>
bool end_done(std::vector<MPI_Request>& requests, std::vector<Owner>& owners, End&& end) {
  if (!any_done(requests)) return false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == MPI_REQUEST_NULL) {
      end(owners[i]);
    } else {
      requests[kept] = requests[i];
      owners[kept++] = owners[i];
    }
  }
  requests.resize(kept);
  owners.resize(kept);
  return true;
}

std::unique_ptr<Sender> make_sender(const MessageProtocol& protocol, const Team& team,
                                    const TransportSettings& settings);
std::unique_ptr<Receiver> make_receiver(const MessageProtocol& protocol, const Team& team,
                                        const TransportSettings& settings);

}  // namespace tailrace::server::by_message
