// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "file/strategies/two_phase.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/file.hpp"

namespace tailrace {

class FilePool::State {
 public:
  explicit State(const Comm& user) : comm_(user.raw()), node_(comm_.node()) {}
  const Comm& comm() const { return comm_; }
  const Comm& node() const { return node_; }
  /// The engine for `shape`, made at first use. Collective, blocking.
  file::TwoPhase& two_phase(const file::TwoPhaseShape& shape);
  /// Up to `per_node` ranks of each node, spread evenly; rank 0 among them. Collective at first
  /// use.
  const std::vector<int>& spread_over_nodes(int per_node);

 private:
  struct Spread {
    int per_node = 0;
    std::vector<int> ranks;
  };
  Comm comm_;
  Comm node_;
  std::vector<std::unique_ptr<file::TwoPhase>> engines_;
  std::vector<std::unique_ptr<Spread>> spreads_;
};

}  // namespace tailrace
