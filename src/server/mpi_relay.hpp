// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "server/mpi_group.hpp"
#include "server/mpi_peers.hpp"
#include "server/transport.hpp"

namespace tailrace::server {

/// What a server thread has to do with servers of other nodes where it may not call MPI
/// (MPI_THREAD_FUNNELED): it leaves messages and calls here, and the rank's main thread carries
/// them out in `progress`. Must outlive the server.
class MpiRelay {
 public:
  /// Duplicates `servers`; wakes `receiver`, which is not owned, when something has arrived.
  /// Collective over `servers`, blocking. Main thread.
  MpiRelay(const Comm& servers, Receiver& receiver) : receiver_(receiver), peers_(servers) {}
  /// For the server thread. Local.
  std::unique_ptr<Peers> make_peers();
  /// For the server thread. Duplicates `servers`. Collective over it, blocking.
  std::unique_ptr<Group> make_group(const Comm& servers);
  /// Moves messages and calls on. Never waits. Main thread.
  void progress();

 private:
  class RelayedPeers;
  class RelayedGroup;
  using StartCall = std::function<GroupCall()>;
  /// Has `start` and the rest of its call carried out. Blocking. Server thread.
  GroupCall carry_out(StartCall start);
  void move_messages();
  void move_call();

  Receiver& receiver_;
  MpiPeers peers_;    // main thread only
  std::mutex mutex_;  // of what follows
  std::deque<std::pair<int, PeerMessage>> to_send_;
  std::deque<PeerMessage> arrived_;
  StartCall start_;                // of a call to come
  std::optional<GroupCall> call_;  // under way, or complete
  bool complete_ = false;
  std::exception_ptr failure_;
  std::condition_variable call_ended_;
};

}  // namespace tailrace::server
