// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "server/transport.hpp"
#include "server/transports/node_memory.hpp"

namespace tailrace::server::on_node {

/// The server's side of `node`: reads packets where the clients have put them. Makes no MPI call;
/// one thread, except `wake`.
class NodeReceiver final : public Receiver {
 public:
  /// Server number `server` of the clients whose memory is at `clients`; `block` is its own memory,
  /// which may have been another process's before: packets which that one had not released come
  /// again. Throws `Errc::io`. Local.
  NodeReceiver(int server, std::span<const Endpoint> clients, Memory block);
  ~NodeReceiver() override;

  ServerBlock& block() const { return *block_; }
  /// True if the `i`-th client has said that it has nothing more. From any thread.
  bool wants_to_leave(std::size_t i) const { return links_[i].table->left.load() != 0; }

  bool take(Arrival& arrival) override;
  void release(const Arrival& arrival) override;
  void notify(int client, const Notice& notice) override;
  void mark_ended(std::int32_t stream, std::int64_t number) override;
  void progress() override;
  void wait(double limit_s) override;
  void wake() override;
  bool all_left() const override;

 private:
  struct ClientLink {
    int client = -1;
    Memory memory;
    ClientBlock* block = nullptr;
    Table* table = nullptr;
    std::uint64_t num_handed = 0;  // looked at
    std::vector<bool> seen;        // entries that are waiting or were taken
    bool left = false;
  };
  struct Waiting {
    std::int32_t priority;
    std::uint64_t sequence;
    std::size_t link, entry;
  };
  static bool later_than(const Waiting& a, const Waiting& b);
  void attach(const Endpoint& endpoint);
  void recover();
  void end_packets(std::int32_t stream, std::int64_t number);
  void look(std::size_t link);
  template <class Action>
  void act(Action&& action);
  bool tell(ClientLink& link, const Notice& notice);
  int server_;
  Memory memory_;
  ServerBlock* block_ = nullptr;
  std::vector<ClientLink> links_;
  std::vector<Waiting> waiting_;  // a heap, the next one first
  /// What has to wait for room for notices, and what comes after it; true once it is done.
  std::deque<std::function<bool()>> later_;
  std::uint32_t heard_ = 0;  // count of the bell
  bool someone_left_ = false;
};

}  // namespace tailrace::server::on_node
