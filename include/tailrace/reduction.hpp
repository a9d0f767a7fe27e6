// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tailrace/comm.hpp"
#include "tailrace/more/method_info.hpp"
#include "tailrace/more/reduction_task.hpp"

namespace tailrace {

/// The vectors for which a `Reduction` is tuned: `max_items` numbers of `type`. Other types and
/// shorter vectors are accepted; longer vectors are refused.
struct ReductionShape {
  NumberType type = NumberType::float64;
  std::ptrdiff_t max_items = 1;
};

/// The two vectors of a dot product, of equal length on this rank (lengths may differ between
/// ranks): real or complex, in single or double precision.
template <class T>
struct DotPair {
  std::span<const T> x, y;
};

/// Allreduce, reduce and barrier among the ranks of a communicator by one method.
///
/// All ranks call the same operations in the same order, with the same number of items, type and op
/// (as in MPI, this is not checked). A `Reduction` performs one operation at a time; a communicator
/// may have any number of `Reduction`s. Calls come from the rank's main thread. Nothing is
/// allocated after construction, except by MPI. Progress of started operations, errors in calls and
/// the destructor behave as in `Exchange`: an error is thrown if all ranks have one; otherwise the
/// job aborts.
///
/// Sums of integers wrap around. As in MPI, `min` and `max` are unspecified if an argument is NaN.
/// A method gives the same result in every run. All ranks get the same bits if they do so with MPI.
class Reduction {
 public:
  /// `method` is a name from `reduction_methods()`, or "auto": the fastest measured here (see
  /// more/tune.hpp). Keeps a duplicate of `comm`. Throws `Errc::invalid_input` on all ranks if the
  /// method is unknown or does not apply, or if the ranks' shapes differ. Collective, blocking.
  explicit Reduction(const Comm& comm, ReductionShape shape = {}, std::string_view method = "auto");
  ~Reduction();
  Reduction(Reduction&&) noexcept;
  Reduction& operator=(Reduction&&) noexcept;

  /// Replaces `values` by their reduction over all ranks. Throws `Errc::invalid_input` if there are
  /// too many, or if `op` does not fit the type. Collective, blocking.
  template <class T>
  void allreduce(std::span<T> values, ReduceOp op = ReduceOp::sum) {
    run(task_of<T>(values, values, op));
  }
  /// Reduces `in` over all ranks into `out`, which has the length of `in`. The two are either the
  /// same array or do not overlap.
  template <class T>
  void allreduce(std::type_identity_t<std::span<const T>> in, std::span<T> out,
                 ReduceOp op = ReduceOp::sum) {
    run(task_of<T>(in, out, op));
  }
  /// Returns the reduction of one number over all ranks. Collective, blocking.
  template <class T>
  requires(sizeof(NumberTypeOf<T>) > 0) T allreduce(T value, ReduceOp op = ReduceOp::sum) {
    allreduce(std::span<T>(&value, 1), op);
    return value;
  }
  /// Replaces `values` of rank `root` by the reduction over all ranks; other ranks' values are
  /// unchanged. Collective, blocking: ranks other than the root may also wait.
  template <class T>
  void reduce(std::span<T> values, ReduceOp op, int root) {
    run(task_of<T>(values, values, op, ReductionKind::reduce, root));
  }
  /// Returns when all ranks have called it. Collective, blocking.
  void barrier() { run({.kind = ReductionKind::barrier}); }
  /// Dot products sum(conj(x) * y) over all ranks, one for each pair, in one pass over the vectors
  /// and one allreduce of `results`. Products of floats are summed in double precision. Collective,
  /// blocking.
  void dots(std::span<const DotPair<float>> pairs, std::span<double> results);
  void dots(std::span<const DotPair<double>> pairs, std::span<double> results);
  void dots(std::span<const DotPair<std::complex<float>>> pairs,
            std::span<std::complex<double>> results);
  void dots(std::span<const DotPair<std::complex<double>>> pairs,
            std::span<std::complex<double>> results);
  /// `parts` are vectors of this rank's threads (or lanes), at least one, each with the length of
  /// `out`. `out` becomes the reduction over all parts and all ranks; it may be one of the parts.
  /// Method `node_threads` combines long vectors with threads. Collective, blocking.
  template <class T>
  void allreduce_parts(std::type_identity_t<std::span<const T* const>> parts, std::span<T> out,
                       ReduceOp op = ReduceOp::sum) {
    run_parts(reinterpret_cast<const std::byte* const*>(parts.data()), std::ssize(parts),
              task_of<T>(out, out, op));
  }

  // The operations above without waiting: start, progress (any number of times), finish. Inputs
  // must stay unchanged and results untouched until `finish`. Starting is collective and does not
  // wait for other ranks to enter.
  template <class T>
  void start_allreduce(std::span<T> values, ReduceOp op = ReduceOp::sum) {
    start(task_of<T>(values, values, op));
  }
  template <class T>
  void start_allreduce(std::type_identity_t<std::span<const T>> in, std::span<T> out,
                       ReduceOp op = ReduceOp::sum) {
    start(task_of<T>(in, out, op));
  }
  template <class T>
  void start_reduce(std::span<T> values, ReduceOp op, int root) {
    start(task_of<T>(values, values, op, ReductionKind::reduce, root));
  }
  void start_barrier() { start({.kind = ReductionKind::barrier}); }
  /// The local products are computed in this call; only their sum over the ranks proceeds later.
  void start_dots(std::span<const DotPair<float>> pairs, std::span<double> results);
  void start_dots(std::span<const DotPair<double>> pairs, std::span<double> results);
  void start_dots(std::span<const DotPair<std::complex<float>>> pairs,
                  std::span<std::complex<double>> results);
  void start_dots(std::span<const DotPair<std::complex<double>>> pairs,
                  std::span<std::complex<double>> results);
  /// Advances the operation; returns true when `finish` would not wait. Local.
  bool progress();
  /// Waits until results are available and inputs may be changed. Collective, blocking.
  void finish();

  std::string_view method() const;
  /// Why this method was chosen, in a sentence.
  const std::string& why() const;
  /// Bytes that this object holds.
  std::ptrdiff_t buffer_bytes() const;

 private:
  class State;

  template <class T>
  ReductionTask task_of(std::span<const T> in, std::span<T> out, ReduceOp op,
                        ReductionKind kind = ReductionKind::allreduce, int root = 0) const {
    require_equal(std::ssize(in), std::ssize(out));
    return {kind,
            number_type<T>,
            op,
            reinterpret_cast<const std::byte*>(in.data()),
            reinterpret_cast<std::byte*>(out.data()),
            std::ssize(in),
            root};
  }
  void require_equal(std::ptrdiff_t num_in, std::ptrdiff_t num_out) const;
  void run(const ReductionTask& task);
  void start(const ReductionTask& task);
  void run_parts(const std::byte* const* parts, std::ptrdiff_t num_parts,
                 const ReductionTask& task);

  std::unique_ptr<State> state_;
};

using ReductionMethodInfo = MethodInfo;
/// The table of methods, the reference method first.
std::span<const ReductionMethodInfo> reduction_methods();

}  // namespace tailrace
