// SPDX-License-Identifier: BSD-3-Clause
#include "speciation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "small_solve.hpp"
#include "tailrace/error.hpp"

namespace tailrace::groundwater {

namespace {

constexpr double ln10 = 2.302585092994045684;

}  // namespace

double log_gamma(const Chemistry& chemistry, const Species& species, double strength) {
  if (!chemistry.activities || species.charge == 0) return 0;
  const double bounded = std::min(strength, 10.0), root = std::sqrt(bounded);
  const double z = species.charge;
  return ln10 *
         (-chemistry.debye_a * z * z * root / (1 + species.ion_size * chemistry.debye_b * root) +
          chemistry.debye_bdot * bounded);
}

Speciation::Speciation(const Chemistry& chemistry)
    : chemistry_(&chemistry),
      amounts_(chemistry.surface.size()),
      weighted_(chemistry.num_primary()) {}

/// ln of the product of the primary species' activities, each to the power of its count.
double Speciation::log_activity(const Formula& formula, const Solution& at) const {
  double sum = 0;
  for (const auto& term : formula) {
    sum += term.count * (at.log_free[term.primary] + at.log_gamma[term.primary]);
  }
  return sum;
}

double Speciation::molality(std::size_t complex, const Solution& at) const {
  const auto& species = chemistry_->complexes[complex];
  return std::exp(log_activity(species.formula, at) - species.log_k * ln10 -
                  at.log_gamma[size() + complex]);
}

void Speciation::totals(const Solution& at, std::span<double> total, std::span<double> jacobian) {
  const std::size_t n = size();
  const double density = chemistry_->water_density;
  std::fill(jacobian.begin(), jacobian.end(), 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    total[j] = density * std::exp(at.log_free[j]);
    if (!jacobian.empty()) jacobian[j * n + j] = total[j];
  }
  for (std::size_t c = 0; c < chemistry_->complexes.size(); ++c) {
    const double amount = density * molality(c, at);
    const auto& formula = chemistry_->complexes[c].formula;
    for (const auto& row : formula) {
      total[row.primary] += row.count * amount;
      if (jacobian.empty()) continue;
      for (const auto& column : formula) {
        jacobian[row.primary * n + column.primary] += row.count * column.count * amount;
      }
    }
  }
}

double Speciation::ionic_strength(const Solution& at) {
  double sum = 0;
  for (std::size_t j = 0; j < size(); ++j) {
    const double z = chemistry_->primary[j].charge;
    sum += z * z * std::exp(at.log_free[j]);
  }
  for (std::size_t c = 0; c < chemistry_->complexes.size(); ++c) {
    const double z = chemistry_->complexes[c].charge;
    if (z != 0) sum += z * z * molality(c, at);
  }
  return sum / 2;
}

Speciation::Charges Speciation::charges(const Solution& at) {
  Charges out;
  const auto add = [&](double charge, double amount) {
    out.sum += chemistry_->water_density * charge * amount;
    out.size += chemistry_->water_density * std::abs(charge) * amount;
  };
  for (std::size_t j = 0; j < size(); ++j) {
    add(chemistry_->primary[j].charge, std::exp(at.log_free[j]));
  }
  for (std::size_t c = 0; c < chemistry_->complexes.size(); ++c) {
    const double charge = chemistry_->complexes[c].charge;
    if (charge != 0) add(charge, molality(c, at));
  }
  return out;
}

double Speciation::update_activities(Solution& at) {
  const double strength = ionic_strength(at);
  double change = 0;
  const auto update = [&](const Species& species, double& log_gamma) {
    const double value = groundwater::log_gamma(*chemistry_, species, strength);
    change = std::max(change, std::abs(value - log_gamma));
    log_gamma = value;
  };
  for (std::size_t j = 0; j < size(); ++j) update(chemistry_->primary[j], at.log_gamma[j]);
  for (std::size_t c = 0; c < chemistry_->complexes.size(); ++c) {
    update(chemistry_->complexes[c], at.log_gamma[size() + c]);
  }
  return change;
}

double Speciation::log_saturation(const Mineral& mineral, const Solution& at) const {
  return log_activity(mineral.formula, at) - mineral.log_k * ln10;
}

// With one site a complex, the free sites x follow at once: x (1 + sum r_i) = density.
void Speciation::bound(std::size_t site, const Solution& at, std::span<double> amount,
                       std::span<double> jacobian) {
  const std::size_t n = size();
  const auto& surface = chemistry_->surface;
  const double density = chemistry_->sites[site].density;
  double all = 1;
  for (std::size_t i = 0; i < surface.size(); ++i) {
    if (surface[i].site != site) continue;
    amounts_[i] = std::exp(log_activity(surface[i].formula, at) - surface[i].log_k * ln10);
    all += amounts_[i];
  }
  std::fill(amount.begin(), amount.end(), 0.0);
  std::fill(jacobian.begin(), jacobian.end(), 0.0);
  for (std::size_t i = 0; i < surface.size(); ++i) {
    if (surface[i].site != site) continue;
    const double bound_here = density * amounts_[i] / all;
    for (const auto& row : surface[i].formula) {
      amount[row.primary] += row.count * bound_here;
      if (jacobian.empty()) continue;
      for (const auto& column : surface[i].formula) {
        jacobian[row.primary * n + column.primary] += row.count * column.count * bound_here;
      }
    }
  }
  if (jacobian.empty() || density == 0) return;
  // The more is bound, the fewer sites are free: d ln x / d ln m_k = -amount_k / density.
  std::copy(amount.begin(), amount.end(), weighted_.begin());
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) {
      jacobian[j * n + k] -= weighted_[j] * weighted_[k] / density;
    }
  }
}

namespace {

/// Newton's method for `conditions` at fixed activity coefficients.
class WaterSolver {
 public:
  WaterSolver(Speciation& speciation, const std::vector<Condition>& conditions)
      : speciation_(speciation),
        conditions_(conditions),
        n_(speciation.size()),
        total_(n_),
        jacobian_(n_ * n_),
        matrix_(n_ * n_),
        residual_(n_) {}

  /// False if it does not converge.
  bool solve(Solution& at) {
    for (int iteration = 0; iteration < 200; ++iteration) {
      assemble(at);
      if (!solve_small(matrix_, residual_)) return false;
      double largest = 0;
      for (const double step : residual_) largest = std::max(largest, std::abs(step));
      if (!std::isfinite(largest)) return false;
      // Each by itself: a species far from its place must not hold up the others.
      for (std::size_t j = 0; j < n_; ++j) at.log_free[j] -= std::clamp(residual_[j], -2.0, 2.0);
      if (largest < 1e-13) return true;
      if (largest < 1e-9 && largest >= last_) return true;  // as far as round-off lets it
      last_ = largest;
    }
    return false;
  }

 private:
  void set_row(std::size_t row, const Formula& formula, double value, const Solution& at) {
    residual_[row] = -value * ln10;
    for (const auto& term : formula) {
      residual_[row] += term.count * (at.log_free[term.primary] + at.log_gamma[term.primary]);
      matrix_[row * n_ + term.primary] += term.count;
    }
  }

  void assemble(const Solution& at) {
    speciation_.totals(at, total_, jacobian_);
    std::fill(matrix_.begin(), matrix_.end(), 0.0);
    const auto& chemistry = speciation_.chemistry();
    for (std::size_t j = 0; j < n_; ++j) {
      const auto& known = conditions_[j];
      switch (known.kind) {
        case Condition::Kind::total:
          set_total_row(j, known.value);
          break;
        case Condition::Kind::free:
          residual_[j] = at.log_free[j] - std::log(known.value);
          matrix_[j * n_ + j] = 1;
          break;
        case Condition::Kind::activity:
          set_row(j, {{j, 1.0}}, known.value, at);
          break;
        case Condition::Kind::charge:
          set_charge_row(j);
          break;
        case Condition::Kind::mineral:
          set_row(j, chemistry.minerals[known.mineral].formula,
                  chemistry.minerals[known.mineral].log_k, at);
          break;
        case Condition::Kind::gas:
          set_row(j, known.formula, known.log_k + known.value, at);
          break;
      }
    }
  }

  // In ln of the total where it is positive: Newton's steps are then larger.
  void set_total_row(std::size_t j, double value) {
    const bool in_log = value > 0 && total_[j] > 0;
    const double scale = in_log ? 1 / total_[j] : 1 / std::max(std::abs(value), 1e-8);
    residual_[j] = in_log ? std::log(total_[j] / value) : (total_[j] - value) * scale;
    for (std::size_t k = 0; k < n_; ++k) matrix_[j * n_ + k] = jacobian_[j * n_ + k] * scale;
  }

  void set_charge_row(std::size_t j) {
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double z = speciation_.chemistry().primary[i].charge;
      sum += z * total_[i];
      size += std::abs(z * total_[i]);
      for (std::size_t k = 0; k < n_; ++k) matrix_[j * n_ + k] += z * jacobian_[i * n_ + k];
    }
    residual_[j] = sum / size;
    for (std::size_t k = 0; k < n_; ++k) matrix_[j * n_ + k] /= size;
  }

  Speciation& speciation_;
  const std::vector<Condition>& conditions_;
  std::size_t n_;
  double last_ = 1e300;
  std::vector<double> total_, jacobian_, matrix_, residual_;
};

/// What charge and minerals decide stays at its guess, the rest is solved: Newton's method for all
/// is then near enough. ln of the free molalities; those of `at` if that fails.
std::vector<double> nearer_start(Speciation& speciation, std::vector<Condition> conditions,
                                 const Solution& at) {
  const auto& primary = speciation.chemistry().primary;
  double charge = 0;
  for (std::size_t j = 0; j < conditions.size(); ++j) {
    if (conditions[j].kind == Condition::Kind::total) {
      charge += primary[j].charge * conditions[j].value;
    }
  }
  for (std::size_t j = 0; j < conditions.size(); ++j) {
    auto& known = conditions[j];
    const bool balances = known.kind == Condition::Kind::charge;
    if (!balances && known.kind != Condition::Kind::mineral) continue;
    known.value = balances ? std::max(std::abs(charge), 1e-7) : 1e-7;
    known.kind = Condition::Kind::free;
  }
  Solution start = at;
  for (std::size_t j = 0; j < conditions.size(); ++j) {
    if (conditions[j].kind == Condition::Kind::free)
      start.log_free[j] = std::log(conditions[j].value);
  }
  // A guess of a free ion may make far more of its complexes than there is: such ions are made
  // fewer first (fixed point of positive continued fractions, with the power of the largest count).
  std::vector<double> total(conditions.size());
  for (int sweep = 0; sweep < 100; ++sweep) {
    speciation.totals(start, total, {});
    for (std::size_t j = 0; j < conditions.size(); ++j) {
      const double value = conditions[j].value;
      if (conditions[j].kind != Condition::Kind::total || !(value > 0 && total[j] > value))
        continue;
      start.log_free[j] -= std::log(total[j] / value) / 4;
    }
  }
  return WaterSolver(speciation, conditions).solve(start) ? start.log_free : at.log_free;
}

}  // namespace

Solution solve_water(Speciation& speciation, const std::vector<Condition>& conditions,
                     const std::string& name) {
  const auto& chemistry = speciation.chemistry();
  Solution at;
  at.log_gamma.assign(chemistry.num_species(), 0.0);
  for (const auto& known : conditions) {
    double guess = 1e-7;
    if (known.kind == Condition::Kind::total && known.value > 0) guess = known.value / 2;
    if (known.kind == Condition::Kind::free) guess = known.value;
    if (known.kind == Condition::Kind::activity) guess = std::pow(10, known.value);
    at.log_free.push_back(std::log(guess));
  }
  at.log_free = nearer_start(speciation, conditions, at);
  double last = 1e300;
  for (int round = 0; round < 100; ++round) {
    WaterSolver solver(speciation, conditions);
    if (!solver.solve(at)) break;
    const double change = speciation.update_activities(at);
    if (change < 1e-14 || (change < 1e-11 && change >= last)) return at;  // round-off
    last = change;
  }
  throw Error(Errc::invalid_input, fmt::format("{}: no water satisfies its conditions; check for "
                                               "totals, pH and minerals that exclude each other",
                                               name));
}

}  // namespace tailrace::groundwater
