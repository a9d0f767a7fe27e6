// SPDX-License-Identifier: BSD-3-Clause
// alltoallv (the reference) and alltoallw: MPI's own non-blocking all-to-all, a call a piece. Cost
// for p ranks and n bytes per rank: (p - 1) alpha + n beta, scheduled by MPI.
#include <vector>

#include "core/wait.hpp"
#include "move/blocks/runner.hpp"
#include "move/messages.hpp"

namespace tailrace {

namespace {

// `WithTypes` is the variant with a datatype for each peer, whose displacements are 32-bit numbers
// of bytes (refused beyond that by to_int).
template <bool WithTypes>
class Collective : public BlockRunner {
 public:
  explicit Collective(const BlockProblem& problem)
      : comm_(problem.comm),
        waiting_(problem.machine.waiting),
        item_(contiguous_type(problem.shape.item_bytes)),
        buffers_(problem.shape, comm_),
        requests_(static_cast<std::size_t>(problem.shape.num_pieces()), MPI_REQUEST_NULL),
        arguments_(requests_.size()),
        arrived_(requests_.size(), true) {
    for (std::ptrdiff_t p = 0; p < problem.shape.num_pieces(); ++p) {
      fill(arguments_[static_cast<std::size_t>(p)], problem.shape, p);
    }
  }
  ~Collective() override { end_requests(requests_); }

  std::byte* send_block(std::ptrdiff_t piece, int peer) const override {
    return buffers_.send_block(piece, peer);
  }
  std::byte* receive_block(std::ptrdiff_t piece, int peer) const override {
    return buffers_.receive_block(piece, peer);
  }
  void start(std::ptrdiff_t piece) override {
    const auto p = static_cast<std::size_t>(piece);
    auto& a = arguments_[p];
    arrived_[p] = false;
    if constexpr (WithTypes) {
      check_mpi(MPI_Ialltoallw(buffers_.sends(), a.send_counts.data(), a.send_displs.data(),
                               a.types.data(), buffers_.receives(), a.receive_counts.data(),
                               a.receive_displs.data(), a.types.data(), comm_.raw(),
                               &requests_[p]));
    } else {
      check_mpi(MPI_Ialltoallv(buffers_.sends(), a.send_counts.data(), a.send_displs.data(),
                               item_.raw(), buffers_.receives(), a.receive_counts.data(),
                               a.receive_displs.data(), item_.raw(), comm_.raw(), &requests_[p]));
    }
  }
  void progress() override {
    for (std::size_t p = 0; p < requests_.size(); ++p) {
      if (!arrived_[p]) arrived_[p] = is_done(requests_[p]);
    }
  }
  bool arrived(std::ptrdiff_t piece, int /*peer*/) override {
    return arrived_[static_cast<std::size_t>(piece)];
  }
  bool served(std::ptrdiff_t piece) override { return arrived_[static_cast<std::size_t>(piece)]; }
  void wait(std::ptrdiff_t piece) override {
    wait_for(requests_[static_cast<std::size_t>(piece)], waiting_);
    arrived_[static_cast<std::size_t>(piece)] = true;
  }
  bool needs_calls() const override { return false; }
  std::ptrdiff_t buffer_bytes() const override { return buffers_.bytes(); }

 private:
  struct Arguments {
    std::vector<int> send_counts, send_displs, receive_counts, receive_displs;
    std::vector<MPI_Datatype> types;
  };

  void fill(Arguments& a, const BlockShape& shape, std::ptrdiff_t p) const {
    const std::ptrdiff_t scale = WithTypes ? shape.item_bytes : 1;
    for (int peer = 0; peer < comm_.num_ranks(); ++peer) {
      const bool self = peer == comm_.rank();
      a.send_counts.push_back(self ? 0 : to_int(block_items(shape.send, p, peer)));
      a.receive_counts.push_back(self ? 0 : to_int(block_items(shape.receive, p, peer)));
      a.send_displs.push_back(to_int(buffers_.send_offset(p, peer) * scale));
      a.receive_displs.push_back(to_int(buffers_.receive_offset(p, peer) * scale));
      a.types.push_back(item_.raw());
    }
  }

  const Comm& comm_;
  const WaitPolicy& waiting_;
  OwnedType item_;
  BlockBuffers buffers_;
  std::vector<MPI_Request> requests_;
  std::vector<Arguments> arguments_;
  std::vector<bool> arrived_;  // of each piece
};

}  // namespace

std::unique_ptr<BlockRunner> make_block_alltoallv(const BlockProblem& problem) {
  return std::make_unique<Collective<false>>(problem);
}

std::unique_ptr<BlockRunner> make_block_alltoallw(const BlockProblem& problem) {
  return std::make_unique<Collective<true>>(problem);
}

}  // namespace tailrace
