// SPDX-License-Identifier: BSD-3-Clause
#include "reaction.hpp"

#include <algorithm>
#include <cmath>

#include "small_solve.hpp"

namespace tailrace::groundwater {

namespace {

double share_of(const Site& site, std::size_t r) { return site.rates.empty() ? 1 : site.shares[r]; }

/// The part of the way to its equilibrium that class r goes in a step.
double weight_of(const Site& site, std::size_t r, double dt) {
  if (site.rates.empty()) return 1;
  const double speed = dt * site.rates[r];
  return speed / (1 + speed);
}

}  // namespace

std::size_t num_classes(const Site& site) { return std::max<std::size_t>(site.rates.size(), 1); }

CellReaction::CellReaction(const Chemistry& chemistry)
    : chemistry_(&chemistry),
      speciation_(chemistry),
      n_(chemistry.num_primary()),
      total_(n_),
      slopes_(n_ * n_),
      matrix_(n_ * n_),
      residual_(n_),
      bound_(n_),
      bound_slopes_(n_ * n_),
      gained_(chemistry.minerals.size()) {}

void CellReaction::equilibrate(const Solution& water, CellSolids& solids) {
  solids.bound.clear();
  for (std::size_t s = 0; s < chemistry_->sites.size(); ++s) {
    const auto& site = chemistry_->sites[s];
    speciation_.bound(s, water, bound_, {});
    for (std::size_t r = 0; r < num_classes(site); ++r) {
      for (const double amount : bound_) solids.bound.push_back(share_of(site, r) * amount);
    }
  }
}

/// Minerals: what each gains [mol/m3], and its part of the balance of the water.
void CellReaction::add_minerals(double dt, const Solution& water, const CellSolids& solids) {
  for (std::size_t m = 0; m < chemistry_->minerals.size(); ++m) {
    const auto& mineral = chemistry_->minerals[m];
    // Far from equilibrium the exponential would only hinder Newton's method.
    const double ratio = std::exp(std::min(speciation_.log_saturation(mineral, water), 40.0));
    const double most = solids.areas[m] * mineral.rate * dt;
    gained_[m] = most * (ratio - 1);
    const bool used_up = gained_[m] < -solids.minerals[m];
    if (used_up) gained_[m] = -solids.minerals[m];
    for (const auto& row : mineral.formula) {
      residual_[row.primary] += row.count * gained_[m];
      if (used_up) continue;
      for (const auto& column : mineral.formula) {
        matrix_[row.primary * n_ + column.primary] += row.count * column.count * most * ratio;
      }
    }
  }
}

/// Surfaces: backward Euler of each class, bound = (old + dt rate share equilibrium) / (1 + dt
/// rate); without rates the equilibrium itself. The slopes are the same for all classes but for a
/// factor.
void CellReaction::add_bound(double dt, const Solution& water, const CellSolids& solids) {
  std::size_t set = 0;
  for (std::size_t s = 0; s < chemistry_->sites.size(); ++s) {
    const auto& site = chemistry_->sites[s];
    speciation_.bound(s, water, bound_, bound_slopes_);
    double follows = 0;  // part of the equilibrium that the classes together take up
    for (std::size_t r = 0; r < num_classes(site); ++r, ++set) {
      const double weight = weight_of(site, r, dt);
      follows += weight * share_of(site, r);
      for (std::size_t j = 0; j < n_; ++j) residual_[j] -= weight * solids.bound[set * n_ + j];
    }
    for (std::size_t j = 0; j < n_; ++j) residual_[j] += follows * bound_[j];
    for (std::size_t e = 0; e < n_ * n_; ++e) matrix_[e] += follows * bound_slopes_[e];
  }
}

void CellReaction::assemble(double dt, double per_litre, std::span<const double> brought,
                            const Solution& water, const CellSolids& solids) {
  speciation_.totals(water, total_, slopes_);
  for (std::size_t j = 0; j < n_; ++j) residual_[j] = per_litre * (total_[j] - brought[j]);
  for (std::size_t e = 0; e < n_ * n_; ++e) matrix_[e] = per_litre * slopes_[e];
  add_minerals(dt, water, solids);
  add_bound(dt, water, solids);
}

bool CellReaction::solve(double dt, double per_litre, std::span<const double> brought,
                         Solution& water, const CellSolids& solids) {
  double last = 1e300;
  for (int iteration = 0; iteration < 100; ++iteration) {
    assemble(dt, per_litre, brought, water, solids);
    for (std::size_t j = 0; j < n_; ++j) {
      const double scale = 1 / matrix_[j * n_ + j];
      residual_[j] *= scale;
      for (std::size_t k = 0; k < n_; ++k) matrix_[j * n_ + k] *= scale;
    }
    if (!solve_small(matrix_, residual_)) return false;
    double largest = 0;
    for (const double step : residual_) largest = std::max(largest, std::abs(step));
    if (!std::isfinite(largest)) return false;
    for (std::size_t j = 0; j < n_; ++j) {
      water.log_free[j] -= std::clamp(residual_[j], -2.0, 2.0);
    }
    if (largest < 1e-12 || (largest < 1e-8 && largest >= last)) return true;
    last = largest;
  }
  return false;
}

bool CellReaction::step(double content, double dt, std::span<double> total, Solution& water,
                        CellSolids& solids) {
  const double per_litre = 1000 * content;
  Solution next = water;
  bool settled = false;
  for (int round = 0; round < 20 && !settled; ++round) {
    if (!solve(dt, per_litre, total, next, solids)) return false;
    settled = speciation_.update_activities(next) < 1e-9;
  }
  // What the solids gain at the end is taken from what was brought, so that nothing is lost.
  assemble(dt, per_litre, total, next, solids);
  for (std::size_t m = 0; m < gained_.size(); ++m) {
    solids.minerals[m] = std::max(0.0, solids.minerals[m] + gained_[m]);
    for (const auto& term : chemistry_->minerals[m].formula) {
      total[term.primary] -= term.count * gained_[m] / per_litre;
    }
  }
  std::size_t set = 0;
  for (std::size_t s = 0; s < chemistry_->sites.size(); ++s) {
    const auto& site = chemistry_->sites[s];
    speciation_.bound(s, next, bound_, {});
    for (std::size_t r = 0; r < num_classes(site); ++r, ++set) {
      const double weight = weight_of(site, r, dt), share = share_of(site, r);
      for (std::size_t j = 0; j < n_; ++j) {
        double& bound = solids.bound[set * n_ + j];
        const double gain = weight * (share * bound_[j] - bound);
        bound += gain;
        total[j] -= gain / per_litre;
      }
    }
  }
  water = std::move(next);
  return true;
}

}  // namespace tailrace::groundwater
