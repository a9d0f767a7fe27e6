// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "server/group.hpp"
#include "server/transport.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace {
class Trace;
}

namespace tailrace::server {

struct ServerSettings {
  std::vector<int> clients;  ///< whom this server tells about steps: each client has one that does
  int threads = 1;
  StageFunctions functions = {};  ///< that products may call
  /// Packets outlive this server, which may be started again: streams need not begin with step 0.
  bool may_restart = false;
  Trace* trace = nullptr;
  MpiRelay* relay = nullptr;  ///< to the other servers; null: there are none. Not owned
  bool moves_relay = false;   ///< by the thread that runs the server; else somebody else does
};

/// A server: takes packets, puts steps together, and tells the clients what became of them. What is
/// between is done by background threads of each stream, in a straight line: one has the products
/// made, the other writes the files. Made on the rank's main thread; `run` may be called on
/// another.
class Server {
 public:
  Server(Receiver& receiver, ServerSettings settings);
  ~Server();
  /// Serves until all clients have left (or `stop` is called) and everything has been written.
  /// Returns true if nothing was lost. Collective over the servers.
  bool run();
  /// Ends `run` after the steps that are whole: the clients are gone. Steps of which packets are
  /// missing are given up. From any thread.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tailrace::server
