// SPDX-License-Identifier: BSD-3-Clause
// The transports by messages, which differ in who begins. Large messages move only while both sides
// call MPI.
#include "server/transports/message.hpp"

#include <climits>
#include <functional>

#include "server/transport.hpp"

namespace tailrace::server {
namespace {

Transport line(const by_message::MessageProtocol& protocol, const char* summary) {
  return {.name = protocol.name,
          .summary = summary,
          .refuses = refuses_but_ranks,
          .make_sender = std::bind_front(&by_message::make_sender, protocol),
          .make_receiver = std::bind_front(&by_message::make_receiver, protocol)};
}

}  // namespace

// The plain reference: a client sends its packet, and the server receives one packet at a time,
// from its clients in turn. A client whose data is late does not hold up others that have nothing
// to say, but whoever is being received from has the server to himself.
Transport push_ordered() {
  return line({.name = "push_ordered",
               .asked_for = false,
               .order = ReceiveQueue::Order::clients_in_turn,
               .at_once = 1},
              "plain messages; the server receives from one client after another");
}

// All clients send, and the server receives whatever is there, from all at once. Wins over
// push_ordered where clients are not ready in their order. With many clients their data meets at
// the server's door.
Transport push_any() {
  return line({.name = "push_any",
               .asked_for = false,
               .order = ReceiveQueue::Order::by_priority,
               .at_once = INT_MAX},
              "plain messages; the server receives from all clients at once");
}

// A client announces its packets, and the server asks for one after another, by priority, at most
// senders_at_once at the same time: the network at its door is never congested, and a small
// important packet passes a big one. The client answers from progress() and wait(), or from a
// helper thread: data moves only when it gets there. Costs two small messages a packet more than
// pushing.
Transport credit() {
  return line({.name = "credit",
               .asked_for = true,
               .order = ReceiveQueue::Order::by_priority,
               .at_once = 0},
              "messages on demand: the server asks, a few clients send at once");
}

}  // namespace tailrace::server
