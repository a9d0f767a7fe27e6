// SPDX-License-Identifier: BSD-3-Clause
#include "case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "common/case_text.hpp"
#include "common/refuse_input.hpp"
#include "grid.hpp"
#include "properties.hpp"
#include "reactive.hpp"
#include "tailrace/more/nearest_word.hpp"

namespace tailrace::groundwater {

namespace {

void require_region(const Case& values, const RegionCase& region) {
  const auto where = fmt::format("{}: region `{}`", values.source, region.name);
  if (region.in_file) {
    if (values.cells.file.empty())
      app::refuse_input("{}", where + ": `in_file` needs `cells.file`");
    if (region.from.empty() && region.to.empty()) return;
    app::refuse_input("{}", where + ": give either `in_file` or `from` and `to`");
  }
  if (region.from.size() != 3 || region.to.size() != 3) {
    app::refuse_input("{}", where + ": `from` and `to` must be three numbers [x, y, z]");
  }
  for (std::size_t d = 0; d < 3; ++d) {
    const auto widths = widths_of(values, static_cast<int>(2 - d));
    const Axis axis = make_axis(widths);
    const double end = axis.walls.back(), a = region.from[d], b = region.to[d];
    const char letter = "xyz"[d];
    if (a > b) app::refuse_input("{}: from {} to {} along {} has no extent", where, a, b, letter);
    const double slack = 1e-9 * end;
    if (a >= -slack && b <= end + slack) continue;
    app::refuse_input(
        "{} lies outside the grid: from {} to {} along {}, where the grid goes "
        "from 0 to {}",
        where, a, b, letter, end);
  }
}

void require_series(const std::string& where, const std::vector<double>& times,
                    const std::vector<double>& values, bool needs_value) {
  const auto wanted = times.empty() ? std::size_t{1} : times.size();
  if (needs_value && values.size() != wanted) {
    app::refuse_input(
        "{} has {} values for {} times; give one for each (a single one without times)", where,
        values.size(), times.size());
  }
  if (!std::is_sorted(times.begin(), times.end()))
    app::refuse_input("{}", where + ": `times` must ascend");
}

void require_tables(const Case& values) {
  const auto& f = values.flow;
  for (const auto& region : values.grid.regions.items) require_region(values, region);
  if (f.materials.items.empty()) {
    app::refuse_input("{}: no material; give at least one [[flow.materials]]", values.source);
  }
  for (const auto& material : f.materials.items) {
    const auto where = fmt::format("{}: material `{}`", values.source, material.name);
    find_region(values, material.region, where);
    if (material.conductivity.size() != 1 && material.conductivity.size() != 3) {
      app::refuse_input("{}",
                        where + ": `conductivity` must be one number, or three, along [x, y, z]");
    }
    require_soil(soil_of(material), where);
  }
  if (!f.materials.items.front().region.empty()) {
    app::refuse_input(
        "{}: the first of [[flow.materials]] must apply everywhere: omit its `region`",
        values.source);
  }
  for (const auto& boundary : f.boundaries.items) {
    const auto where = fmt::format("{}: boundary `{}`", values.source, boundary.name);
    find_region(values, boundary.region, where);
    const bool has_value = boundary.type != "free_drainage" && boundary.type != "seepage";
    require_series(where, boundary.times, boundary.values, has_value);
  }
  for (const auto& well : f.wells.items) {
    const auto where = fmt::format("{}: well `{}`", values.source, well.name);
    find_region(values, well.region, where);
    require_series(where, well.times, well.values, true);
  }
}

void require_transport(const Case& values) {
  if (values.transport.advection != "upwind" && values.chemistry.file.empty()) {
    app::refuse_input("{}: transport.advection = \"{}\" needs species: `chemistry.file`",
                      values.source, values.transport.advection);
  }
  if (values.transport.coupling == "implicit") {
    const auto where = values.source + ": transport.coupling = \"implicit\"";
    if (values.chemistry.file.empty())
      app::refuse_input("{}", where + " needs species: `chemistry.file`");
    if (values.transport.advection != "upwind") {
      app::refuse_input("{}", where + " needs transport.advection = \"upwind\"");
    }
  }
  const auto& names = values.transport.observe;
  if (names.empty()) return;
  const auto where = fmt::format("{}: transport.observe", values.source);
  if (values.chemistry.file.empty())
    app::refuse_input("{}", where + " needs species: `chemistry.file`");
  for (const auto& name : names) {
    if (name.empty()) app::refuse_input("{}", where + ": a region needs a name");
    find_region(values, name, where);
  }
}

void require_heterogeneity(const Case& values) {
  const auto& h = values.heterogeneity;
  if (h.correlation.size() != 3) {
    app::refuse_input("{}: `heterogeneity.correlation` must be three lengths [x, y, z]",
                      values.source);
  }
  if (h.kind == "file" && (h.file.empty() || h.dataset.empty())) {
    app::refuse_input(
        "{}: heterogeneity.kind = \"file\" needs `heterogeneity.file` and "
        "`heterogeneity.dataset`",
        values.source);
  }
}

void require_linear(const Case& values) {
  if (values.linear.library == "petsc" || values.linear.petsc.empty()) return;
  app::refuse_input("{}", values.source + ": `linear.petsc` needs linear.library = \"petsc\"");
}

void require_cells(const Case& values) {
  const auto& c = values.cells;
  if (!c.file.empty() || (!c.materials && c.permeability.empty())) return;
  app::refuse_input("{}: `{}` needs `cells.file`", values.source,
                    c.materials ? "cells.materials" : "cells.permeability");
}

/// A steady flow needs a place where the head is known.
void require_head(const Case& values) {
  if (!values.flow.steady) return;
  const auto& list = values.flow.boundaries.items;
  const auto gives = [](const auto& b) { return b.type == "head" || b.type == "pressure_head"; };
  if (std::any_of(list.begin(), list.end(), gives)) return;
  app::refuse_input("{}: a steady flow needs a boundary of type head or pressure_head",
                    values.source);
}

void fill_defaults(Case& values) {
  auto& g = values.grid;
  const std::array<std::pair<std::vector<double>*, std::int64_t*>, 3> axes{
      {{&g.dx, &g.nx}, {&g.dy, &g.ny}, {&g.dz, &g.nz}}};
  for (const auto& [widths, count] : axes) {
    if (!widths->empty()) *count = std::ssize(*widths);
  }
  // Whole, so that RUN/case.toml finds it, too.
  for (auto* file : {&values.chemistry.file, &values.cells.file}) {
    if (file->empty()) continue;
    const auto folder = std::filesystem::absolute(values.source).parent_path();
    *file = (folder / *file).lexically_normal().string();
  }
  auto& t = values.time;
  if (t.max_step == 0) t.max_step = t.end;
  if (t.min_step == 0) t.min_step = 1e-9 * t.end;
}

}  // namespace

std::vector<double> widths_of(const Case& values, int axis) {
  const auto& g = values.grid;
  const auto even = [](std::int64_t count, double length) {
    return std::vector<double>(static_cast<std::size_t>(count),
                               length / static_cast<double>(count));
  };
  if (axis == 0) return g.dz.empty() ? even(g.nz, g.lz) : g.dz;
  if (axis == 1) return g.dy.empty() ? even(g.ny, g.ly) : g.dy;
  return g.dx.empty() ? even(g.nx, g.lx) : g.dx;
}

RegionCase find_region(const Case& values, const std::string& name, const std::string& where) {
  if (name.empty()) {
    RegionCase all;
    all.from.assign(3, -1e300);
    all.to.assign(3, 1e300);
    return all;
  }
  std::vector<std::string> names;
  for (const auto& region : values.grid.regions.items) {
    if (region.name == name) return region;
    names.push_back(region.name);
  }
  if (names.empty()) app::refuse_input("{}: region `{}`: no regions are defined", where, name);
  app::refuse_input("{}: `{}` is not a region; did you mean `{}`?", where, name,
                    nearest_word(name, names));
}

std::array<int, 3> rank_grid(const Case& values, int num_ranks) {
  const auto& g = values.grid;
  if (g.ranks[0] == 0) return choose_ranks({g.nz, g.ny, g.nx}, num_ranks);
  app::require_num_ranks(g.ranks, num_ranks, values.source);
  return {static_cast<int>(g.ranks[0]), static_cast<int>(g.ranks[1]), static_cast<int>(g.ranks[2])};
}

void complete(Case& values) {
  fill_defaults(values);
  app::require_rank_grid(values.grid.ranks, {"z", "y", "x"}, values.source);
  require_tables(values);
  require_heterogeneity(values);
  require_cells(values);
  require_linear(values);
  require_transport(values);
  require_head(values);
}

void check_ranks(const Case& values, int num_ranks) {
  if (!app::ranks_may_serve(values.output)) rank_grid(values, num_ranks);
}

std::vector<std::string> field_names(const Case& values) {
  std::vector<std::string> names;
  for (const auto& field : values.output.fields) {
    if (field != "flux") {
      names.push_back(field);
      continue;
    }
    for (const char* letter : {"x", "y", "z"}) names.push_back(fmt::format("flux_{}", letter));
  }
  if (!values.chemistry.file.empty() && !values.output.products.empty()) {
    const auto species = species_fields(chemistry_of(values));
    names.insert(names.end(), species.begin(), species.end());
  }
  return names;
}

}  // namespace tailrace::groundwater
