// SPDX-License-Identifier: BSD-3-Clause
// A client announces its packets, and the server asks for one after another, by priority, at most
// senders_at_once at the same time: the network at its door is never crowded, and a small important
// packet passes a big one. The client answers from progress() and wait(), or from a helper thread:
// data moves only when it gets there. Costs two small messages a packet more than pushing.
#include "server/transports/entries.hpp"
#include "server/transports/message.hpp"
#include "server/transports/sides.hpp"

namespace tailrace::server {

namespace {

constexpr by_message::Way way{
    .name = "credit", .asked_for = true, .order = Intake::Order::by_priority, .at_once = 0};

std::unique_ptr<Sender> make_sender(const Team& team, const TransportSettings& settings) {
  return by_message::make_sender(way, team, settings);
}

std::unique_ptr<Receiver> make_receiver(const Team& team, const TransportSettings& settings) {
  return by_message::make_receiver(way, team, settings);
}

}  // namespace

Transport credit() {
  return {.name = way.name,
          .summary = "messages on demand: the server asks, a few clients send at once",
          .refuses = refuses_but_ranks,
          .make_sender = make_sender,
          .make_receiver = make_receiver};
}

}  // namespace tailrace::server
