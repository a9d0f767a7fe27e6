// SPDX-License-Identifier: BSD-3-Clause
// Pipelined conjugate gradients (Ghysels and Vanroose, Parallel Computing 40 (2014) 224,
// algorithm 4). One reduction an iteration, under way while the next M^-1 and A are applied.
// u = M^-1 r, w = A u, m = M^-1 w, n = A m; s = A p, q = M^-1 s, z = A q: all but m and n by
// recurrences, whose rounding grows faster than that of plain conjugate gradients.
#include <algorithm>
#include <cmath>

#include "krylov/method.hpp"

namespace tailrace::sparse {

namespace {

class PipelinedCg final : public KrylovMethod {
 public:
  explicit PipelinedCg(std::size_t size)
      : u_(size), w_(size), m_(size), n_(size), p_(size), s_(size), q_(size), z_(size) {}

  void run_cycle(KrylovProblem& to, std::span<double> x, std::span<double> r, double) override {
    to.precondition(r, u_);
    to.multiply(u_, w_);
    const auto first = sums(to, r);
    double ru = first[0];
    double curvature = first[1];  // p.A p, as p is u
    if (!to.shows_definite_m(ru) || !to.shows_definite_a(curvature)) return;
    for (auto* items : {&p_, &s_, &q_, &z_}) std::ranges::fill(*items, 0.0);
    double beta = 0;
    for (;;) {
      const double alpha = ru / curvature;
      for (std::size_t i = 0; i < x.size(); ++i) {
        p_[i] = u_[i] + beta * p_[i];
        s_[i] = w_[i] + beta * s_[i];
        q_[i] = m_[i] + beta * q_[i];
        z_[i] = n_[i] + beta * z_[i];
        x[i] += alpha * p_[i];
        r[i] -= alpha * s_[i];
        u_[i] -= alpha * q_[i];
        w_[i] -= alpha * z_[i];
      }
      const auto [next_ru, wu, rr] = sums(to, r);
      if (to.ends_after(std::sqrt(rr))) return;
      if (to.is_lost(next_ru) || to.is_lost(wu)) return;
      beta = next_ru / ru;
      curvature = wu - beta * next_ru / alpha;
      ru = next_ru;
      if (!(ru > 0) || !(curvature > 0)) return tell_why(to, r, beta);
    }
  }
  bool may_restart() const override { return false; }

 private:
  /// (r, u), (w, u), (r, r), while m and n are computed.
  std::array<double, 3> sums(KrylovProblem& to, std::span<const double> r) {
    return to.dots_while<3>({Pair{r, u_}, Pair{w_, u_}, Pair{r, r}}, [&] {
      to.precondition(w_, m_);
      to.multiply(m_, n_);
    });
  }

  /// A sum that must be above 0 is not. Either M or A is not positive definite, or the recurrences
  /// have lost their digits: products that are no recurrences tell. In the latter case, restart.
  void tell_why(KrylovProblem& to, std::span<const double> r, double beta) {
    to.precondition(r, u_);
    if (!to.shows_definite_m(to.dots<1>({Pair{r, u_}})[0])) return;
    for (std::size_t i = 0; i < p_.size(); ++i) p_[i] = u_[i] + beta * p_[i];
    to.multiply(p_, n_);
    if (to.shows_definite_a(to.dots<1>({Pair{p_, n_}})[0])) to.restart();
  }

  Items u_, w_, m_, n_, p_, s_, q_, z_;
};

}  // namespace

std::unique_ptr<KrylovMethod> make_pipelined_cg(const KrylovProblem& problem) {
  return std::make_unique<PipelinedCg>(problem.num_items());
}

}  // namespace tailrace::sparse
