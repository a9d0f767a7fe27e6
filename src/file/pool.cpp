// SPDX-License-Identifier: BSD-3-Clause
#include "file/pool.hpp"

#include <algorithm>

#include "tailrace/box.hpp"
#include "tailrace/error.hpp"

namespace tailrace {

file::TwoPhase& FilePool::State::two_phase(const file::TwoPhaseShape& shape) {
  for (const auto& engine : engines_) {
    if (engine->shape() == shape) return *engine;
  }
  engines_.push_back(std::make_unique<file::TwoPhase>(comm_, shape));
  return *engines_.back();
}

const std::vector<int>& FilePool::State::spread_over_nodes(int per_node) {
  for (const auto& spread : spreads_) {
    if (spread->per_node == per_node) return spread->ranks;
  }
  const int count = std::min(per_node, node_.num_ranks());
  int mine = 0;
  for (int k = 0; k < count; ++k) {
    if (split_evenly(node_.num_ranks(), count, k).start == node_.rank()) mine = 1;
  }
  std::vector<int> chosen(static_cast<std::size_t>(comm_.num_ranks()));
  check_mpi(MPI_Allgather(&mine, 1, MPI_INT, chosen.data(), 1, MPI_INT, comm_.raw()));
  auto spread = std::make_unique<Spread>();
  spread->per_node = per_node;
  for (int rank = 0; rank < comm_.num_ranks(); ++rank) {
    if (chosen[static_cast<std::size_t>(rank)] == 1) spread->ranks.push_back(rank);
  }
  spreads_.push_back(std::move(spread));
  return spreads_.back()->ranks;
}

FilePool::FilePool(const Comm& comm) : state_(std::make_unique<State>(comm)) {}
FilePool::~FilePool() = default;
FilePool::FilePool(FilePool&&) noexcept = default;

}  // namespace tailrace
