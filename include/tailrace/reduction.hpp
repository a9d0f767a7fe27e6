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

/// What a `Reduction` is made for: the tuner times vectors of `max_items` numbers of `type`. Other
/// types, and shorter vectors, go as well; longer ones are refused.
struct ReductionShape {
  NumberType type = NumberType::float64;
  std::ptrdiff_t max_items = 1;
};

/// Two vectors whose dot product is wanted, of the same length on this rank (it may differ between
/// ranks): float, double, or complex of them.
template <class T>
struct DotPair {
  std::span<const T> x, y;
};

/// Allreduce, reduce and barrier among the ranks of a communicator by one method, again and again.
///
/// All ranks call the same operations in the same order, with the same number of items, type and
/// op (as in MPI, this is not checked); a `Reduction` carries out one operation at a time, any
/// number of `Reduction`s may be on one communicator. Calls come from the rank's main thread.
/// Nothing is allocated after construction, except by MPI. What was started moves on as transfers
/// of an `Exchange` do, and errors of calls are treated as theirs: thrown if all ranks have one,
/// else the end of the job. So is the destructor.
///
/// Sums of integers wrap around. Which of its arguments `min` or `max` gives is unspecified where
/// one is not a number, as in MPI. Results of a method are the same from run to run; they are the
/// same bits on all ranks wherever MPI's own are.
class Reduction {
 public:
  /// `method` is a name of `reduction_methods()`, or "auto": the one that measures best here (see
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
  /// The same with the result in `out`, as long as `in`; they must not overlap unless equal.
  template <class T>
  void allreduce(std::type_identity_t<std::span<const T>> in, std::span<T> out,
                 ReduceOp op = ReduceOp::sum) {
    run(task_of<T>(in, out, op));
  }
  /// One number: its reduction over all ranks. Collective, blocking.
  template <class T>
  requires(sizeof(NumberTypeOf<T>) > 0) T allreduce(T value, ReduceOp op = ReduceOp::sum) {
    allreduce(std::span<T>(&value, 1), op);
    return value;
  }
  /// Replaces `values` of rank `root` by the reduction over all ranks; those of other ranks stay.
  /// Collective, blocking: others than the root may wait, too.
  template <class T>
  void reduce(std::span<T> values, ReduceOp op, int root) {
    run(task_of<T>(values, values, op, ReductionKind::reduce, root));
  }
  /// Returns when all ranks have called it. Collective, blocking.
  void barrier() { run({.kind = ReductionKind::barrier}); }
  /// Dot products sum(conj(x) * y) over all ranks, one for each pair: one pass over the vectors and
  /// one allreduce of `results`. Products of floats are added up in double. Collective, blocking.
  void dots(std::span<const DotPair<float>> pairs, std::span<double> results);
  void dots(std::span<const DotPair<double>> pairs, std::span<double> results);
  void dots(std::span<const DotPair<std::complex<float>>> pairs,
            std::span<std::complex<double>> results);
  void dots(std::span<const DotPair<std::complex<double>>> pairs,
            std::span<std::complex<double>> results);
  /// Vectors of this rank's threads (or lanes), each as long as `out`, which becomes their
  /// reduction over all parts and all ranks, and may be one of them. There is at least one. Method
  /// `node_threads` combines long ones by threads. Collective, blocking.
  template <class T>
  void allreduce_parts(std::type_identity_t<std::span<const T* const>> parts, std::span<T> out,
                       ReduceOp op = ReduceOp::sum) {
    run_parts(reinterpret_cast<const std::byte* const*>(parts.data()), std::ssize(parts),
              task_of<T>(out, out, op));
  }

  // The same without waiting: start, progress (any number of times), finish. Inputs must stay
  // unchanged and results untouched until `finish`. Starting is collective and does not wait for
  // other ranks to enter.
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
  /// The local products are formed at once; only their sum over the ranks is in progress.
  void start_dots(std::span<const DotPair<float>> pairs, std::span<double> results);
  void start_dots(std::span<const DotPair<double>> pairs, std::span<double> results);
  void start_dots(std::span<const DotPair<std::complex<float>>> pairs,
                  std::span<std::complex<double>> results);
  void start_dots(std::span<const DotPair<std::complex<double>>> pairs,
                  std::span<std::complex<double>> results);
  /// Lets the operation advance; true when `finish` would not wait. Local.
  bool progress();
  /// Waits until results are there and inputs may be changed. Collective, blocking.
  void finish();

  std::string_view method() const;
  /// Why this method, in a sentence.
  const std::string& why() const;
  /// Bytes this object holds.
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
/// The table, reference first.
std::span<const ReductionMethodInfo> reduction_methods();

}  // namespace tailrace
