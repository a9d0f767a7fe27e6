// SPDX-License-Identifier: BSD-3-Clause
// The plain reference: a client sends its packet, and the server receives one packet at a time,
// from its clients in turn. A client whose data is late does not hold up others that have nothing
// to say, but whoever is being received from has the server to himself. Large messages move only
// while both sides call MPI.
#include "server/transports/entries.hpp"
#include "server/transports/message.hpp"
#include "server/transports/sides.hpp"

namespace tailrace::server {

namespace {

constexpr by_message::Way way{.name = "push_ordered",
                              .asked_for = false,
                              .order = Intake::Order::clients_in_turn,
                              .at_once = 1};

std::unique_ptr<Sender> make_sender(const Team& team, const TransportSettings& settings) {
  return by_message::make_sender(way, team, settings);
}

std::unique_ptr<Receiver> make_receiver(const Team& team, const TransportSettings& settings) {
  return by_message::make_receiver(way, team, settings);
}

}  // namespace

Transport push_ordered() {
  return {.name = way.name,
          .summary = "plain messages; the server receives from one client after another",
          .refuses = refuses_but_ranks,
          .make_sender = make_sender,
          .make_receiver = make_receiver};
}

}  // namespace tailrace::server
