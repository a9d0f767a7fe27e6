// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chemistry.hpp"

namespace tailrace::groundwater {

/// The water of one place: what follows from ln of the free molalities of the primary species.
struct Solution {
  std::vector<double> log_free;   ///< ln [mol/kg], one a primary species: the unknowns
  std::vector<double> log_gamma;  ///< ln of the activity coefficients: primary, then complexes
};

/// ln of the activity coefficient of `species` at an ionic strength [mol/kg]. Local.
double log_gamma(const Chemistry& chemistry, const Species& species, double strength);

/// Formulas of mass action for one place after the other; keeps work arrays, so one object a
/// thread. All local.
class Speciation {
 public:
  explicit Speciation(const Chemistry& chemistry);

  /// Total concentrations [mol/L] and, if `jacobian` is not empty (n x n, row-major), their
  /// derivatives by ln of the free molalities, at fixed activity coefficients.
  void totals(const Solution& at, std::span<double> total, std::span<double> jacobian);
  /// Activity coefficients from the ionic strength that the present ones give; returns the largest
  /// change of a logarithm.
  double update_activities(Solution& at);
  double ionic_strength(const Solution& at);  ///< [mol/kg]
  /// Of all ions [mol/L].
  struct Charges {
    double sum = 0, size = 0;
  };
  Charges charges(const Solution& at);
  /// ln(ion activity product / K) of a mineral; its derivatives are the counts of the formula.
  double log_saturation(const Mineral& mineral, const Solution& at) const;
  /// Amounts bound in equilibrium to `site` [mol/m3 of ground], one a primary species, and their
  /// derivatives as in `totals`.
  void bound(std::size_t site, const Solution& at, std::span<double> amount,
             std::span<double> jacobian);

  const Chemistry& chemistry() const { return *chemistry_; }
  std::size_t size() const { return chemistry_->num_primary(); }

 private:
  double log_activity(const Formula& formula, const Solution& at) const;
  double molality(std::size_t complex, const Solution& at) const;

  const Chemistry* chemistry_;
  std::vector<double> amounts_, weighted_;
};

/// What is known of a water, one condition a primary species.
struct Condition {
  enum class Kind {
    total,     ///< total concentration [mol/L]
    free,      ///< free molality [mol/kg]
    activity,  ///< log10 of the activity (of H+: -pH)
    charge,    ///< whatever balances the charge
    mineral,   ///< equilibrium with a mineral
    gas        ///< log10 of the partial pressure [bar] of a gas of formula and log K
  };
  Kind kind = Kind::total;
  double value = 0;
  std::size_t mineral = 0;
  double log_k = 0;      ///< of the gas
  Formula formula = {};  ///< of the gas
};

/// The water that fulfils `conditions`, activity coefficients included. Throws
/// `Errc::invalid_input`, `name` in front, if there is none: if Newton's method does not come to an
/// end. Local.
Solution solve_water(Speciation& speciation, const std::vector<Condition>& conditions,
                     const std::string& name);

}  // namespace tailrace::groundwater
