// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients (Saad, Iterative Methods for Sparse Linear Systems (2003), algorithm 9.1).
// Two reductions an iteration: (p, A p), then (r, z) and (r, r) together.
#include "krylov/method.hpp"

namespace tailrace::sparse {

namespace {

class Cg final : public KrylovMethod {
 public:
  explicit Cg(std::size_t n) : z_(n), p_(n), q_(n) {}

  void run_cycle(KrylovProblem& to, std::span<double> x, std::span<double> r, double) override {
    to.precondition(r, z_);
    p_ = z_;
    double rz = to.dots<1>({Pair{r, z_}})[0];
    for (;;) {
      if (!to.shows_definite_m(rz)) return;
      to.multiply(p_, q_);
      const double curvature = to.dots<1>({Pair{p_, q_}})[0];
      if (!to.shows_definite_a(curvature)) return;
      const double alpha = rz / curvature;
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] += alpha * p_[i];
        r[i] -= alpha * q_[i];
      }
      to.precondition(r, z_);
      const auto [next_rz, rr] = to.dots<2>({Pair{r, z_}, Pair{r, r}});
      if (to.ends_after(std::sqrt(rr))) return;
      const double beta = next_rz / rz;
      rz = next_rz;
      for (std::size_t i = 0; i < x.size(); ++i) p_[i] = z_[i] + beta * p_[i];
    }
  }
  bool may_restart() const override { return false; }

 private:
  Items z_, p_, q_;
};

}  // namespace

std::unique_ptr<KrylovMethod> make_cg(const KrylovProblem& problem) {
  return std::make_unique<Cg>(problem.num_items());
}

}  // namespace tailrace::sparse
