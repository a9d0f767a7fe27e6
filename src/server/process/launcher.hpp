// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "server/team.hpp"
#include "server/transport.hpp"

namespace tailrace::server {

/// The server process of a node, seen by its clients. The first client of the node starts the
/// program `tailrace-server`, which supervises the process that serves: killed, it is started again
/// at once, and finds the packets that it had not released. All share memory without names, so
/// nothing stays behind. The processes end when all clients have left; when a client dies they
/// finish the steps that are whole, and end after at most `watchdog_s`.
class ServerProcess {
 public:
  /// Makes this rank's staging memory, and starts the process of its node. `threads` is what it may
  /// use for products. Throws `Errc::io` on all ranks if it cannot be started, saying where the
  /// program was looked for. Collective over `team.all`, blocking.
  ServerProcess(const Team& team, const TransportSettings& settings, int threads);
  /// As `finish`, but if clients have not left the process is told to end, and errors are printed.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// This rank's sender; once. It may outlive this object. Local.
  std::unique_ptr<Sender> take_sender();
  /// After `Sender::leave`: waits until the process has ended. False if it lost output (the streams
  /// were told what). Throws `Errc::io` after `limit_s`. Blocking on the node's first client, at
  /// once on the others. Local.
  bool finish(double limit_s);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The file of the program `tailrace-server`: in the folder TAILRACE_BIN_DIR, beside the running
/// program, where it was built, or where it was installed. Throws `Errc::io` naming these places if
/// it is in none. Local.
std::string find_server_program();

}  // namespace tailrace::server
