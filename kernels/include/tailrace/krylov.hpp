// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/more/dist_matrix.hpp"
#include "tailrace/more/method_info.hpp"

// Krylov solvers of A x = b on distributed vectors, and preconditioners. Part of tailrace::krylov.
namespace tailrace::sparse {

/// z = M^-1 r, an approximation of A^-1 r.
class Preconditioner {
 public:
  Preconditioner() = default;
  Preconditioner(const Preconditioner&) = delete;
  Preconditioner& operator=(const Preconditioner&) = delete;
  virtual ~Preconditioner() = default;
  /// For r and z of this rank's items, which do not overlap. Those of `make_preconditioner` throw
  /// `Errc::invalid_input` on all ranks if a length is wrong on any. Collective, blocking.
  virtual void apply(std::span<const double> r, std::span<double> z) = 0;
  /// The same where the caller knows that lengths are right on all ranks, as a `KrylovSolver` does.
  /// Those of `make_preconditioner` send other ranks nothing and do not wait.
  virtual void apply_unchecked(std::span<const double> r, std::span<double> z) { apply(r, z); }
  /// Items of r and z on this rank; -1: not known, `KrylovSolver` does not check them. Local.
  virtual std::ptrdiff_t num_local_items() const { return -1; }
  /// Updates it from the matrix's values, after `DistMatrix::set_values`. Throws as
  /// `make_preconditioner`. Collective, blocking.
  virtual void update() {}
  /// In words. Local.
  virtual std::string describe() const = 0;
};

struct PreconditionerOptions {
  /// Of gauss_seidel, above 0 and below 2; others than 1 make it SSOR.
  double relaxation = 1;
  /// Of milu0, as in `IncompleteLuOptions`.
  double modified = 0.97;
};

/// "none"; "jacobi": the diagonal; "block_jacobi": the diagonal's b x b blocks, inverted; "ilu0":
/// ILU(0) of this rank's rows in its own columns, by b x b blocks (block Jacobi over the ranks; of
/// coupled values D-ILU, the same on 5 and 7 points); "milu0": by items, and the diagonal takes
/// nearly all fill that is dropped, for M-matrices, as of diffusion, in far fewer iterations;
/// "icc0": ICC(0) of the same rows by items, for symmetric positive definite A, of which the lower
/// triangle is read (`IncompleteLu::cholesky`, which see for its shift of the diagonal);
/// "gauss_seidel": a sweep forward and one backward over the same rows, item by item.
/// `a` must outlive it. Throws `Errc::invalid_input` on all ranks if the name is unknown, or an
/// option is wrong, or name or options differ between them, or, with rank and row, if a diagonal
/// item or block is missing or a pivot is zero or not finite on any. Collective, blocking.
std::unique_ptr<Preconditioner> make_preconditioner(const DistMatrix& a, std::string_view name,
                                                    const PreconditionerOptions& options = {});

using PreconditionerInfo = MethodInfo;
/// The table of preconditioners. Local.
std::span<const PreconditionerInfo> preconditioners();

struct KrylovOptions {
  /// A name of `krylov_methods()`.
  std::string method = "bicgstab";
  /// Converged once |b - A x| <= max(relative_tolerance * |b|, absolute_tolerance), in the
  /// Euclidean norm, whatever the preconditioner.
  double relative_tolerance = 1e-8;
  double absolute_tolerance = 0;
  int max_iterations = 1000;
  int restart = 30;  ///< of gmres and fgmres: vectors kept, at least 1
  /// Diverged once the residual is as many times that of the start.
  double divergence_factor = 1e8;
  /// On all ranks or none: asked, on each rank by itself, at every sum over the ranks, which takes
  /// the answer along. A yes on any ends the solve on all, with x as it is by then.
  std::function<bool()> wants_to_stop = nullptr;
};

/// How a solve ended.
enum class KrylovEnd {
  converged,
  max_iterations,
  breakdown,  ///< the method cannot continue: `why` says the reason
  diverged,   ///< the residual grew by `divergence_factor`, or is not finite
  stopped     ///< by `wants_to_stop`
};
/// "converged", "max_iterations", "breakdown", "diverged" or "stopped".
std::string_view name(KrylovEnd end);

/// The same on all ranks.
struct KrylovResult {
  KrylovEnd end = KrylovEnd::converged;
  std::string why;           ///< in a sentence
  int iterations = 0;        ///< with two multiplies each in both bicgstab, with one in others
  double residual_norm = 0;  ///< |b - A x|, computed from x at the end
  int num_multiplies = 0;
  int num_preconditionings = 0;
  int num_reductions = 0;       ///< sums over all ranks, the ones before and after included
  std::vector<double> history;  ///< residual norms: of the start, then after each iteration
};

/// Solves with one operator again and again, by one method; keeps the work vectors.
class KrylovSolver {
 public:
  /// `a` and `m` must outlive it; `m` may change from one application to the next with fgmres
  /// only. Throws `Errc::invalid_input` on all ranks if an option is wrong or differs between
  /// them, or if `a` and `m` have vectors of different lengths on any. Collective, blocking.
  KrylovSolver(const Comm& comm, DistOperator& a, Preconditioner& m,
               const KrylovOptions& options = {});
  KrylovSolver(DistMatrix& a, Preconditioner& m, const KrylovOptions& options = {});
  ~KrylovSolver();

  /// Solves A x = b, from the x that is given. Throws `Errc::invalid_input` on all ranks if a
  /// length is wrong on any. That it did not converge is no exception. Collective, blocking.
  KrylovResult solve(std::span<const double> b, std::span<double> x);

  const KrylovOptions& options() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

struct KrylovMethodInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view needs;  ///< of A and M, in words
  double reductions;       ///< sums over all ranks an iteration, at most
};
/// The table of methods.
std::span<const KrylovMethodInfo> krylov_methods();

}  // namespace tailrace::sparse
