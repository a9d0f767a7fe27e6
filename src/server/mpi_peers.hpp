// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <vector>

#include "server/peers.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::server {

/// A server without others, which may be a thread or a process without MPI.
class LonePeers : public Peers {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void send(int server, const PeerMessage& message) override;
  bool take(PeerMessage& message) override;

 private:
  std::deque<PeerMessage> messages_;
};

/// Servers that are ranks of a communicator.
class MpiPeers : public Peers {
 public:
  /// Duplicates `comm`. Collective, blocking.
  explicit MpiPeers(const Comm& comm) : comm_(comm.raw()) {}
  /// Waits until what was sent has left.
  ~MpiPeers() override;
  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.num_ranks(); }
  void send(int server, const PeerMessage& message) override;
  bool take(PeerMessage& message) override;

 private:
  struct Sent {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  Comm comm_;
  LonePeers own_;
  std::list<Sent> sent_;
};

}  // namespace tailrace::server
