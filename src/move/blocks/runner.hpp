// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "move/method_spec.hpp"
#include "move/surroundings.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/buffer.hpp"

namespace tailrace {

/// Sizes of a block exchange on one rank: `send[piece][peer]` and `receive[piece][peer]` items.
/// Rank a's send to b must be b's receive from a.
struct BlockShape {
  std::ptrdiff_t item_bytes = 1;
  std::vector<std::vector<std::ptrdiff_t>> send, receive;
  std::ptrdiff_t num_pieces() const { return std::ssize(send); }
};

/// What a method of moving blocks is made for; outlives the runner.
struct BlockProblem {
  const Comm& comm;  ///< of this exchange alone, so that its messages meet no others
  const BlockShape& shape;
  const Surroundings& machine;
  MethodSettings settings = {};
};

/// A method of moving blocks that are packed already. The calls come in the order of
/// `BlockExchange`: acquire; for each piece start (any order); for each piece wait; release. Pieces
/// of one exchange may be under way together, and several exchanges on one communicator may be.
/// Zero-sized blocks move nothing, and a rank's block for itself is never moved:
/// `receive_block(p, rank)` is `send_block(p, rank)`.
class BlockRunner {
 public:
  virtual ~BlockRunner() = default;
  /// Waits until the send blocks may be written.
  virtual void acquire() {}
  virtual std::byte* send_block(std::ptrdiff_t piece, int peer) const = 0;
  virtual std::byte* receive_block(std::ptrdiff_t piece, int peer) const = 0;
  /// The block for `peer` is written and may go at once, while the next is written. Optional for
  /// the caller; `start` follows.
  virtual void start_block(std::ptrdiff_t /*piece*/, int /*peer*/) {}
  /// All blocks of `piece` are written. Does not wait for other ranks.
  virtual void start(std::ptrdiff_t piece) = 0;
  /// Lets transfers advance. Does not wait.
  virtual void progress() {}
  /// True if the block from `peer` may be read. Does not wait, nor advance anything.
  virtual bool arrived(std::ptrdiff_t piece, int peer) = 0;
  /// True if `wait` would not wait: all has arrived, and this rank has nothing left to do in
  /// `piece` for others, such as sending on what they have written. Does not wait.
  virtual bool served(std::ptrdiff_t /*piece*/) { return true; }
  /// Waits until all blocks of `piece` may be read and this rank has served the others.
  virtual void wait(std::ptrdiff_t piece) = 0;
  /// Waits until at least one more block of `piece` may be read; by default until all may.
  virtual void wait_some(std::ptrdiff_t piece) { wait(piece); }
  /// The receive blocks of all pieces are no longer needed.
  virtual void release() {}
  /// False if peers get all that they need of a piece from `start` and MPI: nobody waits for this
  /// rank to call anything else.
  virtual bool needs_calls() const { return true; }
  /// True if `acquire` would not wait: what was sent last time has left or has been read.
  virtual bool may_acquire() { return true; }
  virtual std::ptrdiff_t buffer_bytes() const = 0;
};

inline bool always(const BlockProblem& /*problem*/) { return true; }

/// How a method moves blocks. In the table of methods (src/move/methods.cpp).
struct BlockMethod {
  /// The same answer on all ranks. Collective, blocking.
  bool (*applies)(const BlockProblem& problem) = always;
  /// False where another line does the same as well: the tuner then leaves it out. Local.
  bool (*worth_timing)(const BlockProblem& problem) = always;
  /// Collective, blocking; nullptr: it moves arrays only.
  std::unique_ptr<BlockRunner> (*make)(const BlockProblem& problem) = nullptr;
};

using BlockTable = std::vector<std::vector<std::ptrdiff_t>>;  ///< [piece][peer], in items

/// Send and receive blocks in private memory, for methods that hand them to MPI.
class BlockBuffers {
 public:
  /// Collective over `comm`, blocking; throws on all ranks if one has no memory.
  BlockBuffers(const BlockShape& shape, const Comm& comm);
  std::byte* send_block(std::ptrdiff_t piece, int peer) const;
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const;
  /// Where a block starts, in items from the first send (receive) block.
  std::ptrdiff_t send_offset(std::ptrdiff_t piece, int peer) const;
  std::ptrdiff_t receive_offset(std::ptrdiff_t piece, int peer) const;
  std::byte* sends() const { return buffer_.data(); }
  std::byte* receives() const { return buffer_.data() + receive_start_ * item_bytes_; }
  std::ptrdiff_t bytes() const { return buffer_.bytes(); }

 private:
  std::ptrdiff_t item_bytes_;
  int rank_;
  BlockTable send_offsets_, receive_offsets_;
  std::ptrdiff_t receive_start_ = 0;
  Buffer buffer_;
};

/// Items of a block.
inline std::ptrdiff_t block_items(const BlockTable& table, std::ptrdiff_t piece, int peer) {
  return table[static_cast<std::size_t>(piece)][static_cast<std::size_t>(peer)];
}
/// Offsets of blocks laid one after another from `end` on, which is advanced; `skip` gets no room.
BlockTable place_blocks(const BlockTable& items, std::ptrdiff_t& end, int skip);

// The methods, one file each.
std::unique_ptr<BlockRunner> make_block_alltoallv(const BlockProblem& problem);
std::unique_ptr<BlockRunner> make_block_alltoallw(const BlockProblem& problem);
std::unique_ptr<BlockRunner> make_block_pairwise(const BlockProblem& problem);
bool block_bruck_worth_timing(const BlockProblem& problem);
std::unique_ptr<BlockRunner> make_block_bruck(const BlockProblem& problem);
bool block_pull_applies(const BlockProblem& problem);
std::unique_ptr<BlockRunner> make_block_pull(const BlockProblem& problem);
bool block_node_aware_worth_timing(const BlockProblem& problem);
std::unique_ptr<BlockRunner> make_block_node_aware(const BlockProblem& problem);
bool block_node_direct_applies(const BlockProblem& problem);
std::unique_ptr<BlockRunner> make_block_node_direct(const BlockProblem& problem);
bool block_caf_applies(const BlockProblem& problem);
std::unique_ptr<BlockRunner> make_block_caf(const BlockProblem& problem);

}  // namespace tailrace
