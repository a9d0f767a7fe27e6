// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "move/blocks/runner.hpp"
#include "move/choose_copies.hpp"
#include "move/method_spec.hpp"
#include "move/surroundings.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/plan.hpp"

namespace tailrace {

/// What a method has to do: checked by `Exchange`, the same object for all its methods.
struct MoveProblem {
  Comm comm;  ///< the ranks that exchange with each other; of this exchange alone
  Plan plan;  ///< peers are ranks of `comm`
  Memory from;
  Memory to;
  ExchangeShape shape;
  Surroundings machine = {};
  std::vector<int> outer_ranks = {};  ///< of the ranks of `comm` in the caller's communicator
  MethodSpec method = {};
};

/// One method's state for one problem. The calls come in the order start, progress (any number of
/// times), finish; spans have `shape.num_fields` entries.
class Exchange::Runner {
 public:
  virtual ~Runner() = default;
  /// start and finish.
  virtual void run(std::span<const void* const> sources, std::span<void* const> destinations) {
    start(sources, destinations);
    finish();
  }
  virtual void start(std::span<const void* const> sources, std::span<void* const> destinations) = 0;
  virtual bool progress() = 0;
  virtual void finish() = 0;
  virtual void expose(const NodeArray&) {}
  /// False if peers get all that they need of a run from `start` and MPI: nobody waits for this
  /// rank to call `progress` or `finish`.
  virtual bool needs_calls() const { return true; }
  virtual std::ptrdiff_t buffer_bytes() const = 0;
  /// Its strided copies, in groups that are the same on all ranks.
  virtual std::vector<CopyGroup> copies() { return {}; }
};

// Methods that pack, around the method of moving blocks that has their name.
bool packed_applies(const MoveProblem& problem);
std::unique_ptr<Exchange::Runner> make_packed(const MoveProblem& problem);

/// How a method moves arrays; by default it packs blocks.
struct ArrayMethod {
  /// Runs by groups of ranks that exchange with each other; else by all ranks of the communicator.
  bool in_groups = true;
  /// The same answer on all ranks. Collective, blocking.
  bool (*applies)(const MoveProblem& problem) = packed_applies;
  /// Collective, blocking; `problem` outlives the runner.
  std::unique_ptr<Exchange::Runner> (*make)(const MoveProblem& problem) = make_packed;
};

/// A line of the table of methods.
struct MoveMethod {
  std::string_view name;
  std::string_view summary;
  std::string_view applies_text;
  ArrayMethod arrays;
  BlockMethod blocks = {};
  /// Specs worth timing beside the name ("pull:chunk=512,depth=8"); separated by spaces.
  std::string_view variants = {};
};

/// The table, reference first. src/move/methods.cpp.
std::span<const MoveMethod> move_method_table();
/// The lines that move blocks, reference first.
std::span<const MoveMethod> block_method_table();

/// Bytes and peers of one run on this rank.
struct MoveWork {
  std::ptrdiff_t sent_bytes = 0, received_bytes = 0, kept_bytes = 0;
  std::ptrdiff_t num_peers = 0;  ///< other ranks that this rank sends to
};
MoveWork work_of(const MoveProblem& problem);

// Methods without packing.
bool contiguous_applies(const MoveProblem& problem);
std::unique_ptr<Exchange::Runner> make_contiguous(const MoveProblem& problem);
bool alltoallw_applies(const MoveProblem& problem);
std::unique_ptr<Exchange::Runner> make_alltoallw(const MoveProblem& problem);
bool node_direct_applies(const MoveProblem& problem);
std::unique_ptr<Exchange::Runner> make_node_direct(const MoveProblem& problem);

// What can be wrong with what an `Exchange` is made of.

/// The first thing that is wrong on this rank, or "". Local; takes about a microsecond for each box
/// that this rank sends or gets.
std::string find_fault(const MoveProblem& problem);

/// Throws `Errc::invalid_input` on all ranks alike if they ask for different things: shapes,
/// methods, or plans of which one sends what the other does not expect. Collective, blocking.
void require_agreement(const MoveProblem& problem, std::string_view method);

}  // namespace tailrace
