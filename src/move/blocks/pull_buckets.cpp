// SPDX-License-Identifier: BSD-3-Clause
// `pull` with buckets: blocks lie in private memory and pass through the window in rounds, a bucket
// for each rank that this one sends to. The sender fills a bucket and says so, the reader fetches
// its chunks and says that it has them; both are empty messages between the two, so that pairs of
// ranks need not keep step. Costs a copy more than whole blocks and two messages a round, and
// bounds the memory that the network must reach (and may have to pin).
#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/last_resort.hpp"
#include "move/blocks/pull_runners.hpp"
#include "move/blocks/request_runner.hpp"
#include "move/one_sided_window.hpp"

namespace tailrace {
namespace {

enum Tag { filled_tag, emptied_tag };

// A rank that this one sends to or reads from, and how far that has come.
struct Partner {
  int peer = 0;
  std::ptrdiff_t bucket = 0;      // where it begins in the sender's window
  std::size_t request = 0;        // the first of two
  std::size_t line = 0;           // which of the pieces begun
  std::ptrdiff_t done_bytes = 0;  // of that piece's block
  // Readers only.
  std::ptrdiff_t chunks_left = 0;  // of the bucket
  std::size_t first_chunk = 0;     // in the list of places in the order
};

// Ranks with any item in `items`.
std::vector<Partner> find_partners(const BlockTable& items, int rank) {
  std::vector<Partner> partners;
  for (int peer = 0; !items.empty() && peer < static_cast<int>(items.front().size()); ++peer) {
    const bool any = std::ranges::any_of(
        items, [peer](const auto& piece) { return piece[static_cast<std::size_t>(peer)] > 0; });
    if (any && peer != rank) partners.push_back({.peer = peer});
  }
  return partners;
}

std::ptrdiff_t largest_block(const BlockTable& items, int peer) {
  std::ptrdiff_t largest = 0;
  for (const auto& piece : items)
    largest = std::max(largest, piece[static_cast<std::size_t>(peer)]);
  return largest;
}

class PullBuckets : public RequestRunner {
 public:
  explicit PullBuckets(const BlockProblem& problem)
      : RequestRunner(problem, depth(problem)),
        shape_(problem.shape),
        bucket_bytes_(problem.settings.bucket_bytes),
        chunk_bytes_(std::min(chunk_bytes_of(problem.settings), bucket_bytes_)),
        buffers_(shape_, comm_),
        slots_(0, depth(problem)),
        under_way_(depth(problem)),
        pieces_(static_cast<std::size_t>(shape_.num_pieces())) {
    place_requests();
    window_.emplace(comm_, place_buckets());
    find_buckets(problem);
    draw_order(problem);
    for (auto& piece : pieces_) {
      piece.written.resize(static_cast<std::size_t>(comm_.num_ranks()));
      piece.missing_of.resize(piece.written.size());
    }
    begun_.reserve(pieces_.size());
  }
  ~PullBuckets() override {
    end_all();
    meet_to_free(comm_, waiting_, "an exchange by pull", exceptions_when_made_);
  }

  void acquire() override {
    begun_.clear();
    for (auto* partners : {&targets_, &sources_}) {
      for (auto& partner : *partners) partner.line = 0, partner.done_bytes = 0;
    }
    for (auto& piece : pieces_) piece.begun = false;
  }
  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return buffers_.send_block(piece, peer);
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    return buffers_.receive_block(piece, peer);
  }
  void start_block(std::ptrdiff_t piece, int peer) override {
    begin(piece);
    at(piece).written[static_cast<std::size_t>(peer)] = true;
    for (auto& target : targets_) {
      if (target.peer == peer) fill(target);
    }
  }
  void start(std::ptrdiff_t piece) override {
    begin(piece);
    std::fill(at(piece).written.begin(), at(piece).written.end(), true);
    for (auto& target : targets_) fill(target);
  }
  bool arrived(std::ptrdiff_t piece, int peer) override {
    return at(piece).missing_of[static_cast<std::size_t>(peer)] == 0;
  }
  std::ptrdiff_t buffer_bytes() const override {
    return buffers_.bytes() + std::ssize(window_->own());
  }

 private:
  struct Piece {
    std::vector<bool> written;               // of each peer
    std::vector<std::ptrdiff_t> missing_of;  // bytes to arrive from each peer
    std::ptrdiff_t missing = 0, unsent = 0;  // bytes in all
    bool begun = false;
  };
  struct Read {
    std::size_t source = 0;
    std::ptrdiff_t bytes = 0;
  };

  static std::size_t depth(const BlockProblem& problem) {
    return static_cast<std::size_t>(std::clamp(problem.settings.depth, 1, 4096));
  }
  Piece& at(std::ptrdiff_t piece) { return pieces_[static_cast<std::size_t>(piece)]; }
  std::ptrdiff_t bytes(const BlockTable& items, std::ptrdiff_t piece, int peer) const {
    return block_items(items, piece, peer) * shape_.item_bytes;
  }

  // After those of the reads, two for each partner: its announcements, and the answers.
  void place_requests() {
    targets_ = find_partners(shape_.send, comm_.rank());
    sources_ = find_partners(shape_.receive, comm_.rank());
    for (auto* partners : {&targets_, &sources_}) {
      for (auto& partner : *partners) {
        partner.request = requests_.size();
        requests_.resize(requests_.size() + 2, MPI_REQUEST_NULL);
      }
    }
  }
  // Returns the bytes of all buckets.
  std::ptrdiff_t place_buckets() {
    std::ptrdiff_t end = 0;
    for (auto& target : targets_) {
      target.bucket = end;
      const auto most = largest_block(shape_.send, target.peer) * shape_.item_bytes;
      end += (std::min(bucket_bytes_, most) + 63) / 64 * 64;
    }
    return end;
  }
  void find_buckets(const BlockProblem& problem) {
    if (blocks_are_equal(problem)) {  // all ranks have the same buckets, one for each other rank
      for (auto& source : sources_) {
        const int number = comm_.rank() < source.peer ? comm_.rank() : comm_.rank() - 1;
        source.bucket = targets_[static_cast<std::size_t>(number)].bucket;
      }
      return;
    }
    std::vector<std::ptrdiff_t> mine(static_cast<std::size_t>(comm_.num_ranks()));
    for (const auto& target : targets_) mine[static_cast<std::size_t>(target.peer)] = target.bucket;
    const auto theirs = swap_numbers(comm_, mine);
    for (auto& source : sources_) source.bucket = theirs[static_cast<std::size_t>(source.peer)];
  }
  void draw_order(const BlockProblem& problem) {
    std::vector<std::ptrdiff_t> most(static_cast<std::size_t>(comm_.num_ranks()));
    std::vector<std::size_t> source_of(most.size()), first(most.size());
    std::size_t end = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      auto& source = sources_[s];
      const auto peer = static_cast<std::size_t>(source.peer);
      most[peer] =
          std::min(bucket_bytes_, largest_block(shape_.receive, source.peer) * shape_.item_bytes);
      source.first_chunk = end;
      first[peer] = end;
      source_of[peer] = s;
      end += static_cast<std::size_t>((most[peer] + chunk_bytes_ - 1) / chunk_bytes_);
    }
    const auto seed = draw_pull_seed(comm_, problem.machine.facts.simulated);
    order_ = pull_order(most, chunk_bytes_, seed, comm_.rank(), 0);
    place_in_order_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      auto& chunk = order_[i];
      const auto peer = static_cast<std::size_t>(chunk.peer);
      place_in_order_[first[peer] + chunk.index] = static_cast<std::uint32_t>(i);
      chunk.peer = static_cast<int>(source_of[peer]);
    }
    ready_.reserve(order_.size());
  }

  void begin(std::ptrdiff_t p) {
    auto& piece = at(p);
    if (std::exchange(piece.begun, true)) return;
    std::fill(piece.written.begin(), piece.written.end(), false);
    piece.missing = piece.unsent = 0;
    for (const auto& target : targets_) piece.unsent += bytes(shape_.send, p, target.peer);
    for (const auto& source : sources_) {
      const auto block = bytes(shape_.receive, p, source.peer);
      piece.missing_of[static_cast<std::size_t>(source.peer)] = block;
      piece.missing += block;
    }
    begun_.push_back(p);
    for (auto& source : sources_) expect(source);
  }

  // The piece that `partner` is at, or -1 if it has done all that were begun.
  std::ptrdiff_t current_piece(Partner& partner, const BlockTable& items) {
    for (; partner.line < begun_.size(); ++partner.line, partner.done_bytes = 0) {
      const auto piece = begun_[partner.line];
      if (partner.done_bytes < bytes(items, piece, partner.peer)) return piece;
    }
    return -1;
  }
  bool is_busy(const Partner& partner) const {
    return requests_[partner.request] != MPI_REQUEST_NULL ||
           requests_[partner.request + 1] != MPI_REQUEST_NULL || partner.chunks_left > 0;
  }

  // Sender: the next part of the blocks for `target` into its bucket, if that is empty.
  void fill(Partner& target) {
    const auto p = current_piece(target, shape_.send);
    if (p < 0 || is_busy(target)) return;
    if (!at(p).written[static_cast<std::size_t>(target.peer)]) return;
    const auto count =
        std::min(bucket_bytes_, bytes(shape_.send, p, target.peer) - target.done_bytes);
    std::memcpy(window_->own().data() + target.bucket,
                send_block(p, target.peer) + target.done_bytes, static_cast<std::size_t>(count));
    window_->sync();
    send_empty(target.peer, filled_tag, target.request);
    receive_empty(target.peer, emptied_tag, target.request + 1);
    target.done_bytes += count;
    at(p).unsent -= count;
  }
  // Reader: hears of the next bucket of `source`, if one will come.
  void expect(Partner& source) {
    if (current_piece(source, shape_.receive) < 0 || is_busy(source)) return;
    receive_empty(source.peer, filled_tag, source.request);
  }
  void send_empty(int peer, Tag tag, std::size_t request) {
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag, comm_.raw(), &requests_[request]));
  }
  void receive_empty(int peer, Tag tag, std::size_t request) {
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, peer, tag, comm_.raw(), &requests_[request]));
  }
  // Bytes in the bucket of `source`.
  std::ptrdiff_t bucket_fill(const Partner& source) const {
    const auto block = bytes(shape_.receive, begun_[source.line], source.peer);
    return std::min(bucket_bytes_, block - source.done_bytes);
  }
  void open(Partner& source) {
    window_->sync();
    source.chunks_left = (bucket_fill(source) + chunk_bytes_ - 1) / chunk_bytes_;
    for (std::ptrdiff_t i = 0; i < source.chunks_left; ++i) {
      ready_.push_back(place_in_order_[source.first_chunk + static_cast<std::size_t>(i)]);
      std::ranges::push_heap(ready_, std::greater{});
    }
  }

  // Of the chunks that are there, the one that comes first in the order.
  void post() override {
    while (slots_.any_free() && !ready_.empty()) {
      std::ranges::pop_heap(ready_, std::greater{});
      const auto& chunk = order_[ready_.back()];
      ready_.pop_back();
      const auto& source = sources_[static_cast<std::size_t>(chunk.peer)];
      const auto start = static_cast<std::ptrdiff_t>(chunk.index) * chunk_bytes_;
      const auto count = std::min(chunk_bytes_, bucket_fill(source) - start);
      auto* to = receive_block(begun_[source.line], source.peer) + source.done_bytes + start;
      const auto slot = slots_.take();
      under_way_[slot] = {static_cast<std::size_t>(chunk.peer), count};
      requests_[slot] = window_->start_get(source.peer, source.bucket + start,
                                           {to, static_cast<std::size_t>(count)});
    }
  }

  void complete(std::size_t index) override {
    if (slots_.contains(index)) {
      slots_.give_back(index);
      finish_read(under_way_[index]);
      return;
    }
    const auto number = (index - under_way_.size()) / 2;
    if (number < targets_.size()) {
      fill(targets_[number]);
    } else if (auto& source = sources_[number - targets_.size()]; index == source.request) {
      open(source);
    } else {
      expect(source);
    }
  }
  void finish_read(const Read& read) {
    auto& source = sources_[read.source];
    auto& piece = at(begun_[source.line]);
    piece.missing -= read.bytes;
    piece.missing_of[static_cast<std::size_t>(source.peer)] -= read.bytes;
    if (--source.chunks_left > 0) return;
    source.done_bytes += bucket_fill(source);
    send_empty(source.peer, emptied_tag, source.request + 1);
  }
  bool finished(std::ptrdiff_t p) const override {
    const auto& piece = pieces_[static_cast<std::size_t>(p)];
    return piece.missing == 0 && piece.unsent == 0;
  }
  std::ptrdiff_t num_missing(std::ptrdiff_t p) const override {
    const auto& missing = pieces_[static_cast<std::size_t>(p)].missing_of;
    return std::ssize(missing) - std::ranges::count(missing, 0);
  }

  const BlockShape& shape_;
  std::ptrdiff_t bucket_bytes_, chunk_bytes_;
  int exceptions_when_made_ = std::uncaught_exceptions();
  BlockBuffers buffers_;
  std::optional<OneSidedWindow> window_;
  RequestSlots slots_;
  std::vector<Read> under_way_;  // in each slot
  std::vector<Partner> targets_, sources_;
  std::vector<Piece> pieces_;
  std::vector<std::ptrdiff_t> begun_;          // pieces of this run, in their order
  std::vector<Chunk> order_;                   // of all buckets; `peer` is a number in sources_
  std::vector<std::uint32_t> place_in_order_;  // of each source's chunks
  std::vector<std::uint32_t> ready_;           // a heap of places in the order
};

}  // namespace

std::unique_ptr<BlockRunner> make_pull_buckets(const BlockProblem& problem) {
  return std::make_unique<PullBuckets>(problem);
}

}  // namespace tailrace
