// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "server/mpi_group.hpp"
#include "server/transport.hpp"

namespace tailrace::server {

/// What the background threads of a server have to do with other servers: they leave it here, and
/// one thread that may call MPI carries it out in `progress`: the server's own, or the main thread
/// of a compute rank (MPI_THREAD_FUNNELED). Must outlive the server.
class MpiRelay {
 public:
  /// Duplicates `servers`. `wakes`, if set, is woken when there is something to do; not owned.
  /// Collective over `servers`, blocking.
  MpiRelay(const Comm& servers, Receiver* wakes) : comm_(servers.raw()), wakes_(wakes) {}
  /// For one thread at a time. Groups of different channels do not disturb each other; those of the
  /// same channel on all servers belong together. Local.
  std::unique_ptr<Group> make_group(int channel);
  /// Moves exchanges on. Never waits. The thread that calls MPI.
  void progress();

 private:
  class ChannelGroup;
  struct Call {
    int channel;
    std::span<const std::vector<std::byte>> outgoing;
    std::optional<GroupExchange> exchange = {};
    std::exception_ptr failure = {};
    bool complete = false;
  };
  /// Has an exchange carried out. Blocking. Any thread.
  std::vector<std::vector<std::byte>> exchange(int channel,
                                               const std::vector<std::vector<std::byte>>& outgoing);

  Comm comm_;
  Receiver* wakes_;
  std::mutex mutex_;        // of what follows
  std::list<Call*> calls_;  // of the threads that wait for them
  std::condition_variable call_ended_;
};

}  // namespace tailrace::server
