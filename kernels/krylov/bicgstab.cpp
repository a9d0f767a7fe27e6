// SPDX-License-Identifier: BSD-3-Clause
// BiCGStab (van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631), preconditioned from the
// right. Two reductions an iteration in place of the four of the textbook: (r0, v) with its norm;
// then all that the rest needs, as r = s - omega t gives (r0, r) = (r0, s) - omega (r0, t) and
// (r, r) = (s, s) - (t, s)^2 / (t, t). Where that last difference cancels, the cycle ends, and the
// solver computes the residual.
#include <algorithm>
#include <limits>

#include "krylov/method.hpp"

namespace tailrace::sparse {

namespace {

constexpr double cancelled = 1e-12;  // of (s, s): four digits of (r, r) are left

class BiCgStab final : public KrylovMethod {
 public:
  explicit BiCgStab(std::size_t n) : r0_(n), p_(n), v_(n), s_(n), t_(n), ph_(n), sh_(n) {}

  void run_cycle(KrylovProblem& to, std::span<double> x, std::span<double> r,
                 double r_norm) override {
    std::copy(r.begin(), r.end(), r0_.begin());
    std::copy(r.begin(), r.end(), p_.begin());
    const double r0_norm = r_norm;
    double rho = r_norm * r_norm;
    for (;;) {
      to.precondition(p_, ph_);
      to.multiply(ph_, v_);
      const auto [r0v, vv] = to.dots<2>({Pair{r0_, v_}, Pair{v_, v_}});
      if (to.is_lost(r0v)) return;
      if (!(std::abs(r0v) > epsilon * r0_norm * std::sqrt(vv))) {
        return to.break_down("A M^-1 p is orthogonal to the first residual");
      }
      const double alpha = rho / r0v;
      for (std::size_t i = 0; i < x.size(); ++i) s_[i] = r[i] - alpha * v_[i];
      to.precondition(s_, sh_);
      to.multiply(sh_, t_);
      const auto [ts, tt, ss, r0s, r0t] =
          to.dots<5>({Pair{t_, s_}, Pair{t_, t_}, Pair{s_, s_}, Pair{r0_, s_}, Pair{r0_, t_}});
      const double omega = ts / tt;
      if (ss <= to.target * to.target || !(tt > 0) ||
          !(std::abs(ts) > epsilon * std::sqrt(tt) * std::sqrt(ss))) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += alpha * ph_[i];
        if (to.ends_after(std::sqrt(ss))) return;
        return to.break_down("A M^-1 s is orthogonal to s: omega is 0");
      }
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] += alpha * ph_[i] + omega * sh_[i];
        r[i] = s_[i] - omega * t_[i];
      }
      const double rr = ss - ts * omega;
      if (to.ends_after(std::sqrt(std::max(rr, 0.0)))) return;
      if (!(rr > cancelled * ss)) return to.restart();
      const double next_rho = r0s - omega * r0t;
      if (!(std::abs(next_rho) > epsilon * r0_norm * std::sqrt(rr))) {
        return to.break_down("the residual is orthogonal to the first one: rho is 0");
      }
      const double beta = next_rho / rho * (alpha / omega);
      rho = next_rho;
      for (std::size_t i = 0; i < x.size(); ++i) p_[i] = r[i] + beta * (p_[i] - omega * v_[i]);
    }
  }

 private:
  Items r0_, p_, v_, s_, t_, ph_, sh_;
};

}  // namespace

std::unique_ptr<KrylovMethod> make_bicgstab(const KrylovProblem& problem) {
  return std::make_unique<BiCgStab>(problem.num_items());
}

}  // namespace tailrace::sparse
