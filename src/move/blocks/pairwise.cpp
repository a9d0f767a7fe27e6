// SPDX-License-Identifier: BSD-3-Clause
// One message a pair, to rank + 1, rank + 2, ..., so that no rank is everybody's first partner, and
// only `in_flight` of them each way at a time: bounded memory in MPI, and short queues to match
// from. Sends and receives keep one order, that of the steps, on all ranks: the lowest step that is
// not done is always under way on both sides, so the bound can not make ranks wait in a circle.
// Wins for many ranks with large messages. Cost for p ranks and n bytes per rank: (p - 1) alpha + n
// beta; a block leaves while the next is packed.
#include <algorithm>
#include <utility>
#include <vector>

#include "move/blocks/request_runner.hpp"
#include "move/messages.hpp"

namespace tailrace {

namespace {

std::size_t bound(const BlockProblem& problem) {
  const auto most = std::max<std::ptrdiff_t>(problem.comm.num_ranks() - 1, 1) *
                    std::max<std::ptrdiff_t>(problem.shape.num_pieces(), 1);
  return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(problem.settings.in_flight, 1, most));
}

class Pairwise : public RequestRunner {
 public:
  explicit Pairwise(const BlockProblem& problem)
      : RequestRunner(problem, 2 * bound(problem)),
        shape_(problem.shape),
        item_(contiguous_type(shape_.item_bytes)),
        buffers_(shape_, comm_),
        send_slots_(0, bound(problem)),
        receive_slots_(bound(problem), bound(problem)),
        under_way_(requests_.size()) {
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) pieces_.push_back(make_piece(p));
    begun_.reserve(pieces_.size());
  }
  ~Pairwise() override { end_all(); }

  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return buffers_.send_block(piece, peer);
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    return buffers_.receive_block(piece, peer);
  }
  void start_block(std::ptrdiff_t piece, int peer) override {
    begin(piece);
    at(piece).written[static_cast<std::size_t>(peer)] = true;
    post();
  }
  void start(std::ptrdiff_t piece) override {
    begin(piece);
    std::fill(at(piece).written.begin(), at(piece).written.end(), true);
    post();
  }
  bool arrived(std::ptrdiff_t piece, int peer) override {
    return pieces_[static_cast<std::size_t>(piece)].arrived[static_cast<std::size_t>(peer)];
  }
  void wait(std::ptrdiff_t piece) override {
    RequestRunner::wait(piece);
    at(piece).begun = false;
  }
  std::ptrdiff_t buffer_bytes() const override { return buffers_.bytes(); }

 private:
  struct Piece {
    std::vector<int> targets, sources;  // that have items, in the order of the steps
    std::size_t next_target = 0, next_source = 0;
    std::ptrdiff_t to_send = 0, to_receive = 0;  // messages that have not ended
    std::vector<bool> written, arrived;          // of each peer
    bool begun = false;
  };
  struct Message {
    std::ptrdiff_t piece = 0;
    int peer = 0;
  };

  Piece& at(std::ptrdiff_t piece) { return pieces_[static_cast<std::size_t>(piece)]; }

  Piece make_piece(std::ptrdiff_t p) const {
    const int ranks = comm_.num_ranks();
    Piece piece;
    for (int step = 1; step < ranks; ++step) {
      const int target = (comm_.rank() + step) % ranks;
      const int source = (comm_.rank() + ranks - step) % ranks;
      if (block_items(shape_.send, p, target) > 0) piece.targets.push_back(target);
      if (block_items(shape_.receive, p, source) > 0) piece.sources.push_back(source);
    }
    piece.written.resize(static_cast<std::size_t>(ranks));
    piece.arrived.assign(static_cast<std::size_t>(ranks), true);
    return piece;
  }

  void begin(std::ptrdiff_t p) {
    auto& piece = at(p);
    if (std::exchange(piece.begun, true)) return;
    piece.next_target = piece.next_source = 0;
    piece.to_send = std::ssize(piece.targets);
    piece.to_receive = std::ssize(piece.sources);
    std::fill(piece.written.begin(), piece.written.end(), false);
    for (const int source : piece.sources) piece.arrived[static_cast<std::size_t>(source)] = false;
    begun_.push_back(p);
  }

  void post() override {
    for (const auto p : begun_) {
      if (!post_receives(p)) break;
    }
    for (const auto p : begun_) {
      if (!post_sends(p)) break;
    }
    std::erase_if(begun_, [this](std::ptrdiff_t p) {
      const auto& piece = at(p);
      return piece.next_target == piece.targets.size() && piece.next_source == piece.sources.size();
    });
  }
  // True if all of the piece have been posted, and those of the next piece may be.
  bool post_receives(std::ptrdiff_t p) {
    auto& piece = at(p);
    for (; piece.next_source < piece.sources.size(); ++piece.next_source) {
      if (!receive_slots_.any_free()) return false;
      const int source = piece.sources[piece.next_source];
      const auto slot = receive_slots_.take();
      under_way_[slot] = {p, source};
      check_mpi(MPI_Irecv(receive_block(p, source), to_int(block_items(shape_.receive, p, source)),
                          item_.raw(), source, tag(p), comm_.raw(), &requests_[slot]));
    }
    return true;
  }
  bool post_sends(std::ptrdiff_t p) {
    auto& piece = at(p);
    for (; piece.next_target < piece.targets.size(); ++piece.next_target) {
      const int target = piece.targets[piece.next_target];
      if (!piece.written[static_cast<std::size_t>(target)] || !send_slots_.any_free()) return false;
      const auto slot = send_slots_.take();
      under_way_[slot] = {p, target};
      check_mpi(MPI_Isend(send_block(p, target), to_int(block_items(shape_.send, p, target)),
                          item_.raw(), target, tag(p), comm_.raw(), &requests_[slot]));
    }
    return true;
  }
  // Pieces of equal tags keep apart, too: between two ranks, messages keep their order.
  static int tag(std::ptrdiff_t piece) { return to_int(piece % 30000); }

  void complete(std::size_t slot) override {
    const auto message = under_way_[slot];
    auto& piece = at(message.piece);
    if (send_slots_.contains(slot)) {
      send_slots_.give_back(slot);
      --piece.to_send;
    } else {
      receive_slots_.give_back(slot);
      --piece.to_receive;
      piece.arrived[static_cast<std::size_t>(message.peer)] = true;
    }
  }
  bool finished(std::ptrdiff_t p) const override {
    const auto& piece = pieces_[static_cast<std::size_t>(p)];
    return piece.to_send == 0 && piece.to_receive == 0;
  }
  std::ptrdiff_t num_missing(std::ptrdiff_t p) const override {
    return pieces_[static_cast<std::size_t>(p)].to_receive;
  }

  const BlockShape& shape_;
  OwnedType item_;
  BlockBuffers buffers_;
  RequestSlots send_slots_, receive_slots_;
  std::vector<Message> under_way_;  // in each slot
  std::vector<Piece> pieces_;
  std::vector<std::ptrdiff_t> begun_;  // pieces that have messages to post, in their order
};

}  // namespace

std::unique_ptr<BlockRunner> make_block_pairwise(const BlockProblem& problem) {
  return std::make_unique<Pairwise>(problem);
}

}  // namespace tailrace
