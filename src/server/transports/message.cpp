// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/message.hpp"

#include "server/transports/message_receiver.hpp"
#include "server/transports/message_sender.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server::by_message {

namespace {

// The start of a transport, up to where the sides part. Collective over `team.all`.
Sides meet(const Way& way, const Team& team, const TransportSettings& settings) {
  Sides sides(way.name, team, settings);
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level));
  require_all(sides.comm.raw(), !settings.helper_thread || level == MPI_THREAD_MULTIPLE,
              "a helper thread (progress = \"thread\") needs MPI_THREAD_MULTIPLE, and the program "
              "has initialised MPI with less; use progress = \"calls\"");
  return sides;
}

}  // namespace

std::unique_ptr<Sender> make_sender(const Way& way, const Team& team,
                                    const TransportSettings& settings) {
  return std::make_unique<MessageSender>(meet(way, team, settings), way);
}

std::unique_ptr<Receiver> make_receiver(const Way& way, const Team& team,
                                        const TransportSettings& settings) {
  return std::make_unique<MessageReceiver>(meet(way, team, settings), way);
}

}  // namespace tailrace::server::by_message
