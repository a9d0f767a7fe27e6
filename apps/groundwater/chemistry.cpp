// SPDX-License-Identifier: BSD-3-Clause
// Reading a chemistry file.
#include "chemistry.hpp"

#include <cmath>
#include <numeric>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "common/keys.hpp"
#include "common/refuse_input.hpp"
#include "tailrace/more/nearest_word.hpp"

namespace tailrace::groundwater {

using app::any, app::from_0, app::Key, app::Keys, app::positive;

namespace {

struct PrimaryTable {
  std::string name, source;
  double charge = 0, size = 0;
};
struct ComplexTable {
  std::string name, formula, source;
  double log_k = 0, size = 0;
};
struct MineralTable {
  std::string name, formula, source;
  double log_k = 0, molar_volume = 0, rate = 0;
};
struct SiteTable {
  std::string name, source;
  double density = 0;
  std::vector<double> rates, shares;
};
struct SurfaceTable {
  std::string name, site, formula, source;
  double log_k = 0;
};
struct GasTable {
  std::string name, formula, source;
  double log_k = 0;
};
struct DecayTable {
  std::string species, products, source;
  double rate = 0, half_life = 0;
};

constexpr const char* formula_doc =
    "composition, such as \"HCO3- - H+\": primary species, complexes above, H2O";
constexpr const char* source_doc = "source of its constants, if it differs from that of the file";

Keys keys_of(PrimaryTable& t) {
  const std::string at = "chemistry.primary.";
  return {{at + "name", &t.name, any, "", "name used in formulas"},
          {at + "charge", &t.charge, any, "", "electric charge"},
          {at + "size", &t.size, from_0, "angstrom", "ion size of the Debye-Hueckel equation"},
          {at + "source", &t.source, any, "", source_doc}};
}
Keys keys_of(ComplexTable& t) {
  const std::string at = "chemistry.complex.";
  return {{at + "name", &t.name, any, "", "name"},
          {at + "formula", &t.formula, any, "", formula_doc},
          {at + "log_k", &t.log_k, any, "", "log10 K of its dissociation"},
          {at + "size", &t.size, from_0, "angstrom", "ion size of the Debye-Hueckel equation"},
          {at + "source", &t.source, any, "", source_doc}};
}
Keys keys_of(MineralTable& t) {
  const std::string at = "chemistry.mineral.";
  return {{at + "name", &t.name, any, "", "name"},
          {at + "formula", &t.formula, any, "", formula_doc},
          {at + "log_k", &t.log_k, any, "", "log10 K of its dissolution"},
          {at + "molar_volume", &t.molar_volume, from_0, "cm^3/mol", "molar volume"},
          {at + "rate", &t.rate, from_0, "mol/m^2/s", "rate constant of dissolution"},
          {at + "source", &t.source, any, "", source_doc}};
}
Keys keys_of(GasTable& t) {
  const std::string at = "chemistry.gas.";
  return {{at + "name", &t.name, any, "", "name"},
          {at + "formula", &t.formula, any, "", formula_doc},
          {at + "log_k", &t.log_k, any, "", "log10 K of its dissolution, pressure in bar"},
          {at + "source", &t.source, any, "", source_doc}};
}
Keys keys_of(SiteTable& t) {
  const std::string at = "chemistry.site.";
  return {{at + "name", &t.name, any, "", "name"},
          {at + "density", &t.density, from_0, "mol/m^3", "density of sites in the ground"},
          {at + "rates", &t.rates, from_0, "1/s", "first-order rates; none = equilibrium"},
          {at + "shares", &t.shares, from_0, "", "share of the sites for each rate"},
          {at + "source", &t.source, any, "", source_doc}};
}
Keys keys_of(SurfaceTable& t) {
  const std::string at = "chemistry.surface.";
  return {{at + "name", &t.name, any, "", "name"},
          {at + "site", &t.site, any, "", "site to which it is bound"},
          {at + "formula", &t.formula, any, "", formula_doc},
          {at + "log_k", &t.log_k, any, "", "log10 K of its dissociation"},
          {at + "source", &t.source, any, "", source_doc}};
}
Keys keys_of(DecayTable& t) {
  const std::string at = "chemistry.decay.";
  return {
      {at + "species", &t.species, any, "", "primary species that decays"},
      {at + "products", &t.products, any, "", "products of one unit of the species, such as \"B\""},
      {at + "rate", &t.rate, from_0, "1/s", "first-order rate"},
      {at + "half_life", &t.half_life, from_0, "s", "half-life, instead of the rate"},
      {at + "source", &t.source, any, "", source_doc}};
}

struct Tables {
  std::string source;
  Chemistry values;
  app::TableList<PrimaryTable> primary;
  app::TableList<ComplexTable> complexes;
  app::TableList<MineralTable> minerals;
  app::TableList<GasTable> gases;
  app::TableList<SiteTable> sites;
  app::TableList<SurfaceTable> surface;
  app::TableList<DecayTable> decays;
};

Keys keys_of(Tables& t) {
  const std::string at = "chemistry.";
  return {
      {at + "source", &t.source, any, "", "source of the constants"},
      {at + "debye_a", &t.values.debye_a, from_0, "", "A of the Debye-Hueckel equation"},
      {at + "debye_b", &t.values.debye_b, from_0, "1/angstrom", "B of the Debye-Hueckel equation"},
      {at + "debye_bdot", &t.values.debye_bdot, any, "", "linear term of the equation (B-dot)"},
      {at + "activities", &t.values.activities, any, "", "false: all activity coefficients are 1"},
      {at + "water_density", &t.values.water_density, positive, "kg/L", "density of water"},
      {at + "primary", &t.primary, any, "", "primary species"},
      {at + "complex", &t.complexes, any, "", "complexes in equilibrium with the primary species"},
      {at + "mineral", &t.minerals, any, "", "minerals"},
      {at + "gas", &t.gases, any, "", "gases in equilibrium with the water"},
      {at + "site", &t.sites, any, "", "sites of surfaces"},
      {at + "surface", &t.surface, any, "", "complexes on surfaces"},
      {at + "decay", &t.decays, any, "", "first-order decays"}};
}

template <class Item>
std::size_t find(const std::vector<Item>& items, const std::string& name, const std::string& where,
                 const char* kind) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return i;
    names.push_back(items[i].name);
  }
  if (names.empty()) app::refuse_input("{}: `{}`: the file contains no {}", where, name, kind);
  app::refuse_input("{}: `{}` is not a {}; did you mean `{}`?", where, name, kind,
                    nearest_word(name, names));
}

/// A formula of what a file has named so far, in primary species alone.
struct Reaction {
  Formula formula;
  double log_k = 0;  ///< `log_k` of the file, and of the complexes that it names
};

/// Water has activity 1: it may be in a formula, and changes nothing.
Reaction read_reaction(const std::string& text, double log_k, const Chemistry& known,
                       const std::string& where) {
  std::vector<Species> named = known.primary;
  named.insert(named.end(), known.complexes.begin(), known.complexes.end());
  named.push_back({"H2O", 0, 0, 0, {}});
  std::vector<double> counts(known.num_primary());
  Reaction out{{}, log_k};
  for (const auto& term : parse_formula(text, named, where)) {
    const auto& species = named[term.primary];
    out.log_k += term.count * species.log_k;
    for (const auto& part : species.formula) counts[part.primary] += term.count * part.count;
  }
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] != 0) out.formula.push_back({j, counts[j]});
  }
  return out;
}

double charge_of(const Formula& formula, const std::vector<Species>& primary) {
  return std::accumulate(formula.begin(), formula.end(), 0.0, [&](double sum, const Term& term) {
    return sum + term.count * primary[term.primary].charge;
  });
}

void add_sites(const Tables& tables, Chemistry& out, const std::string& source) {
  for (const auto& t : tables.sites.items) {
    Site site{t.name, t.density, t.rates, t.shares};
    if (site.shares.empty()) {
      site.shares.assign(site.rates.size(), 1 / static_cast<double>(site.rates.size()));
    }
    const double sum = std::accumulate(site.shares.begin(), site.shares.end(), 0.0);
    if (site.shares.size() != site.rates.size() ||
        (!site.rates.empty() && std::abs(sum - 1) > 1e-6)) {
      app::refuse_input(
          "{}: site `{}` has {} rates and {} shares of sum {}; give as many shares "
          "as rates, with sum 1",
          source, t.name, site.rates.size(), site.shares.size(), sum);
    }
    out.sites.push_back(std::move(site));
  }
  for (const auto& t : tables.surface.items) {
    const auto where = fmt::format("{}: surface complex `{}`", source, t.name);
    auto reaction = read_reaction(t.formula, t.log_k, out, where);
    out.surface.push_back({t.name, find(out.sites, t.site, where, "site"), reaction.log_k,
                           std::move(reaction.formula)});
  }
}

void add_decays(const Tables& tables, Chemistry& out, const std::string& source) {
  for (const auto& t : tables.decays.items) {
    const auto where = fmt::format("{}: decay of `{}`", source, t.species);
    if ((t.rate > 0) == (t.half_life > 0))
      app::refuse_input("{}", where + ": give either rate or half_life");
    Decay decay{out.find_primary(t.species, where), t.rate, {}};
    if (t.half_life > 0) decay.rate = std::log(2.0) / t.half_life;
    if (!t.products.empty()) decay.products = parse_formula(t.products, out.primary, where);
    const double change =
        charge_of(decay.products, out.primary) - out.primary[decay.primary].charge;
    if (std::abs(change) > 1e-9) {
      app::refuse_input("{}: the charge changes by {}; name what carries it in the products", where,
                        change);
    }
    out.decays.push_back(std::move(decay));
  }
}

void require_names_once(const Chemistry& values, const std::string& source) {
  std::set<std::string> names;
  for (const auto* list : {&values.primary, &values.complexes}) {
    for (const auto& species : *list) {
      if (names.insert(species.name).second) continue;
      app::refuse_input("{}: two species are named `{}`", source, species.name);
    }
  }
}

}  // namespace

std::size_t Chemistry::find_primary(const std::string& name, const std::string& where) const {
  return find(primary, name, where, "primary species");
}

std::size_t Chemistry::find_mineral(const std::string& name, const std::string& where) const {
  return find(minerals, name, where, "mineral");
}

std::size_t Chemistry::find_gas(const std::string& name, const std::string& where) const {
  return find(gases, name, where, "gas");
}

std::vector<std::size_t> Chemistry::primary_of_site(std::size_t site) const {
  std::set<std::size_t> found;
  for (const auto& complex : surface) {
    if (complex.site != site) continue;
    for (const auto& term : complex.formula) found.insert(term.primary);
  }
  return {found.begin(), found.end()};
}

Formula parse_formula(const std::string& text, const std::vector<Species>& species,
                      const std::string& where) {
  Formula formula;
  std::istringstream words(text);
  double sign = 1, count = 1;
  for (std::string word; words >> word;) {
    if (word == "+" || word == "-") {
      sign = word == "+" ? 1 : -1;
      continue;
    }
    std::size_t used = 0;
    double number = 0;
    try {
      number = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == word.size()) {
      count = number;
      continue;
    }
    formula.push_back({find(species, word, where, "species"), sign * count});
    sign = count = 1;
  }
  if (formula.empty()) {
    app::refuse_input("{}: formula \"{}\" contains no species", where, text);
  }
  return formula;
}

Chemistry parse_chemistry(const std::string& text, const std::string& source) {
  Tables tables;
  std::set<std::string> given;
  app::read_toml(keys_of(tables), text, source, given);
  Chemistry out = tables.values;
  out.source = tables.source;
  for (const auto& t : tables.primary.items) {
    out.primary.push_back({t.name, t.charge, t.size, 0, {{out.primary.size(), 1.0}}});
  }
  if (out.primary.empty()) {
    app::refuse_input("{}: no primary species; give at least one [[chemistry.primary]]", source);
  }
  for (const auto& t : tables.complexes.items) {
    const auto where = fmt::format("{}: complex `{}`", source, t.name);
    auto reaction = read_reaction(t.formula, t.log_k, out, where);
    const double charge = charge_of(reaction.formula, out.primary);
    out.complexes.push_back({t.name, charge, t.size, reaction.log_k, std::move(reaction.formula)});
  }
  for (const auto& t : tables.minerals.items) {
    const auto where = fmt::format("{}: mineral `{}`", source, t.name);
    auto reaction = read_reaction(t.formula, t.log_k, out, where);
    const double charge = charge_of(reaction.formula, out.primary);
    if (std::abs(charge) > 1e-9) {
      app::refuse_input("{}: formula \"{}\" has charge {}; a mineral has none", where, t.formula,
                        charge);
    }
    out.minerals.push_back(
        {t.name, reaction.log_k, t.molar_volume * 1e-6, t.rate, std::move(reaction.formula)});
  }
  for (const auto& t : tables.gases.items) {
    const auto where = fmt::format("{}: gas `{}`", source, t.name);
    auto reaction = read_reaction(t.formula, t.log_k, out, where);
    const double charge = charge_of(reaction.formula, out.primary);
    if (std::abs(charge) > 1e-9) {
      app::refuse_input("{}: formula \"{}\" has charge {}; a gas has none", where, t.formula,
                        charge);
    }
    out.gases.push_back({t.name, reaction.log_k, std::move(reaction.formula)});
  }
  add_sites(tables, out, source);
  add_decays(tables, out, source);
  require_names_once(out, source);
  return out;
}

}  // namespace tailrace::groundwater
