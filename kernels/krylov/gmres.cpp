// SPDX-License-Identifier: BSD-3-Clause
// GMRES(m) (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986) 856), preconditioned from the
// right, and FGMRES (Saad, SIAM J. Sci. Comput. 14 (1993) 461), which keeps M^-1 v of each vector.
// Classical Gram-Schmidt: all dot products of a new vector, with itself, too, by one reduction; its
// length after the projection by Pythagoras. Where most of it was projected away, it is projected
// once more, by a second reduction.
#include <algorithm>
#include <limits>

#include "krylov/method.hpp"

namespace tailrace::sparse {

namespace {

// With less of the squared norm left, a second pass is needed to stay orthogonal (Daniel, Gragg,
// Kaufman and Stewart, Math. Comp. 30 (1976) 772); with 0.01, solves here took twice the
// iterations.
constexpr double projected_away = 0.5;

class Gmres final : public KrylovMethod {
 public:
  Gmres(std::size_t n, int restart, bool flexible)
      : most_(static_cast<std::size_t>(restart)),
        flexible_(flexible),
        v_(most_ + 1, Items(n)),
        z_(flexible ? most_ : 1, Items(n)),
        h_(most_, std::vector<double>(most_ + 1)),
        cosine_(most_),
        sine_(most_),
        g_(most_ + 1) {}

  void run_cycle(KrylovProblem& to, std::span<double> x, std::span<double> r,
                 double r_norm) override {
    for (std::size_t i = 0; i < r.size(); ++i) v_[0][i] = r[i] / r_norm;
    std::fill(g_.begin(), g_.end(), 0.0);
    g_[0] = r_norm;
    to.restart();
    std::size_t j = 0;
    for (bool more = true; more && j < most_;) {
      auto& z = z_[flexible_ ? j : 0];
      to.precondition(v_[j], z);
      to.multiply(z, v_[j + 1]);
      const double w_norm = orthogonalize(to, j);
      const bool exhausted = !(h_[j][j + 1] > epsilon * w_norm);
      if (!exhausted) {
        for (double& item : v_[j + 1]) item /= h_[j][j + 1];
      } else if (std::isfinite(w_norm)) {
        h_[j][j + 1] = 0;
      }
      rotate(j);
      if (h_[j][j] == 0) {
        to.break_down("the Krylov space is exhausted: the matrix is singular");
        break;
      }
      ++j;
      more = !to.ends_after(std::abs(g_[j]));
      if (more && exhausted) {
        to.break_down("the Krylov space is exhausted");
        more = false;
      }
    }
    if (!std::isfinite(g_[j])) --j;
    update(to, x, r, j);
  }

 private:
  /// Projects v_[j + 1] on what is orthogonal to those before; h_[j] gets the parts, and its length
  /// at last. Returns the length before.
  double orthogonalize(KrylovProblem& to, std::size_t j) {
    auto& w = v_[j + 1];
    auto& h = h_[j];
    std::fill(h.begin(), h.end(), 0.0);
    pairs_.clear();
    for (std::size_t i = 0; i <= j; ++i) pairs_.push_back({v_[i], w});
    pairs_.push_back({w, w});
    dots_.resize(j + 2);
    double first_norm = 0;
    for (int pass = 0; pass < 2; ++pass) {
      to.dots(pairs_, dots_);
      const double ww = dots_[j + 1];
      if (pass == 0) first_norm = std::sqrt(ww);
      double rest = ww;
      for (std::size_t i = 0; i <= j; ++i) {
        h[i] += dots_[i];
        rest -= dots_[i] * dots_[i];
        for (std::size_t k = 0; k < w.size(); ++k) w[k] -= dots_[i] * v_[i][k];
      }
      h[j + 1] = std::sqrt(std::max(rest, 0.0));
      if (rest > projected_away * ww || !std::isfinite(ww)) break;
    }
    if (!std::isfinite(first_norm)) h[j + 1] = first_norm;
    return first_norm;
  }

  /// Applies the rotations so far to column j, and one that removes its last item.
  void rotate(std::size_t j) {
    auto& h = h_[j];
    for (std::size_t i = 0; i < j; ++i) {
      const double upper = cosine_[i] * h[i] + sine_[i] * h[i + 1];
      h[i + 1] = cosine_[i] * h[i + 1] - sine_[i] * h[i];
      h[i] = upper;
    }
    const double length = std::hypot(h[j], h[j + 1]);
    cosine_[j] = length == 0 ? 1 : h[j] / length;
    sine_[j] = length == 0 ? 0 : h[j + 1] / length;
    h[j] = length;
    g_[j + 1] = -sine_[j] * g_[j];
    g_[j] *= cosine_[j];
  }

  /// x += M^-1 V y for the y that makes the residual least.
  void update(KrylovProblem& to, std::span<double> x, std::span<double> r, std::size_t count) {
    std::vector<double> y(g_.begin(), g_.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = count; i-- > 0;) {
      for (std::size_t k = i + 1; k < count; ++k) y[i] -= h_[k][i] * y[k];
      y[i] /= h_[i][i];
    }
    const auto& basis = flexible_ ? z_ : v_;
    std::fill(r.begin(), r.end(), 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < r.size(); ++k) r[k] += y[i] * basis[i][k];
    }
    if (!flexible_ && count > 0) {
      to.precondition(r, z_[0]);
      std::copy(z_[0].begin(), z_[0].end(), r.begin());
    }
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += r[k];
  }

  std::size_t most_;
  bool flexible_;
  std::vector<Items> v_, z_;
  std::vector<std::vector<double>> h_;  ///< by column
  std::vector<double> cosine_, sine_, g_;
  std::vector<Pair> pairs_;
  std::vector<double> dots_;
};

}  // namespace

std::unique_ptr<KrylovMethod> make_gmres(const KrylovProblem& problem) {
  return std::make_unique<Gmres>(problem.num_items(), problem.options.restart, false);
}
std::unique_ptr<KrylovMethod> make_fgmres(const KrylovProblem& problem) {
  return std::make_unique<Gmres>(problem.num_items(), problem.options.restart, true);
}

}  // namespace tailrace::sparse
