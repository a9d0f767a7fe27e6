// SPDX-License-Identifier: BSD-3-Clause
// Send blocks lie in a window of the node; receivers read them where they are. Ranks tell each
// other by two counters of arrivals a piece. Cost: two arrivals; the reader's loads are the
// transfer.
#include <vector>

#include "move/arrivals.hpp"
#include "move/blocks/runner.hpp"
#include "move/node_window.hpp"

namespace tailrace {

namespace {

class NodeDirect : public BlockRunner {
 public:
  explicit NodeDirect(const BlockProblem& problem)
      : comm_(problem.comm),
        waiting_(problem.machine.waiting),
        item_bytes_(problem.shape.item_bytes),
        starts_(static_cast<std::size_t>(problem.shape.num_pieces()), 0) {
    std::ptrdiff_t end = 0;
    send_offsets_ = place_blocks(problem.shape.send, end, -1);
    const auto num_counters = problem.shape.num_pieces() + 1;
    head_bytes_ = num_counters * static_cast<std::ptrdiff_t>(sizeof(Arrivals));
    bytes_ = head_bytes_ + end * item_bytes_;
    // A lone rank needs no shared memory, and private memory can have huge pages.
    if (comm_.num_ranks() == 1) {
      private_ = Buffer(bytes_);
      segments_.push_back(private_.data());
    } else {
      window_ = NodeWindow(comm_, bytes_);
      for (int peer = 0; peer < comm_.num_ranks(); ++peer) {
        segments_.push_back(window_.segment(peer));
      }
    }
    share_offsets();
  }

  void acquire() override {
    wait_for_arrivals(counter(released), uses_);
    ++uses_;
  }
  bool may_acquire() override { return counter(released).reached(uses_); }
  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return blocks_of(comm_.rank()) + block_items(send_offsets_, piece, peer) * item_bytes_;
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    return blocks_of(peer) + block_items(peer_offsets_, piece, peer) * item_bytes_;
  }
  void start(std::ptrdiff_t piece) override {
    ++starts(piece);
    counter(piece + 1).arrive(comm_.num_ranks());
  }
  bool arrived(std::ptrdiff_t piece, int /*peer*/) override {
    return counter(piece + 1).reached(starts(piece));
  }
  bool served(std::ptrdiff_t piece) override { return counter(piece + 1).reached(starts(piece)); }
  void wait(std::ptrdiff_t piece) override { wait_for_arrivals(counter(piece + 1), starts(piece)); }
  void release() override { counter(released).arrive(comm_.num_ranks()); }
  std::ptrdiff_t buffer_bytes() const override { return bytes_; }

 private:
  static constexpr std::ptrdiff_t released = 0;  // counter 1 + p says that piece p is written

  // The counters are those of the first rank.
  Arrivals& counter(std::ptrdiff_t index) const {
    return reinterpret_cast<Arrivals*>(segments_.front())[index];
  }
  /// How often a piece has been started: a caller may leave some out of a use.
  std::uint32_t& starts(std::ptrdiff_t piece) { return starts_[static_cast<std::size_t>(piece)]; }
  std::byte* blocks_of(int peer) const {
    return segments_[static_cast<std::size_t>(peer)] + head_bytes_;
  }
  void wait_for_arrivals(Arrivals& arrivals, std::uint32_t uses) const {
    arrivals.wait(uses, waiting_, comm_.raw());
  }
  // Where in each peer's segment the blocks for this rank start.
  void share_offsets() {
    std::vector<std::ptrdiff_t> theirs(static_cast<std::size_t>(comm_.num_ranks()));
    for (const auto& mine : send_offsets_) {
      check_mpi(MPI_Alltoall(mine.data(), 1, MPI_AINT, theirs.data(), 1, MPI_AINT, comm_.raw()));
      peer_offsets_.push_back(theirs);
    }
  }

  const Comm& comm_;
  const WaitPolicy& waiting_;
  std::ptrdiff_t item_bytes_;
  NodeWindow window_;
  Buffer private_;
  std::vector<std::byte*> segments_;
  BlockTable send_offsets_, peer_offsets_;
  std::ptrdiff_t head_bytes_ = 0, bytes_ = 0;
  std::uint32_t uses_ = 0;
  std::vector<std::uint32_t> starts_;
};

}  // namespace

bool block_node_direct_applies(const BlockProblem& problem) { return problem.machine.one_node(); }

std::unique_ptr<BlockRunner> make_block_node_direct(const BlockProblem& problem) {
  return std::make_unique<NodeDirect>(problem);
}

}  // namespace tailrace
