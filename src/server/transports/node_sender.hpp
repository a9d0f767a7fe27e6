// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "server/transport.hpp"
#include "server/transports/node_memory.hpp"

namespace tailrace::server::on_node {

/// The client's side of `node`: makes the shared memory in which its packets lie. Makes no MPI
/// call.
class NodeSender final : public Sender {
 public:
  /// Of client number `client`, which hands packets to `servers`. Throws `Errc::io`. Local.
  NodeSender(int client, const std::vector<int>& servers, std::ptrdiff_t staging_bytes);

  Endpoint endpoint() const { return memory_.endpoint(block_->client); }
  /// Says where the memory of `server` is, if the server does not do so itself.
  void set_server_block(int server, const Endpoint& block);
  /// Frees `thing` together with the sender.
  void keep(std::shared_ptr<const void> thing) { kept_ = std::move(thing); }

  std::span<std::byte> memory() override;
  void provide(std::ptrdiff_t bytes) override { memory_.provide(block_->staging_offset + bytes); }
  bool can_hand_over(int server) const override;
  bool is_memory_of_servers() const override { return true; }
  void hand_over(int server, std::span<const std::byte> packet, int priority) override;
  void progress() override;
  void take_released(std::vector<const std::byte*>& released) override;
  bool take_notice(Notice& notice) override;
  void wait(double limit_s) override;
  void leave(double limit_s) override;

 private:
  struct ServerLink {
    Table* table = nullptr;
    std::vector<std::size_t> free;   // entries
    std::vector<std::size_t> taken;  // entries handed over
    std::uint64_t num_released = 0;  // seen
    Memory server_memory;
    ProcessWatch process, worker;  // that serve

    ServerBlock* server() { return reinterpret_cast<ServerBlock*>(server_memory.data()); }
  };
  ServerLink& link_of(int server);
  const ServerLink& link_of(int server) const;
  bool connect(ServerLink& link);
  void ring(ServerLink& link);
  void collect(ServerLink& link);
  void check(ServerLink& link);

  Memory memory_;
  ClientBlock* block_ = nullptr;
  std::vector<ServerLink> links_;
  std::vector<const std::byte*> released_;
  std::uint64_t sequence_ = 0;
  std::uint32_t heard_ = 0;  // count of the bell
  std::shared_ptr<const void> kept_;
};

}  // namespace tailrace::server::on_node
