// SPDX-License-Identifier: BSD-3-Clause
// All clients send, and the server receives whatever is there, from all at once. Wins over
// push_ordered where clients are not ready in their order. With many clients their data meets at
// the server's door; large messages move only while both sides call MPI.
#include <climits>

#include "server/transports/entries.hpp"
#include "server/transports/message.hpp"

namespace tailrace::server {

namespace {

constexpr by_message::Way way{.name = "push_any",
                              .asked_for = false,
                              .order = Intake::Order::by_priority,
                              .at_once = INT_MAX};

}  // namespace

Transport push_any() {
  return by_message::line<way>("plain messages; the server receives from all clients at once");
}

}  // namespace tailrace::server
