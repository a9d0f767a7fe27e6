// SPDX-License-Identifier: BSD-3-Clause
#include "move/blocks/pull_order.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <random>
#include <string_view>

#include "tailrace/trace.hpp"

namespace tailrace {

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
