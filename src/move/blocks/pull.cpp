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
#include <bit>
#include <exception>
#include <functional>
#include <random>
#include <string_view>

#include "core/last_resort.hpp"
#include "move/blocks/pull_runners.hpp"
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

namespace {

// Runs of a simulation can be compared only if they draw the same: its time and place are unique.
std::uint64_t number_of_simulation() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check_mpi(MPI_Get_processor_name(name, &length));
  const std::string_view place(name, static_cast<std::size_t>(length));
  return std::bit_cast<std::uint64_t>(now_s()) ^ std::hash<std::string_view>{}(place);
}

}  // namespace

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

}  // namespace tailrace
