// SPDX-License-Identifier: BSD-3-Clause
#include "file/pool.hpp"

namespace tailrace {

file::TwoPhase& FilePool::State::two_phase(const file::TwoPhaseShape& shape) {
  for (const auto& engine : engines_) {
    if (engine->shape() == shape) return *engine;
  }
  engines_.push_back(std::make_unique<file::TwoPhase>(comm_, shape));
  return *engines_.back();
}

const NodeMap& FilePool::State::nodes() {
  if (!nodes_) nodes_.emplace(comm_, node_);
  return *nodes_;
}

FilePool::FilePool(const Comm& comm) : state_(std::make_unique<State>(comm)) {}
FilePool::~FilePool() = default;
FilePool::FilePool(FilePool&&) noexcept = default;

}  // namespace tailrace
