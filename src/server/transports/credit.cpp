// SPDX-License-Identifier: BSD-3-Clause
// A client announces its packets, and the server asks for one after another, by priority, at most
// senders_at_once at the same time: the network at its door is never crowded, and a small important
// packet passes a big one. The client answers from progress() and wait(), or from a helper thread:
// data moves only when it gets there. Costs two small messages a packet more than pushing.
#include "server/transports/entries.hpp"
#include "server/transports/message.hpp"

namespace tailrace::server {

namespace {

constexpr by_message::Way way{
    .name = "credit", .asked_for = true, .order = Intake::Order::by_priority, .at_once = 0};

}  // namespace

Transport credit() {
  return by_message::line<way>("messages on demand: the server asks, a few clients send at once");
}

}  // namespace tailrace::server
