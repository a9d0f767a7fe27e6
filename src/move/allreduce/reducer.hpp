// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "move/surroundings.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/tune.hpp"
#include "tailrace/reduction.hpp"

namespace tailrace {

/// What a variant is made for; outlives the runner.
struct ReductionProblem {
  const Comm& comm;  ///< of this reduction alone
  const Surroundings& machine;
  std::ptrdiff_t max_bytes = 8;  ///< of the longest vector
};

/// One variant. Types of tasks are never complex: such numbers are pairs of real ones. A barrier
/// has no items, other tasks have some. A task is either run, or started and advanced until it is
/// done; one at a time.
class ReductionRunner {
 public:
  virtual ~ReductionRunner() = default;
  /// Longest vector that it takes at once; longer ones are passed on in pieces.
  virtual std::ptrdiff_t piece_bytes() const = 0;
  /// Begins without waiting for other ranks.
  virtual void start(const ReductionTask& task) = 0;
  /// True when the task is done; waits for that if it may.
  virtual bool advance(bool may_wait) = 0;
  /// The whole task. All ranks run it, or all start it.
  virtual void run(const ReductionTask& task) {
    start(task);
    advance(true);
  }
  /// Combines vectors of this rank, see `combine`.
  virtual void combine_parts(NumberType type, ReduceOp op, std::byte* out,
                             std::span<const std::byte* const> parts, std::ptrdiff_t num_items);
  /// False if peers get all that they need from `start` and MPI: nobody waits for this rank's
  /// `advance`.
  virtual bool needs_calls() const { return true; }
  virtual std::ptrdiff_t buffer_bytes() const { return 0; }
};

/// A line of the table.
struct ReductionMethod {
  std::string_view name;
  std::string_view summary;
  std::string_view applies_text;
  /// The same answer on all ranks. Local.
  bool (*applies)(const ReductionProblem& problem);
  /// Collective, blocking.
  std::unique_ptr<ReductionRunner> (*make)(const ReductionProblem& problem);
};

/// The table, reference first.
std::span<const ReductionMethod> reduction_method_table();
/// The line of that name, or nullptr.
const ReductionMethod* find_reduction_method(std::string_view name);

/// What "auto" stands for: measured with vectors of the shape, see more/tune.hpp. Collective,
/// blocking.
tune::Choice choose_reduction_method(const ReductionProblem& problem, const ReductionShape& shape);

// The variants, one file each.
std::unique_ptr<ReductionRunner> make_reduction_mpi(const ReductionProblem& problem);
std::unique_ptr<ReductionRunner> make_reduction_hierarchical(const ReductionProblem& problem);
std::unique_ptr<ReductionRunner> make_reduction_hierarchical_nonblocking(
    const ReductionProblem& problem);
std::unique_ptr<ReductionRunner> make_reduction_node_shared(const ReductionProblem& problem);
std::unique_ptr<ReductionRunner> make_reduction_node_threads(const ReductionProblem& problem);

/// out[i] = op over all parts[k][i], in the order of the parts, for i from `start` to `start` +
/// `num_items`. `type` is not complex. `out` may be one of the parts. Local.
void combine(NumberType type, ReduceOp op, std::byte* out, std::span<const std::byte* const> parts,
             std::ptrdiff_t start, std::ptrdiff_t num_items);

/// A complex number as two real ones, others as they are. Local.
constexpr NumberType real_type(NumberType type) {
  if (type == NumberType::complex64) return NumberType::float32;
  if (type == NumberType::complex128) return NumberType::float64;
  return type;
}
constexpr bool is_complex(NumberType type) { return real_type(type) != type; }

/// Local.
MPI_Datatype mpi_type(NumberType type);
MPI_Op mpi_op(ReduceOp op);

}  // namespace tailrace
