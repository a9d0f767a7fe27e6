// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "case_products.hpp"
#include "core/nearest_word.hpp"
#include "tailrace/error.hpp"

namespace tailrace::turbulence {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(Errc::invalid_input, text); }

/// Where a value was given: "cases/x.toml line 12" or "--set grid.nx=8".
struct Place {
  std::string text;
};

/// The name of a key before its dot.
std::string section_of(const std::string& name) { return name.substr(0, name.find('.')); }

[[noreturn]] void refuse_unknown(const std::string& what, const std::string& name,
                                 const Place& place) {
  std::vector<std::string> words;
  for (const auto& key : case_keys()) {
    words.push_back(what == "section" ? section_of(key.name) : key.name);
  }
  refuse(fmt::format("unknown {} `{}` in {}: did you mean `{}`?", what, name, place.text,
                     nearest_word(name, words)));
}

const CaseKey& find_key(const std::string& name, const Place& place) {
  for (const auto& key : case_keys()) {
    if (key.name == name) return key;
  }
  const auto section = section_of(name);
  const bool known = std::any_of(case_keys().begin(), case_keys().end(), [&](const CaseKey& key) {
    return section_of(key.name) == section;
  });
  if (!known && name.find('.') == std::string::npos) refuse_unknown("section", name, place);
  refuse_unknown("key", name, place);
}

std::string describe_range(const CaseKey& key) {
  const bool open_above = key.max >= 1e299;
  if (key.min <= -1e299) return "any number";
  const std::string from =
      key.min > 0 && key.min < 1e-200 ? "greater than 0" : fmt::format("at least {}", key.min);
  return open_above ? from : fmt::format("{} and at most {}", from, key.max);
}

void require_range(const CaseKey& key, double value, const Place& place) {
  if (std::isfinite(value) && value >= key.min && value <= key.max) return;
  refuse(fmt::format("`{}` in {} is {}: it must be {}", key.name, place.text, value,
                     describe_range(key)));
}

void require_choice(const CaseKey& key, const std::string& value, const Place& place) {
  if (key.choices.empty()) return;
  if (std::find(key.choices.begin(), key.choices.end(), value) != key.choices.end()) return;
  refuse(fmt::format("`{}` in {} is \"{}\": it must be one of {}; did you mean \"{}\"?", key.name,
                     place.text, value, fmt::join(key.choices, ", "),
                     nearest_word(value, key.choices)));
}

[[noreturn]] void refuse_type(const CaseKey& key, const toml::node& node, const char* right,
                              const Place& place) {
  std::ostringstream type;
  type << node.type();
  refuse(fmt::format("`{}` in {} is a {}: it must be {}", key.name, place.text, type.str(), right));
}

/// Stores one TOML value in the member of the same type, after checking type and range.
struct Assign {
  Case& values;
  const CaseKey& key;
  const toml::node& node;
  const Place& place;

  void operator()(bool& (*member)(Case&)) const {
    if (!node.is_boolean()) refuse_type(key, node, "true or false", place);
    member(values) = *node.value<bool>();
  }
  void operator()(std::int64_t& (*member)(Case&)) const {
    if (!node.is_integer()) refuse_type(key, node, "a whole number", place);
    const auto value = *node.value<std::int64_t>();
    require_range(key, static_cast<double>(value), place);
    member(values) = value;
  }
  void operator()(double& (*member)(Case&)) const {
    if (!node.is_number()) refuse_type(key, node, "a number", place);
    const auto value = *node.value<double>();
    require_range(key, value, place);
    member(values) = value;
  }
  void operator()(std::string& (*member)(Case&)) const {
    if (!node.is_string()) refuse_type(key, node, "a text in \"quotes\"", place);
    auto value = *node.value<std::string>();
    require_choice(key, value, place);
    member(values) = std::move(value);
  }
  void operator()(std::vector<double>& (*member)(Case&)) const {
    const auto* array = node.as_array();
    if (array == nullptr) refuse_type(key, node, "a list of numbers like [1, 2]", place);
    std::vector<double> list;
    for (const auto& item : *array) {
      if (!item.is_number()) refuse_type(key, item, "a list of numbers like [1, 2]", place);
      list.push_back(*item.value<double>());
      require_range(key, list.back(), place);
    }
    member(values) = std::move(list);
  }
  void operator()(std::vector<std::string>& (*member)(Case&)) const {
    const auto* array = node.as_array();
    if (array == nullptr) refuse_type(key, node, "a list of texts like [\"u\"]", place);
    std::vector<std::string> list;
    for (const auto& item : *array) {
      if (!item.is_string()) refuse_type(key, item, "a list of texts like [\"u\"]", place);
      list.push_back(*item.value<std::string>());
      require_choice(key, list.back(), place);
    }
    member(values) = std::move(list);
  }
  void operator()(std::vector<Product>& (*member)(Case&)) const {
    member(values) = parse_products(node, fmt::format("`{}` in {}", key.name, place.text));
  }
};

void assign(Case& values, const std::string& name, const toml::node& node, const Place& place) {
  const CaseKey& key = find_key(name, place);
  std::visit(Assign{values, key, node, place}, key.member);
  values.given.insert(name);
}

toml::table parse_toml(const std::string& text, const std::string& source) {
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    refuse(fmt::format("{} line {}: {}", source, error.source().begin.line,
                       std::string(error.description())));
  }
}

void assign_file(Case& values, const std::string& text) {
  const toml::table file = parse_toml(text, values.source);
  for (const auto& [section, node] : file) {
    const std::string section_name(section.str());
    const auto place_of = [&](const toml::node& at) {
      return Place{fmt::format("{} line {}", values.source, at.source().begin.line)};
    };
    const auto* table = node.as_table();
    if (table == nullptr) {
      refuse(fmt::format("{}: `{}` stands outside a section; write it under one, like [grid]",
                         place_of(node).text, section_name));
    }
    const bool known = std::any_of(case_keys().begin(), case_keys().end(), [&](const CaseKey& k) {
      return section_of(k.name) == section_name;
    });
    if (!known) refuse_unknown("section", section_name, place_of(node));
    for (const auto& [key, value] : *table) {
      assign(values, section_name + "." + std::string(key.str()), value, place_of(value));
    }
  }
}

/// Applies "section.key=value". The other key of a pair (step or courant) gives way.
void assign_setting(Case& values, const std::string& setting) {
  const Place place{"--set " + setting};
  const auto equals = setting.find('=');
  if (equals == std::string::npos) {
    refuse(fmt::format("{}: it must be section.key=value, like --set grid.n=64", place.text));
  }
  const std::string name = setting.substr(0, equals);
  const std::string value = setting.substr(equals + 1);
  const CaseKey& key = find_key(name, place);
  if (!key.instead_of.empty()) values.given.erase(key.instead_of);
  toml::table table;
  try {
    table = toml::parse("value = " + value);
  } catch (const toml::parse_error&) {
    table.insert_or_assign("value", value);  // a bare word
  }
  const bool wants_text = std::holds_alternative<std::string& (*)(Case&)>(key.member);
  if (wants_text && !table.get("value")->is_string()) table.insert_or_assign("value", value);
  assign(values, name, *table.get("value"), place);
}

void require_pairs(const Case& values) {
  for (const auto& key : case_keys()) {
    if (key.instead_of.empty() || key.name > key.instead_of) continue;
    const bool first = values.given.contains(key.name);
    const bool second = values.given.contains(key.instead_of);
    if (first != second) continue;
    refuse(fmt::format("{}: {} `{}` and `{}` must be given, not {}", values.source,
                       "exactly one of", key.name, key.instead_of, first ? "both" : "neither"));
  }
}

void require_grid(const Case& values) {
  const auto& grid = values.grid;
  if (grid.nx < 4 || grid.ny < 4 || grid.nz < 4) {
    refuse(
        fmt::format("{}: the grid has {} x {} x {} points (x, y, z); give `grid.n`, or `grid.nx`, "
                    "`grid.ny` and `grid.nz`, at least 4 each",
                    values.source, grid.nx, grid.ny, grid.nz));
  }
  const bool whole = std::all_of(grid.ranks.begin(), grid.ranks.end(),
                                 [](double r) { return r == std::floor(r); });
  if (grid.ranks.size() != 2 || !whole || (grid.ranks[0] == 0) != (grid.ranks[1] == 0)) {
    refuse(
        fmt::format("{}: `grid.ranks` must be two whole numbers [along z, along y], both 0 for "
                    "an automatic choice",
                    values.source));
  }
}

void require_fields(const Case& values) {
  auto fields = values.output.fields;
  std::sort(fields.begin(), fields.end());
  const auto twice = std::adjacent_find(fields.begin(), fields.end());
  if (twice != fields.end()) {
    refuse(fmt::format("{}: `output.fields` names \"{}\" twice", values.source, *twice));
  }
  const bool any = !fields.empty() && (fields != std::vector<std::string>{"scalars"} ||
                                       !values.scalars.schmidt.empty());
  if (any || values.output.mode == "none") return;
  refuse(
      fmt::format("{}: `output.fields` names no field of this flow; give at least one of u, v, "
                  "w{}, or output.mode = \"none\"",
                  values.source, values.scalars.schmidt.empty() ? "" : ", scalars"));
}

void require_sense(const Case& values) {
  const auto& flow = values.flow;
  const auto& restart = values.restart.file;
  if (flow.initial == "restart" && (restart.empty() || restart == "latest_or_fresh")) {
    refuse(fmt::format("{}: flow.initial = \"restart\" needs the checkpoint in `restart.file`",
                       values.source));
  }
  require_fields(values);
  const auto gradients = values.scalars.mean_gradient.size();
  const auto scalars = values.scalars.schmidt.size();
  if (gradients != 0 && gradients != 3 && gradients != 3 * scalars) {
    refuse(
        fmt::format("{}: `scalars.mean_gradient` has {} numbers; give 3 (x, y, z) for all "
                    "scalars, or {} for the {} scalars in turn",
                    values.source, gradients, 3 * scalars, scalars));
  }
}

void fill_defaults(Case& values) {
  auto& grid = values.grid;
  for (auto* points : {&grid.nx, &grid.ny, &grid.nz}) {
    if (*points == 0) *points = grid.n;
  }
  for (auto* length : {&grid.lx, &grid.ly, &grid.lz}) {
    if (*length == 0) *length = 2 * M_PI;
  }
  if (values.given.contains("flow.reynolds")) {
    values.flow.viscosity = grid.lx / (2 * M_PI) / values.flow.reynolds;
  }
  if (!values.given.contains("time.courant")) values.time.courant = 0;
  if (!values.given.contains("time.step")) values.time.step = 0;
  if (values.about.name.empty()) {
    const auto slash = values.source.find_last_of('/');
    const auto name = slash == std::string::npos ? values.source : values.source.substr(slash + 1);
    values.about.name = name.substr(0, name.find('.'));
  }
}

}  // namespace

Case parse_case(const std::string& text, const std::string& source,
                std::span<const std::string> settings) {
  Case values;
  values.source = source;
  assign_file(values, text);
  for (const auto& setting : settings) assign_setting(values, setting);
  require_pairs(values);
  fill_defaults(values);
  require_grid(values);
  require_sense(values);
  require_servers(values);
  if (values.about.name.empty() || values.about.name.find('/') != std::string::npos) {
    refuse(fmt::format("{}: `case.name` must be a name of files, without a slash", source));
  }
  return values;
}

Hints file_hints(const Case& values) {
  Hints hints;
  for (const auto& hint : values.output.hints) {
    const auto equals = hint.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(Errc::invalid_input,
                  fmt::format("{}: output.hints: \"{}\" is not NAME=VALUE", values.source, hint));
    }
    hints.set(hint.substr(0, equals), hint.substr(equals + 1));
  }
  return hints;
}

NavierStokesOptions solver_options(const Case& values, int num_ranks) {
  const auto& grid = values.grid;
  NavierStokesOptions options;
  options.extents = {grid.nz, grid.ny, grid.nx};
  options.lengths = {grid.lz, grid.ly, grid.lx};
  options.viscosity = values.flow.viscosity;
  options.scheme = values.time.scheme == "rk2" ? Scheme::rk2 : Scheme::rk4;
  options.dealias =
      values.dealias.method == "phase_shift" ? Dealias::phase_shift : Dealias::two_thirds;
  options.grid = {static_cast<int>(grid.ranks[0]), static_cast<int>(grid.ranks[1])};
  if (grid.ranks[0] != 0 && grid.ranks[0] * grid.ranks[1] != num_ranks) {
    refuse(fmt::format(
        "{}: grid.ranks = [{}, {}] needs {} ranks, but the run has {}; "
        "[0, 0] chooses a grid that fits",
        values.source, grid.ranks[0], grid.ranks[1], grid.ranks[0] * grid.ranks[1], num_ranks));
  }
  const auto& gradients = values.scalars.mean_gradient;
  for (std::size_t s = 0; s < values.scalars.schmidt.size(); ++s) {
    Scalar scalar;
    scalar.schmidt = values.scalars.schmidt[s];
    const std::size_t first = gradients.size() > 3 ? 3 * s : 0;
    for (std::size_t d = 0; d < 3 && !gradients.empty(); ++d) {
      scalar.mean_gradient[d] = gradients[first + d];
    }
    options.scalars.push_back(scalar);
  }
  options.fft.kernel = values.fft.kernel;
  options.fft.method = values.fft.method;
  options.fft.threads = static_cast<int>(values.fft.threads);
  return options;
}

}  // namespace tailrace::turbulence
