// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tailrace::groundwater {

/// One primary species of a reaction, and how many of it.
struct Term {
  std::size_t primary = 0;
  double count = 0;
};
using Formula = std::vector<Term>;

/// A species in water. Of a primary one the formula is itself.
struct Species {
  std::string name;
  double charge = 0;
  double ion_size = 0;  ///< [angstrom], of the Debye-Hueckel equation
  double log_k = 0;     ///< log10 activity = sum(count log10 activity of the primary) - log_k
  Formula formula;
};

/// A mineral that dissolves and grows at the rate of transition state theory.
struct Mineral {
  std::string name;
  double log_k = 0;         ///< in equilibrium sum(count log10 activity) = log_k
  double molar_volume = 0;  ///< [m3/mol]
  double rate = 0;          ///< [mol/m2/s]
  Formula formula;
};

/// A gas over the water: in equilibrium sum(count log10 activity) = log_k + log10 of its partial
/// pressure [bar].
struct Gas {
  std::string name;
  double log_k = 0;
  Formula formula;
};

/// What binds to a site of surfaces: log10 amount = sum(count log10 activity) + log10 free sites
/// - log_k.
struct SurfaceComplex {
  std::string name;
  std::size_t site = 0;
  double log_k = 0;
  Formula formula;
};

/// Sites of surfaces. With `rates`, the bound amount follows its equilibrium as so many classes of
/// equal share do, each at its own first-order rate; without, it is in equilibrium.
struct Site {
  std::string name;
  double density = 0;          ///< [mol/m3 of ground]
  std::vector<double> rates;   ///< [1/s]
  std::vector<double> shares;  ///< of the classes, sum 1; as many as `rates`
};

/// What becomes of a primary species by itself: of all that is in the water or bound, a part in
/// each second. Nothing becomes of it where `products` is empty.
struct Decay {
  std::size_t primary = 0;
  double rate = 0;  ///< [1/s]
  Formula products;
};

/// The species and reactions of a case, at one temperature.
struct Chemistry {
  double debye_a = 0.5114, debye_b = 0.3288, debye_bdot = 0.0410;  ///< at 25 C
  bool activities = true;            ///< false: all activity coefficients are 1
  double water_density = 0.9971604;  ///< [kg/L]
  std::vector<Species> primary, complexes;
  std::vector<Mineral> minerals;
  std::vector<Gas> gases;
  std::vector<Site> sites;
  std::vector<SurfaceComplex> surface;
  std::vector<Decay> decays;
  std::string source;  ///< where the constants are from

  std::size_t num_primary() const { return primary.size(); }
  std::size_t num_species() const { return primary.size() + complexes.size(); }
  /// Throws `Errc::invalid_input` with the name nearest to it. Local, as all here.
  std::size_t find_primary(const std::string& name, const std::string& where) const;
  std::size_t find_mineral(const std::string& name, const std::string& where) const;
  std::size_t find_gas(const std::string& name, const std::string& where) const;
  /// The primary species that complexes of a site are made of, ascending.
  std::vector<std::size_t> primary_of_site(std::size_t site) const;
};

/// Parses the text of a chemistry file (docs/applications.md). Throws `Errc::invalid_input` that
/// names file, line or species. Local.
Chemistry parse_chemistry(const std::string& text, const std::string& source);

/// Parses "2 HCO3- - H+" into places in `species` by their names. Throws as above, `where` in
/// front. Local.
Formula parse_formula(const std::string& text, const std::vector<Species>& species,
                      const std::string& where);

}  // namespace tailrace::groundwater
