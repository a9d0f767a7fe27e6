// SPDX-License-Identifier: BSD-3-Clause
// Pipelined BiCGStab (Cools and Vanroose, Parallel Computing 65 (2017) 1), preconditioned from the
// right. Two reductions an iteration, each under way while M^-1 and A are applied once.
// With h for M^-1: w = A rh, t = A wh; s = A ph, z = A sh, v = A zh. Of these t and v are computed,
// the rest are recurrences, whose rounding grows faster than that of plain BiCGStab. Within an
// iteration r, rh and w become q = r - alpha s, M^-1 q and y = A M^-1 q, then those of the next.
#include <algorithm>
#include <cmath>
#include <limits>

#include "krylov/method.hpp"

namespace tailrace::sparse {

namespace {

class PipelinedBiCgStab final : public KrylovMethod {
 public:
  explicit PipelinedBiCgStab(std::size_t n)
      : r0_(n), rh_(n), w_(n), wh_(n), t_(n), ph_(n), s_(n), sh_(n), z_(n), zh_(n), v_(n) {}

  void run_cycle(KrylovProblem& to, std::span<double> x, std::span<double> r,
                 double r_norm) override {
    std::copy(r.begin(), r.end(), r0_.begin());
    to.precondition(r, rh_);
    to.multiply(rh_, w_);
    const auto apply_to_w = [&] {
      to.precondition(w_, wh_);
      to.multiply(wh_, t_);
    };
    const auto first = to.dots_while<2>({Pair{r0_, w_}, Pair{w_, w_}}, apply_to_w);
    if (to.is_lost(first[0])) return;
    if (!(std::abs(first[0]) > epsilon * r_norm * std::sqrt(first[1]))) return lose_alpha(to);
    for (auto* items : {&ph_, &s_, &sh_, &z_, &zh_, &v_}) std::ranges::fill(*items, 0.0);
    double rho = r_norm * r_norm;
    double alpha = rho / first[0];
    double beta = 0;
    double omega = 0;
    for (;;) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        ph_[i] = rh_[i] + beta * (ph_[i] - omega * sh_[i]);
        s_[i] = w_[i] + beta * (s_[i] - omega * z_[i]);
        sh_[i] = wh_[i] + beta * (sh_[i] - omega * zh_[i]);
        z_[i] = t_[i] + beta * (z_[i] - omega * v_[i]);
        r[i] -= alpha * s_[i];
        rh_[i] -= alpha * sh_[i];
        w_[i] -= alpha * z_[i];
      }
      const auto [qy, yy, qq] = to.dots_while<3>({Pair{r, w_}, Pair{w_, w_}, Pair{r, r}}, [&] {
        to.precondition(z_, zh_);
        to.multiply(zh_, v_);
      });
      if (qq <= to.target * to.target || !(yy > 0) ||
          !(std::abs(qy) > epsilon * std::sqrt(yy) * std::sqrt(qq))) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += alpha * ph_[i];
        if (to.ends_after(std::sqrt(qq))) return;
        return to.break_down("A M^-1 s is orthogonal to s: omega is 0");
      }
      omega = qy / yy;
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] += alpha * ph_[i] + omega * rh_[i];
        r[i] -= omega * w_[i];
        rh_[i] -= omega * (wh_[i] - alpha * zh_[i]);
        w_[i] -= omega * (t_[i] - alpha * v_[i]);
      }
      const auto [r0r, r0w, r0s, r0z, rr, ww] = to.dots_while<6>(
          {Pair{r0_, r}, Pair{r0_, w_}, Pair{r0_, s_}, Pair{r0_, z_}, Pair{r, r}, Pair{w_, w_}},
          apply_to_w);
      if (to.ends_after(std::sqrt(rr))) return;
      if (!(std::abs(r0r) > epsilon * r_norm * std::sqrt(rr))) {
        return to.break_down("the residual is orthogonal to the first one: rho is 0");
      }
      beta = r0r / rho * (alpha / omega);
      const double r0_ap = r0w + beta * (r0s - omega * r0z);
      if (to.is_lost(r0_ap)) return;
      const double terms =
          r_norm * std::sqrt(ww) + std::abs(beta) * (std::abs(r0s) + std::abs(omega * r0z));
      if (!(std::abs(r0_ap) > epsilon * terms)) return lose_alpha(to);
      alpha = r0r / r0_ap;
      rho = r0r;
    }
  }

 private:
  static void lose_alpha(KrylovProblem& to) {
    to.break_down("A M^-1 p is orthogonal to the first residual");
  }

  Items r0_, rh_, w_, wh_, t_, ph_, s_, sh_, z_, zh_, v_;
};

}  // namespace

std::unique_ptr<KrylovMethod> make_pipelined_bicgstab(const KrylovProblem& problem) {
  return std::make_unique<PipelinedBiCgStab>(problem.num_items());
}

}  // namespace tailrace::sparse
