// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "file/strategies/two_phase.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/more/node_map.hpp"

namespace tailrace {

class FilePool::State {
 public:
  static State& of(const FilePool& pool) { return *pool.state_; }
  explicit State(const Comm& user) : comm_(user.raw()), node_(comm_.node()) {}
  const Comm& comm() const { return comm_; }
  const Comm& node() const { return node_; }
  /// The engine for `shape`, made at first use. Collective, blocking.
  file::TwoPhase& two_phase(const file::TwoPhaseShape& shape);
  /// Who is on which node. Collective at first use.
  const NodeMap& nodes();

 private:
  Comm comm_;
  Comm node_;
  std::vector<std::unique_ptr<file::TwoPhase>> engines_;
  std::optional<NodeMap> nodes_;
};

}  // namespace tailrace
