// SPDX-License-Identifier: BSD-3-Clause
// The waters of a case from their conditions.
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "common/case_text.hpp"
#include "common/refuse_input.hpp"
#include "reactive.hpp"

namespace tailrace::groundwater {

namespace {

/// "SPECIES KIND [NAME] [VALUE]" into `conditions`.
void add_condition(const std::string& text, const Chemistry& chemistry, const std::string& where,
                   std::vector<Condition>& conditions, std::vector<bool>& known) {
  std::istringstream words(text);
  std::string species, kind, value;
  words >> species >> kind >> value;
  const auto here = fmt::format("{}: condition \"{}\"", where, text);
  const std::size_t j = chemistry.find_primary(species, here);
  if (known[j]) app::refuse_input("{}: `{}` has a condition already", here, species);
  known[j] = true;
  auto& condition = conditions[j];
  if (kind == "charge") {
    condition.kind = Condition::Kind::charge;
    return;
  }
  if (kind == "mineral") {
    condition.kind = Condition::Kind::mineral;
    condition.mineral = chemistry.find_mineral(value, here);
    return;
  }
  if (kind == "gas") {
    const auto& gas = chemistry.gases[chemistry.find_gas(value, here)];
    condition.kind = Condition::Kind::gas;
    condition.log_k = gas.log_k;
    condition.formula = gas.formula;
    if (words >> condition.value) return;
    app::refuse_input("{}: after the gas comes log10 of its partial pressure [bar], such as -3.5",
                      here);
  }
  std::istringstream number(value);
  if (!(number >> condition.value)) app::refuse_input("{}", here + ": it must end with a number");
  if (kind == "total" || kind == "free") {
    condition.kind = kind == "total" ? Condition::Kind::total : Condition::Kind::free;
    if (condition.value > 0 || (kind == "total" && species == "H+")) return;
    app::refuse_input(
        "{}: it must be above 0; for an absent species, give a very small concentration, such as "
        "1e-15",
        here);
  }
  if (kind != "pH")
    app::refuse_input("{}",
                      here + ": its second word must be pH, total, free, charge, mineral or gas");
  condition.kind = Condition::Kind::activity;
  condition.value = -condition.value;
}

constexpr double most_unbalanced = 0.05;  ///< what analyses of water are allowed to miss

/// Refuses water whose charges are far from balanced, compared with those of all ions.
void require_neutral(const Solution& water, Speciation& speciation, const std::string& where) {
  const auto [sum, size] = speciation.charges(water);
  if (std::abs(sum) <= most_unbalanced * size) return;
  app::refuse_input(
      "{}: its charges do not balance: {:.3g} mol/L remain, {:.0f} % of all ions'; give "
      "one species the condition \"charge\"",
      where, sum, 100 * std::abs(sum) / size);
}

}  // namespace

Chemistry chemistry_of(const Case& values) {
  const auto& path = values.chemistry.file;
  return parse_chemistry(app::read_case_text(path), path);
}

std::vector<Solution> make_waters(const Case& values, const Chemistry& chemistry) {
  std::vector<Solution> waters;
  Speciation speciation(chemistry);
  for (const auto& from : values.chemistry.waters.items) {
    const auto where = fmt::format("{}: water `{}`", values.source, from.name);
    std::vector<Condition> conditions(chemistry.num_primary());
    std::vector<bool> known(conditions.size());
    for (const auto& text : from.conditions) {
      add_condition(text, chemistry, where, conditions, known);
    }
    for (std::size_t j = 0; j < known.size(); ++j) {
      if (known[j]) continue;
      app::refuse_input("{}: there is no condition for `{}`; give one such as \"{} total 1e-6\"",
                        where, chemistry.primary[j].name, chemistry.primary[j].name);
    }
    waters.push_back(solve_water(speciation, conditions, where));
    require_neutral(waters.back(), speciation, where);
  }
  return waters;
}

}  // namespace tailrace::groundwater
