// SPDX-License-Identifier: BSD-3-Clause
// The plain reference: a client sends its packet, and the server receives one packet at a time,
// from its clients in turn. A client whose data is late does not hold up others that have nothing
// to say, but whoever is being received from has the server to himself. Large messages move only
// while both sides call MPI.
#include "server/transports/entries.hpp"
#include "server/transports/message.hpp"

namespace tailrace::server {

namespace {

constexpr by_message::Way way{.name = "push_ordered",
                              .asked_for = false,
                              .order = Intake::Order::clients_in_turn,
                              .at_once = 1};

}  // namespace

Transport push_ordered() {
  return by_message::line<way>("plain messages; the server receives from one client after another");
}

}  // namespace tailrace::server
