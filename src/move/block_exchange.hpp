// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/buffer.hpp"
#include "node_window.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {

/// Sizes of a block exchange on one rank: `send[piece][peer]` and `receive[piece][peer]` items.
/// Rank a's send to b must be b's receive from a.
struct BlockShape {
  std::ptrdiff_t item_bytes = 1;
  std::vector<std::vector<std::ptrdiff_t>> send, receive;
  std::ptrdiff_t num_pieces() const { return static_cast<std::ptrdiff_t>(send.size()); }
};

/// An all-to-all whose send and receive buffers belong to the exchange, so that the caller packs by
/// writing its results straight into `send_block` and unpacks by reading its input straight from
/// `receive_block`. It is cut into pieces that can be on their way independently. On one node the
/// `node_direct` method moves nothing: `receive_block` is the sender's own block, seen through a
/// shared-memory window.
///
/// Use, again and again:  acquire; write blocks of piece p, start(p), ...; wait(p), read, ...;
/// release.
class BlockExchange {
 public:
  /// Collective, blocking. `method`: a name of `block_methods()` or "auto" (node_direct where all
  /// ranks share a node, else alltoallv). Throws `Errc::invalid_input` on all ranks.
  BlockExchange(const Comm& comm, BlockShape shape, std::string_view method);
  ~BlockExchange();
  BlockExchange(const BlockExchange&) = delete;
  BlockExchange& operator=(const BlockExchange&) = delete;

  /// Waits until every peer has released what this rank sent last time.
  void acquire();
  std::byte* send_block(std::ptrdiff_t piece, int peer) const;
  /// All send blocks of `piece` are written. Does not wait.
  void start(std::ptrdiff_t piece);
  /// Lets transfers advance. Local.
  void progress();
  /// Waits until the receive blocks of `piece` may be read.
  void wait(std::ptrdiff_t piece);
  /// May be written to by this rank after `wait` only if `owns_received()`.
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const;
  /// The receive blocks of all pieces are no longer needed.
  void release();

  std::string_view method() const { return name_; }
  std::ptrdiff_t buffer_bytes() const;
  const BlockShape& shape() const { return shape_; }

  struct Impl;  // one method's way of moving a piece; see block_exchange.cpp

 private:
  BlockShape shape_;
  std::unique_ptr<Impl> impl_;
  std::string_view name_;
};

struct BlockMethodInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view applies;
};
std::span<const BlockMethodInfo> block_methods();

}  // namespace tailrace
