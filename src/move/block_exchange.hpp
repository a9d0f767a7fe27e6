// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/awaited.hpp"
#include "core/under_way.hpp"
#include "move/blocks/runner.hpp"
#include "move/surroundings.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/method_info.hpp"

namespace tailrace {

/// An all-to-all whose send and receive buffers belong to the exchange, so that the caller packs by
/// writing its results straight into `send_block` and unpacks by reading its input straight from
/// `receive_block`. It is cut into pieces that can be on their way independently. On one node the
/// `node_direct` method moves nothing: `receive_block` is the sender's own block, seen through a
/// shared-memory window.
///
/// Use, again and again:  acquire; write blocks of piece p, start(p), ...; wait(p), read, ...;
/// release.
class BlockExchange final : private UnderWay {
 public:
  /// Collective, blocking. `method`: a name of `block_methods()`, with settings if wanted
  /// ("pull:chunk=4k"), or "auto": the tuner's choice. Keeps a duplicate of `comm`. Throws
  /// `Errc::invalid_input` on all ranks alike, also where their arguments do not fit together.
  BlockExchange(const Comm& comm, BlockShape shape, std::string_view method);
  /// Waits for pieces that were started; see `end_operation` (core/last_resort.hpp).
  ~BlockExchange();
  BlockExchange(const BlockExchange&) = delete;
  BlockExchange& operator=(const BlockExchange&) = delete;

  /// Waits until every peer has released what this rank sent last time.
  void acquire() {
    awaited_.begin();
    const Awaited::Wait wait(awaited_);
    runner_->acquire();
    in_use_ = true;
    num_started_ = 0;
  }
  std::byte* send_block(std::ptrdiff_t piece, int peer) const {
    return runner_->send_block(piece, peer);
  }
  /// All send blocks of `piece` are written. Does not wait.
  void start(std::ptrdiff_t piece);
  /// Lets transfers advance. Local.
  void progress() { runner_->progress(); }
  /// Waits until the receive blocks of `piece` may be read.
  void wait(std::ptrdiff_t piece);
  /// May be read only, between `wait` and `release`.
  const std::byte* receive_block(std::ptrdiff_t piece, int peer) const {
    return runner_->receive_block(piece, peer);
  }
  /// The receive blocks of all pieces are no longer needed.
  void release() {
    in_use_ = false;
    runner_->release();
  }

  std::string_view method() const { return name_; }
  /// Why "auto" took it; "" if it was asked for.
  const std::string& why() const { return why_; }
  std::ptrdiff_t buffer_bytes() const { return runner_->buffer_bytes(); }
  const BlockShape& shape() const { return shape_; }

 private:
  void advance() override { runner_->progress(); }

  Comm comm_;
  Surroundings machine_;
  BlockShape shape_;
  std::unique_ptr<BlockRunner> runner_;
  Awaited awaited_;
  std::string_view name_;
  std::string why_;
  std::vector<bool> started_;  ///< pieces that have not been waited for
  bool in_use_ = false;        ///< between acquire and release
  std::ptrdiff_t num_started_ = 0;
  int exceptions_when_made_ = std::uncaught_exceptions();
};

std::span<const MethodInfo> block_methods();

}  // namespace tailrace
