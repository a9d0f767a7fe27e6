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
  /// r and z contain this rank's items and must not overlap. Preconditioners of
  /// `make_preconditioner` throw `Errc::invalid_input` on all ranks if a length is wrong on any.
  /// Collective, blocking.
  virtual void apply(std::span<const double> r, std::span<double> z) = 0;
  /// The same without checks, for callers that have checked the lengths on all ranks, as a
  /// `KrylovSolver` has. Preconditioners of `make_preconditioner` do not communicate or wait here.
  virtual void apply_unchecked(std::span<const double> r, std::span<double> z) { apply(r, z); }
  /// Number of items of r and z on this rank; -1: unknown, so `KrylovSolver` does not check it.
  /// Local.
  virtual std::ptrdiff_t num_local_items() const { return -1; }
  /// Recomputes the preconditioner after `DistMatrix::set_values`. Throws like
  /// `make_preconditioner`. Collective, blocking.
  virtual void update() {}
  /// Description in words. Local.
  virtual std::string describe() const = 0;
};

struct PreconditionerOptions {
  /// For gauss_seidel: between 0 and 2; values other than 1 give SSOR.
  double relaxation = 1;
  /// For milu0, as in `IncompleteLuOptions`.
  double modified = 0.97;
};

/// "none"; "jacobi": the diagonal; "block_jacobi": the diagonal's b x b blocks, inverted; "ilu0":
/// ILU(0) of this rank's diagonal part, by b x b blocks (block Jacobi over the ranks; for coupled
/// values D-ILU, which is identical for 5- and 7-point stencils); "milu0": by items, and nearly all
/// dropped fill is added to the diagonal, which needs far fewer iterations for M-matrices, such as
/// those of diffusion; "icc0": ICC(0) of the same part by items, for symmetric positive definite A,
/// of which the lower triangle is read (`IncompleteLu::cholesky` describes the shift of its
/// diagonal); "gauss_seidel": a forward and a backward sweep over the same part, item by item. `a`
/// must outlive the result. Throws `Errc::invalid_input` on all ranks if the name is unknown, an
/// option is wrong, name or options differ between ranks, or (naming rank and row) if a diagonal
/// item or block is missing or a pivot is zero or not finite on any rank. Collective, blocking.
std::unique_ptr<Preconditioner> make_preconditioner(const DistMatrix& a, std::string_view name,
                                                    const PreconditionerOptions& options = {});

using PreconditionerInfo = MethodInfo;
/// The table of preconditioners. Local.
std::span<const PreconditionerInfo> preconditioners();

struct KrylovOptions {
  /// A name from `krylov_methods()`.
  std::string method = "bicgstab";
  /// Converged once |b - A x| <= max(relative_tolerance * |b|, absolute_tolerance), in the
  /// Euclidean norm, independent of the preconditioner.
  double relative_tolerance = 1e-8;
  double absolute_tolerance = 0;
  int max_iterations = 1000;
  int restart = 30;  ///< for gmres and fgmres: vectors kept, at least 1
  /// Diverged once the residual exceeds the initial one by this factor.
  double divergence_factor = 1e8;
  /// Set it on all ranks or on none. Each rank calls it at every sum over the ranks, which also
  /// carries the answer. If it returns true on any rank, the solve ends on all ranks with the
  /// current x.
  std::function<bool()> wants_to_stop = nullptr;
};

/// How a solve ended.
enum class KrylovEnd {
  converged,
  max_iterations,
  breakdown,  ///< the method cannot continue; `why` gives the reason
  diverged,   ///< the residual grew by `divergence_factor`, or is not finite
  stopped     ///< by `wants_to_stop`
};
/// "converged", "max_iterations", "breakdown", "diverged" or "stopped".
std::string_view name(KrylovEnd end);

/// Result of a solve, the same on all ranks.
struct KrylovResult {
  KrylovEnd end = KrylovEnd::converged;
  std::string why;           ///< in a sentence
  int iterations = 0;        ///< each with two multiplies in both bicgstab methods, one in others
  double residual_norm = 0;  ///< |b - A x|, computed from x at the end
  int num_multiplies = 0;
  int num_preconditionings = 0;
  int num_reductions = 0;       ///< sums over all ranks, including those before and after
  std::vector<double> history;  ///< residual norms: initial, then after each iteration
};

/// Solves systems with one operator by one method; keeps the work vectors between solves.
class KrylovSolver {
 public:
  /// `a` and `m` must outlive it; only with fgmres may `m` change between applications. Throws
  /// `Errc::invalid_input` on all ranks if an option is wrong or differs between ranks, or if `a`
  /// and `m` have vectors of different lengths on any rank. Collective, blocking.
  KrylovSolver(const Comm& comm, DistOperator& a, Preconditioner& m,
               const KrylovOptions& options = {});
  KrylovSolver(DistMatrix& a, Preconditioner& m, const KrylovOptions& options = {});
  ~KrylovSolver();

  /// Solves A x = b with initial guess x. Throws `Errc::invalid_input` on all ranks if a length is
  /// wrong on any; a solve that does not converge does not throw. Collective, blocking.
  KrylovResult solve(std::span<const double> b, std::span<double> x);

  const KrylovOptions& options() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

struct KrylovMethodInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view needs;  ///< requirements on A and M, in words
  double reductions;       ///< sums over all ranks per iteration, at most
};
/// The table of methods.
std::span<const KrylovMethodInfo> krylov_methods();

}  // namespace tailrace::sparse
