// SPDX-License-Identifier: BSD-3-Clause
// One-sided: each rank shows its blocks in a window and reads those of the others, in small chunks
// and in a random order of its own, a fixed number at a time. After the chunked all-to-all of the
// PSDNS study. Many small reads that are spread over all ranks load the links of a torus evenly
// where large messages in step queue up behind each other. Wins on large machines with one-sided
// hardware, and where a rank that is late must not hold up the copies of others.
// Cost for p ranks and n bytes a rank in chunks of c bytes at depth d: a barrier, 2 (n / c) / d
// alpha + n beta.
#include <algorithm>
#include <array>
#include <exception>

#include "core/last_resort.hpp"
#include "move/blocks/pull_runners.hpp"
#include "move/one_sided_probe.hpp"
#include "move/one_sided_window.hpp"

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

}  // namespace

std::ptrdiff_t sent_bytes(const BlockShape& shape) {
  std::ptrdiff_t end = 0;
  place_blocks(shape.send, end, -1);
  return end * shape.item_bytes;
}

std::vector<std::ptrdiff_t> swap_numbers(const Comm& comm,
                                         const std::vector<std::ptrdiff_t>& mine) {
  std::vector<std::ptrdiff_t> theirs(mine.size());
  check_mpi(MPI_Alltoall(mine.data(), 1, MPI_AINT, theirs.data(), 1, MPI_AINT, comm.raw()));
  return theirs;
}

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

std::ptrdiff_t chunk_bytes_of(const MethodSettings& settings) {
  return std::clamp<std::ptrdiff_t>(settings.chunk_bytes, 1, 1 << 30);
}

bool block_pull_applies(const BlockProblem& problem) {
  return problem.comm.num_ranks() == 1 || probe_windows(problem.comm).empty();
}

std::unique_ptr<BlockRunner> make_block_pull(const BlockProblem& problem) {
  if (problem.settings.bucket_bytes > 0) return make_pull_buckets(problem);
  return make_pull_whole(problem,
                         std::make_unique<WindowMemory>(problem, sent_bytes(problem.shape)));
}

}  // namespace tailrace
