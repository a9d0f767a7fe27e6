// SPDX-License-Identifier: BSD-3-Clause
// Blocks travel in hops of 1, 2, 4, ... ranks, together with all others that take the same hop:
// log2 p messages per rank instead of p - 1 (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE Trans.
// Parallel Distrib. Syst. 8 (1997) 1143; for blocks of any sizes, which are sent ahead once). The
// block i ranks away takes the hops of the bits of i. It is packed where its first message leaves
// from and read where its last one arrives; only in between it is copied. Wins for tiny blocks
// among many ranks. Cost for p ranks and n bytes per rank: log2 p alpha + n/2 log2 p (beta + copy).
#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <utility>
#include <vector>

#include "core/same_on_all.hpp"
#include "move/blocks/request_runner.hpp"
#include "move/messages.hpp"

namespace tailrace {
namespace {

constexpr std::ptrdiff_t longest_worth_timing = 64 << 10;  // block [bytes]

std::size_t highest_bit(int distance) {
  return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(distance)) - 1);
}
std::size_t lowest_bit(int distance) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(distance)));
}

class Bruck : public RequestRunner {
 public:
  explicit Bruck(const BlockProblem& problem)
      : RequestRunner(problem, static_cast<std::size_t>(2 * problem.shape.num_pieces())),
        shape_(problem.shape),
        item_(contiguous_type(shape_.item_bytes)) {
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) pieces_.push_back(make_piece(p));
    require_all(comm_.raw(), fits_, "bruck: a rank passes on more bytes than MPI can count");
    buffer_ = agreed_buffer(comm_, num_items_ * shape_.item_bytes);
  }
  ~Bruck() override { end_all(); }

  std::byte* send_block(std::ptrdiff_t p, int peer) const override {
    const auto& piece = pieces_[static_cast<std::size_t>(p)];
    return memory(piece.send_places[static_cast<std::size_t>(distance_to(peer))]);
  }
  std::byte* receive_block(std::ptrdiff_t p, int peer) const override {
    const auto& piece = pieces_[static_cast<std::size_t>(p)];
    return memory(piece.receive_places[static_cast<std::size_t>(distance_from(peer))]);
  }
  void start(std::ptrdiff_t p) override {
    auto& piece = at(p);
    piece.done = 0;
    piece.begun = true;
    post();
  }
  bool arrived(std::ptrdiff_t p, int peer) override {
    const int distance = distance_from(peer);
    return distance == 0 || highest_bit(distance) < at(p).done;
  }
  void wait(std::ptrdiff_t p) override {
    advance_while([&] { return !finished(p); });
    at(p).begun = false;
  }
  std::ptrdiff_t buffer_bytes() const override { return buffer_.bytes(); }

 private:
  /// A block that stays on its way: copied from a message that came into the next that leaves.
  struct Copy {
    std::ptrdiff_t from = 0, to = 0, count = 0;
  };
  struct Hop {
    int target = 0, source = 0;
    std::ptrdiff_t send_at = 0, send_count = 0, receive_at = 0, receive_count = 0;
    std::vector<Copy> copies = {};  ///< before it leaves
  };
  /// Places and counts are items of `buffer_`; by the distance that a block travels.
  struct Piece {
    std::vector<Hop> hops;
    std::vector<std::ptrdiff_t> send_places, receive_places;
    std::size_t done = 0;  ///< hops
    bool begun = false;
    bool under_way = false;  ///< the next hop
  };

  Piece& at(std::ptrdiff_t p) { return pieces_[static_cast<std::size_t>(p)]; }
  int distance_to(int peer) const {
    return (peer - comm_.rank() + comm_.num_ranks()) % comm_.num_ranks();
  }
  int distance_from(int peer) const {
    return (comm_.rank() - peer + comm_.num_ranks()) % comm_.num_ranks();
  }
  std::byte* memory(std::ptrdiff_t item) const { return buffer_.data() + item * shape_.item_bytes; }

  // The sizes of blocks that this rank passes on come the way of the blocks.
  Piece make_piece(std::ptrdiff_t p) {
    const int ranks = comm_.num_ranks();
    Piece piece;
    piece.send_places.resize(static_cast<std::size_t>(ranks));
    piece.receive_places.resize(static_cast<std::size_t>(ranks));
    std::vector<std::ptrdiff_t> held(static_cast<std::size_t>(ranks));
    for (int distance = 0; distance < ranks; ++distance) {
      held[static_cast<std::size_t>(distance)] =
          block_items(shape_.send, p, (comm_.rank() + distance) % ranks);
    }
    piece.send_places[0] = piece.receive_places[0] = num_items_;
    num_items_ += held[0];
    for (std::size_t bit = 0; 1 << bit < ranks; ++bit) {
      piece.hops.push_back(make_hop(piece, held, bit));
    }
    piece.done = piece.hops.size();
    return piece;
  }

  Hop make_hop(Piece& piece, std::vector<std::ptrdiff_t>& held, std::size_t bit) {
    const int ranks = comm_.num_ranks(), step = 1 << bit;
    Hop hop{.target = (comm_.rank() + step) % ranks,
            .source = (comm_.rank() + ranks - step) % ranks};
    std::vector<std::size_t> moving;  // distances
    std::vector<std::ptrdiff_t> leave, come;
    for (int distance = step; distance < ranks; ++distance) {
      if ((distance & step) == 0) continue;
      moving.push_back(static_cast<std::size_t>(distance));
      leave.push_back(held[moving.back()]);
    }
    come.resize(leave.size());
    check_mpi(MPI_Sendrecv(leave.data(), to_int(std::ssize(leave)), MPI_INT64_T, hop.target, 0,
                           come.data(), to_int(std::ssize(come)), MPI_INT64_T, hop.source, 0,
                           comm_.raw(), MPI_STATUS_IGNORE));
    hop.send_at = num_items_;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      const auto distance = moving[i];
      if (lowest_bit(static_cast<int>(distance)) == bit) {
        piece.send_places[distance] = num_items_;
      } else if (leave[i] > 0) {
        hop.copies.push_back({piece.receive_places[distance], num_items_, leave[i]});
      }
      num_items_ += leave[i];
    }
    hop.send_count = num_items_ - hop.send_at;
    hop.receive_at = num_items_;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      piece.receive_places[moving[i]] = num_items_;
      num_items_ += come[i];
      held[moving[i]] = come[i];
    }
    hop.receive_count = num_items_ - hop.receive_at;
    fits_ = fits_ && std::max(hop.send_count, hop.receive_count) <= INT_MAX;
    return hop;
  }

  void post() override {
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) {
      auto& piece = at(p);
      while (piece.begun && !piece.under_way && piece.done < piece.hops.size()) post_hop(p);
    }
  }
  void post_hop(std::ptrdiff_t p) {
    auto& piece = at(p);
    const auto& hop = piece.hops[piece.done];
    const auto first = static_cast<std::size_t>(2 * p);
    // Pieces of equal tags keep apart, too: between two ranks, messages keep their order.
    const int tag = to_int(p % 30000);
    if (hop.receive_count > 0) {
      check_mpi(MPI_Irecv(memory(hop.receive_at), to_int(hop.receive_count), item_.raw(),
                          hop.source, tag, comm_.raw(), &requests_[first]));
    }
    for (const auto& copy : hop.copies) {
      std::memcpy(memory(copy.to), memory(copy.from),
                  static_cast<std::size_t>(copy.count * shape_.item_bytes));
    }
    if (hop.send_count > 0) {
      check_mpi(MPI_Isend(memory(hop.send_at), to_int(hop.send_count), item_.raw(), hop.target, tag,
                          comm_.raw(), &requests_[first + 1]));
    }
    piece.under_way = hop.receive_count > 0 || hop.send_count > 0;
    if (!piece.under_way) ++piece.done;
  }
  void complete(std::size_t index) override {
    const auto first = index / 2 * 2;
    if (requests_[first] != MPI_REQUEST_NULL || requests_[first + 1] != MPI_REQUEST_NULL) return;
    auto& piece = pieces_[index / 2];
    piece.under_way = false;
    ++piece.done;
  }
  bool finished(std::ptrdiff_t p) const override {
    const auto& piece = pieces_[static_cast<std::size_t>(p)];
    return piece.done == piece.hops.size();
  }
  std::ptrdiff_t num_missing(std::ptrdiff_t p) const override {
    const auto& piece = pieces_[static_cast<std::size_t>(p)];
    return finished(p) ? 0 : comm_.num_ranks() - (std::ptrdiff_t{1} << piece.done);
  }

  const BlockShape& shape_;
  OwnedType item_;
  std::ptrdiff_t num_items_ = 0;
  bool fits_ = true;  ///< MPI's counts
  std::vector<Piece> pieces_;
  Buffer buffer_;
};

}  // namespace

bool block_bruck_worth_timing(const BlockProblem& problem) {
  std::ptrdiff_t longest = 0;
  for (const auto& piece : problem.shape.send) {
    for (const auto items : piece) longest = std::max(longest, items * problem.shape.item_bytes);
  }
  // Among few ranks it sends as many messages as any other.
  return problem.comm.num_ranks() > 4 && longest <= longest_worth_timing;
}

std::unique_ptr<BlockRunner> make_block_bruck(const BlockProblem& problem) {
  return std::make_unique<Bruck>(problem);
}

}  // namespace tailrace
