// SPDX-License-Identifier: BSD-3-Clause
// All clients send, and the server receives whatever is there, from all at once. Wins over
// push_ordered where clients are not ready in their order. With many clients their data meets at
// the server's door; large messages move only while both sides call MPI.
#include <climits>

#include "server/transports/entries.hpp"
#include "server/transports/message.hpp"
#include "server/transports/sides.hpp"

namespace tailrace::server {

namespace {

constexpr by_message::Way way{.name = "push_any",
                              .asked_for = false,
                              .order = Intake::Order::by_priority,
                              .at_once = INT_MAX};

std::unique_ptr<Sender> make_sender(const Team& team, const TransportSettings& settings) {
  return by_message::make_sender(way, team, settings);
}

std::unique_ptr<Receiver> make_receiver(const Team& team, const TransportSettings& settings) {
  return by_message::make_receiver(way, team, settings);
}

}  // namespace

Transport push_any() {
  return {.name = way.name,
          .summary = "plain messages; the server receives from all clients at once",
          .refuses = refuses_but_ranks,
          .make_sender = make_sender,
          .make_receiver = make_receiver};
}

}  // namespace tailrace::server
