// SPDX-License-Identifier: BSD-3-Clause
// One-sided: each rank shows its blocks in a window and reads those of the others, in small chunks
// and in a random order of its own, a fixed number at a time. After the chunked all-to-all of the
// PSDNS study. Many small reads that are spread over all ranks load the links of a torus evenly
// where large messages in step queue up behind each other. Wins on large machines with one-sided
// hardware, and where a rank that is late must not hold up the copies of others.
//
// Send blocks lie in the window, where the caller packs them, and stay there until everybody has
// read. A barrier that does not wait says when a piece of all ranks may be read, another one when
// all have read: log p empty messages per rank whatever the blocks are. Its price is that the first
// read waits for the last rank.
// Cost for p ranks and n bytes per rank in chunks of c bytes at depth d: a barrier, 2 (n / c) / d
// alpha + n beta.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "core/last_resort.hpp"
#include "core/same_on_all.hpp"
#include "move/blocks/pull_runners.hpp"
#include "move/blocks/request_runner.hpp"
#include "move/one_sided_window.hpp"
#include "tailrace/trace.hpp"

namespace tailrace {
namespace {

class WindowMemory : public PullMemory {
 public:
  WindowMemory(const BlockProblem& problem, std::ptrdiff_t bytes)
      : problem_(problem), window_(problem.comm, bytes) {}
  ~WindowMemory() override {
    meet_to_free(problem_.comm, problem_.machine.waiting, "an exchange by pull",
                 exceptions_when_made_);
  }
  std::span<std::byte> own() const override { return window_.own(); }
  void publish(std::ptrdiff_t /*offset*/, std::ptrdiff_t /*bytes*/) override { window_.sync(); }
  void see() override { window_.sync(); }
  MPI_Request start_read(int rank, std::ptrdiff_t offset, std::span<std::byte> to) override {
    return window_.start_get(rank, offset, to);
  }

 private:
  BlockProblem problem_;
  int exceptions_when_made_ = std::uncaught_exceptions();
  OneSidedWindow window_;
};

// Of each peer, `mine[peer]` of that peer for this rank: as MPI_Alltoall.
std::vector<std::ptrdiff_t> swap_numbers(const Comm& comm,
                                         const std::vector<std::ptrdiff_t>& mine) {
  std::vector<std::ptrdiff_t> theirs(mine.size());
  check_mpi(MPI_Alltoall(mine.data(), 1, MPI_AINT, theirs.data(), 1, MPI_AINT, comm.raw()));
  return theirs;
}

// All blocks of all ranks are equally large, those of ranks for themselves included: then every
// rank's blocks lie where this rank's do, and nothing need be told.
bool blocks_are_equal(const BlockProblem& problem) {
  const auto& send = problem.shape.send;
  const std::ptrdiff_t first =
      send.empty() || send.front().empty() ? 0 : send.front().front() * problem.shape.item_bytes;
  std::array<std::ptrdiff_t, 2> ends{first, -first};  // the most of both: most, and minus least
  for (const auto& piece : send) {
    for (const auto items : piece) {
      ends[0] = std::max(ends[0], items * problem.shape.item_bytes);
      ends[1] = std::max(ends[1], -items * problem.shape.item_bytes);
    }
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, ends.data(), 2, MPI_AINT, MPI_MAX, problem.comm.raw()));
  return ends[0] == -ends[1];
}

// As set, within what MPI counts.
std::ptrdiff_t chunk_bytes_of(const MethodSettings& settings) {
  return std::clamp<std::ptrdiff_t>(settings.chunk_bytes, 1, 1 << 30);
}

// Runs of a simulation can be compared only if they draw the same: its time and place are unique.
std::uint64_t number_of_simulation() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check_mpi(MPI_Get_processor_name(name, &length));
  const std::string_view place(name, static_cast<std::size_t>(length));
  return std::bit_cast<std::uint64_t>(now_s()) ^ std::hash<std::string_view>{}(place);
}

// Numbers that `pull_order` draws from: the same on all ranks, others for each exchange (in a
// simulation the same in each run of it).
std::vector<std::uint32_t> draw_pull_seed(const Comm& comm, bool simulated) {
  std::vector<std::uint32_t> seed(4);
  if (comm.rank() == 0 && simulated) {
    const auto number = number_of_simulation();
    seed[0] = static_cast<std::uint32_t>(number);
    seed[1] = static_cast<std::uint32_t>(number >> 32);
  } else if (comm.rank() == 0) {
    std::random_device device;
    std::ranges::generate(seed, std::ref(device));
  }
  check_mpi(MPI_Bcast(seed.data(), to_int(std::ssize(seed)), MPI_UINT32_T, 0, comm.raw()));
  return seed;
}

/// A barrier that does not wait, of empty messages to rank + 1, + 2, + 4, ...: log2 p of them. Its
/// owner waits for its two requests and calls `advance`. (SimGrid's MPI_Ibarrier lets ranks go
/// before all have come; and here no other barrier of the communicator can come between.)
class Dissemination {
 public:
  /// Its requests are those at `request` and the next one of the owner's list; no messages of
  /// others have its tag. Local.
  Dissemination(const Comm& comm, std::size_t request, int tag)
      : comm_(comm), request_(request), tag_(tag) {}

  bool owns(std::size_t request) const { return request == request_ || request == request_ + 1; }
  /// All ranks have started it. True before the first start.
  bool is_done() const { return distance_ >= comm_.num_ranks(); }
  void start(std::vector<MPI_Request>& requests) {
    distance_ = 1;
    if (!is_done()) post(requests);
  }
  /// One of its requests has completed.
  void advance(std::vector<MPI_Request>& requests) {
    if (requests[request_] != MPI_REQUEST_NULL || requests[request_ + 1] != MPI_REQUEST_NULL) {
      return;
    }
    distance_ *= 2;
    if (!is_done()) post(requests);
  }

 private:
  void post(std::vector<MPI_Request>& requests) const {
    const std::ptrdiff_t ranks = comm_.num_ranks();
    const auto from = static_cast<int>((comm_.rank() + ranks - distance_) % ranks);
    const auto to = static_cast<int>((comm_.rank() + distance_) % ranks);
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, from, tag_, comm_.raw(), &requests[request_ + 1]));
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, to, tag_, comm_.raw(), &requests[request_]));
  }

  const Comm& comm_;
  std::size_t request_;
  int tag_;
  std::ptrdiff_t distance_ = PTRDIFF_MAX / 2;
};

std::size_t depth(const BlockProblem& problem) {
  return static_cast<std::size_t>(std::clamp(problem.settings.depth, 1, 4096));
}

class PullWhole : public RequestRunner {
 public:
  PullWhole(const BlockProblem& problem, std::unique_ptr<PullMemory> memory)
      : RequestRunner(
            problem, depth(problem) + 2 * static_cast<std::size_t>(problem.shape.num_pieces() + 1)),
        shape_(problem.shape),
        chunk_bytes_(chunk_bytes_of(problem.settings)),
        memory_(std::move(memory)),
        slots_(0, depth(problem)),
        under_way_(depth(problem)),
        all_have_read_(comm_, requests_.size() - 2, 0) {
    std::ptrdiff_t end = 0, received = 0;
    send_offsets_ = place_blocks(shape_.send, end, -1);
    receive_offsets_ = place_blocks(shape_.receive, received, comm_.rank());
    received_ = agreed_buffer(comm_, received * shape_.item_bytes);
    find_peer_offsets(problem);
    make_pieces(problem);
  }
  ~PullWhole() override {
    // SMPI's MPI_Testany never finds a small message sent, its MPI_Waitany does.
    if (!waiting_.sleeps) acquire();
    end_operation(comm_, waiting_, "an exchange by pull", exceptions_when_made_, [this] {
      progress();
      return all_have_read_.is_done();
    });
    end_all();
  }

  void acquire() override {
    advance_while([this] { return !all_have_read_.is_done(); });
  }
  bool may_acquire() override {
    progress();
    return all_have_read_.is_done();
  }
  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return memory_->own().data() + block_items(send_offsets_, piece, peer) * shape_.item_bytes;
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    if (peer == comm_.rank()) return send_block(piece, peer);
    return received_.data() + block_items(receive_offsets_, piece, peer) * shape_.item_bytes;
  }
  void start(std::ptrdiff_t p) override {
    auto& piece = pieces_[static_cast<std::size_t>(p)];
    piece.next = 0;
    piece.left = std::ssize(piece.order);
    piece.left_of = piece.chunks_of;
    const auto first = block_items(send_offsets_, p, 0) * shape_.item_bytes;
    memory_->publish(first, end_of(p) - first);
    piece.written.start(requests_);
    if (piece.written.is_done()) open(static_cast<std::size_t>(p));
  }
  bool arrived(std::ptrdiff_t piece, int peer) override {
    return pieces_[static_cast<std::size_t>(piece)].left_of[static_cast<std::size_t>(peer)] == 0;
  }
  void release() override { all_have_read_.start(requests_); }
  std::ptrdiff_t buffer_bytes() const override {
    return memory_->buffer_bytes() + received_.bytes();
  }

 private:
  struct Piece {
    Dissemination written;  // by all ranks
    std::vector<Chunk> order = {};
    std::vector<std::ptrdiff_t> chunks_of = {}, left_of = {};  // of each peer, in all and to arrive
    std::size_t next = 0;                                      // in `order`
    std::ptrdiff_t left = 0;                                   // chunks to arrive
  };
  struct Read {
    std::size_t piece = 0;
    int peer = 0;
  };

  // Where the send blocks of a piece end.
  std::ptrdiff_t end_of(std::ptrdiff_t p) const {
    const int last = comm_.num_ranks() - 1;
    return (block_items(send_offsets_, p, last) + block_items(shape_.send, p, last)) *
           shape_.item_bytes;
  }
  void find_peer_offsets(const BlockProblem& problem) {
    if (!blocks_are_equal(problem)) {
      for (const auto& mine : send_offsets_) peer_offsets_.push_back(swap_numbers(comm_, mine));
      return;
    }
    for (const auto& mine : send_offsets_) {
      const auto rank = static_cast<std::size_t>(comm_.rank());
      peer_offsets_.emplace_back(mine.size(), mine[rank]);
    }
  }

  void make_pieces(const BlockProblem& problem) {
    const auto seed = draw_pull_seed(comm_, problem.machine.facts.simulated);
    for (std::ptrdiff_t p = 0; p < shape_.num_pieces(); ++p) {
      auto bytes = shape_.receive[static_cast<std::size_t>(p)];
      for (auto& block : bytes) block *= shape_.item_bytes;
      const auto request = under_way_.size() + 2 * pieces_.size();
      Piece piece{.written = Dissemination(comm_, request, to_int(p + 1))};
      piece.order = pull_order(bytes, chunk_bytes_, seed, comm_.rank(), p);
      piece.chunks_of.resize(bytes.size());
      for (const auto& chunk : piece.order) ++piece.chunks_of[static_cast<std::size_t>(chunk.peer)];
      piece.left_of.resize(bytes.size());
      pieces_.push_back(std::move(piece));
    }
    to_read_.reserve(pieces_.size());
  }

  void post() override {
    while (slots_.any_free() && !to_read_.empty()) {
      auto& piece = pieces_[to_read_.front()];
      if (piece.next == piece.order.size()) {
        to_read_.erase(to_read_.begin());
        continue;
      }
      start_read(to_read_.front(), piece.order[piece.next++]);
    }
  }
  void start_read(std::size_t p, const Chunk& chunk) {
    const auto piece = static_cast<std::ptrdiff_t>(p);
    const auto start = static_cast<std::ptrdiff_t>(chunk.index) * chunk_bytes_;
    const auto bytes = block_items(shape_.receive, piece, chunk.peer) * shape_.item_bytes;
    const auto there = block_items(peer_offsets_, piece, chunk.peer) * shape_.item_bytes;
    const auto slot = slots_.take();
    under_way_[slot] = {p, chunk.peer};
    requests_[slot] =
        memory_->start_read(chunk.peer, there + start,
                            {receive_block(piece, chunk.peer) + start,
                             static_cast<std::size_t>(std::min(chunk_bytes_, bytes - start))});
  }

  void complete(std::size_t index) override {
    if (slots_.contains(index)) {
      slots_.give_back(index);
      auto& piece = pieces_[under_way_[index].piece];
      --piece.left;
      --piece.left_of[static_cast<std::size_t>(under_way_[index].peer)];
    } else if (all_have_read_.owns(index)) {
      all_have_read_.advance(requests_);
    } else {
      const auto p = (index - under_way_.size()) / 2;
      pieces_[p].written.advance(requests_);
      if (pieces_[p].written.is_done()) open(p);
    }
  }
  void open(std::size_t p) {
    memory_->see();
    to_read_.push_back(p);
  }
  bool finished(std::ptrdiff_t p) const override {
    const auto& piece = pieces_[static_cast<std::size_t>(p)];
    return piece.written.is_done() && piece.left == 0;
  }
  std::ptrdiff_t num_missing(std::ptrdiff_t p) const override {
    const auto& left = pieces_[static_cast<std::size_t>(p)].left_of;
    return std::ssize(left) - std::ranges::count(left, 0);
  }

  const BlockShape& shape_;
  int exceptions_when_made_ = std::uncaught_exceptions();
  std::ptrdiff_t chunk_bytes_;
  std::unique_ptr<PullMemory> memory_;
  RequestSlots slots_;
  std::vector<Read> under_way_;  // in each slot
  BlockTable send_offsets_, receive_offsets_, peer_offsets_;
  Buffer received_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> to_read_;  // pieces that may be read, in their order
  Dissemination all_have_read_;
};

}  // namespace

std::ptrdiff_t sent_bytes(const BlockShape& shape) {
  std::ptrdiff_t end = 0;
  place_blocks(shape.send, end, -1);
  return end * shape.item_bytes;
}

std::vector<Chunk> pull_order(std::span<const std::ptrdiff_t> block_bytes,
                              std::ptrdiff_t chunk_bytes, std::span<const std::uint32_t> seed,
                              int rank, std::ptrdiff_t piece) {
  std::vector<Chunk> order;
  for (int peer = 0; peer < static_cast<int>(block_bytes.size()); ++peer) {
    if (peer == rank) continue;
    const auto bytes = block_bytes[static_cast<std::size_t>(peer)];
    for (std::ptrdiff_t start = 0; start < bytes; start += chunk_bytes) {
      order.push_back({peer, static_cast<std::uint32_t>(start / chunk_bytes)});
    }
  }
  std::vector<std::uint32_t> words(seed.begin(), seed.end());
  words.push_back(static_cast<std::uint32_t>(rank));
  words.push_back(static_cast<std::uint32_t>(piece));
  std::seed_seq sequence(words.begin(), words.end());
  std::mt19937_64 random(sequence);
  std::ranges::shuffle(order, random);
  return order;
}

bool block_pull_applies(const BlockProblem& problem) {
  return problem.comm.num_ranks() == 1 || probe_windows(problem.comm).empty();
}

std::unique_ptr<BlockRunner> make_pull_whole(const BlockProblem& problem,
                                             std::unique_ptr<PullMemory> memory) {
  return std::make_unique<PullWhole>(problem, std::move(memory));
}

std::unique_ptr<BlockRunner> make_block_pull(const BlockProblem& problem) {
  return make_pull_whole(problem,
                         std::make_unique<WindowMemory>(problem, sent_bytes(problem.shape)));
}

}  // namespace tailrace
