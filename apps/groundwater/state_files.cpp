// SPDX-License-Identifier: BSD-3-Clause
#include "state_files.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/output_case.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace::groundwater {

namespace {

constexpr const char* checkpoint_kind = "tailrace groundwater checkpoint";

std::vector<Coordinate> coordinates_of(const Grid& grid) {
  std::vector<Coordinate> out;
  for (int d = 2; d >= 0; --d) {
    Coordinate axis;
    axis.name = std::string(1, "zyx"[d]);
    axis.attributes = {{"long_name", "centre of the cell along " + axis.name},
                       {"units", std::string("m")}};
    for (std::ptrdiff_t i = 0; i < grid.axis(d).num_cells(); ++i) {
      axis.values.push_back(grid.axis(d).centre(i));
    }
    out.push_back(std::move(axis));
  }
  return out;
}

std::vector<std::ptrdiff_t> extents_of(const NamedField& field, const Grid& grid) {
  std::vector<std::ptrdiff_t> out;
  for (const auto& axis : field.sets) out.push_back(axis.second);
  for (const auto extent : grid.extents()) out.push_back(extent);
  return out;
}

/// The layout of the own cells with the axes of `field` before theirs, which all ranks hold whole.
Layout layout_of(const NamedField& field, const Grid& grid) {
  if (field.sets.empty()) return grid.layout();
  const auto extents = extents_of(field, grid);
  const auto more = field.sets.size();
  std::vector<std::vector<Box>> boxes;
  for (int rank = 0; rank < grid.layout().num_ranks(); ++rank) {
    boxes.emplace_back();
    for (const auto& cells : grid.layout().boxes(rank)) {
      auto& box = boxes.back().emplace_back();
      box.num_dims = static_cast<int>(extents.size());
      for (std::size_t d = 0; d < extents.size(); ++d) {
        box.start[d] = d < more ? 0 : cells.start[d - more];
        box.extents[d] = d < more ? extents[d] : cells.extents[d - more];
      }
    }
  }
  return from_boxes(extents, std::move(boxes));
}

/// `layout` (of `layout_of`) must live as long as the variable.
Variable variable_of(const NamedField& field, const Layout& layout) {
  std::vector<std::string> axes;
  for (const auto& axis : field.sets) axes.push_back(axis.first);
  axes.insert(axes.end(), {"z", "y", "x"});
  return Variable(field.name, layout, std::span(field.values), axes,
                  {{"long_name", field.long_name}, {"units", field.unit}});
}

/// What `cells.file` calls a material, or its place in the case, from 1.
std::int64_t number_of(const Case& values, std::size_t material) {
  const auto id = values.flow.materials.items[material].id;
  return id > 0 ? id : static_cast<std::int64_t>(material) + 1;
}

/// Mean flux along axis d [m/s] of each own cell, from its two walls.
std::vector<double> mean_flux(const FlowEquations& equations, int d) {
  const auto& grid = equations.grid();
  std::vector<double> out;
  const auto below = static_cast<std::size_t>(2 * d);
  for (std::ptrdiff_t own = 0; own < grid.num_own(); ++own) {
    const auto& walls = equations.wall_rates()[static_cast<std::size_t>(own)];
    out.push_back((walls[below] + walls[below + 1]) / 2 / grid.area(grid.own_cell(own), d));
  }
  return out;
}

}  // namespace

std::vector<NamedField> output_fields(const Case& values, const FlowEquations& equations,
                                      std::span<const double> h) {
  const auto& grid = equations.grid();
  const auto& ground = equations.ground();
  const auto of_cells = [&](const auto& value) {
    std::vector<double> out;
    for (std::ptrdiff_t own = 0; own < grid.num_own(); ++own) {
      const Cell cell = grid.own_cell(own);
      out.push_back(value(static_cast<std::size_t>(own), cell,
                          static_cast<std::size_t>(grid.wide_index(cell))));
    }
    return out;
  };
  std::vector<NamedField> fields;
  for (const auto& name : values.output.fields) {
    if (name == "head") {
      fields.push_back({name, "hydraulic head", "m", of_cells([&](auto i, auto& cell, auto) {
                          return h[i] + equations.height(cell);
                        })});
    } else if (name == "pressure_head") {
      fields.push_back({name, "pressure head", "m", {h.begin(), h.end()}});
    } else if (name == "saturation") {
      fields.push_back(
          {name, "saturation of the pores", "1", of_cells([&](auto i, auto&, auto wide) {
             return water_at(ground.soils[ground.soil_of[wide]], h[i]).saturation;
           })});
    } else if (name == "water") {
      fields.push_back({name, "water in the cell", "m^3", of_cells([&](auto i, auto&, auto wide) {
                          return equations.volume(static_cast<std::ptrdiff_t>(i)) *
                                 water_at(ground.soils[ground.soil_of[wide]], h[i]).content;
                        })});
    } else if (name == "material") {
      fields.push_back({name, "number of the material", "1", of_cells([&](auto, auto&, auto wide) {
                          return static_cast<double>(number_of(values, ground.soil_of[wide]));
                        })});
    } else if (name == "conductivity") {
      fields.push_back(
          {name, "saturated conductivity along x", "m/s",
           of_cells([&](auto, auto&, auto wide) { return ground.conductivity[2][wide]; })});
    } else {
      for (int d = 2; d >= 0; --d) {
        const std::string letter(1, "zyx"[d]);
        fields.push_back(
            {"flux_" + letter, "Darcy flux along " + letter, "m/s", mean_flux(equations, d)});
      }
    }
  }
  return fields;
}

void write_field_file(app::FileSeries& series, const Grid& grid, const std::string& title,
                      const RunClock& clock, const std::vector<NamedField>& fields) {
  FileContents contents;
  contents.step = clock.step;
  contents.coordinates = coordinates_of(grid);
  contents.coordinates.push_back({"time",
                                  {clock.time},
                                  {{"long_name", std::string("time since the start of the run")},
                                   {"units", std::string("s")}}});
  for (const auto& field : fields) {
    contents.variables.push_back(variable_of(field, grid.layout()));
  }
  contents.attributes = {{"step", clock.step},
                         {"time", clock.time},
                         {"title", title},
                         {"history", std::string("written by tailrace-groundwater")},
                         {"Conventions", std::string("CF-1.11")}};
  series.write(contents);
}

void write_checkpoint(app::CheckpointSeries& series, const Grid& grid, const RunClock& clock,
                      const std::vector<NamedField>& state) {
  if (series.has(clock.step)) return;
  FileContents contents;
  contents.step = clock.step;
  contents.coordinates = coordinates_of(grid);
  std::vector<Layout> layouts;
  for (const auto& field : state) layouts.push_back(layout_of(field, grid));
  for (std::size_t f = 0; f < state.size(); ++f) {
    contents.variables.push_back(variable_of(state[f], layouts[f]));
  }
  contents.attributes = {{"kind", std::string(checkpoint_kind)},
                         {"step", clock.step},
                         {"time", clock.time},
                         {"dt", clock.dt}};
  series.write(contents);
}

RunClock read_checkpoint(const Grid& grid, const std::string& path,
                         std::vector<NamedField>& state) {
  const Input input(grid.comm(), path);
  if (!input.has_attribute("kind") || input.attribute_string("kind") != checkpoint_kind) {
    throw Error(
        Errc::invalid_input,
        fmt::format("{} is not a checkpoint of this program; give a checkpoint_NNNNNN.h5", path));
  }
  const auto names = input.names();
  for (auto& field : state) {
    if (std::find(names.begin(), names.end(), field.name) == names.end()) {
      throw Error(Errc::invalid_input,
                  fmt::format("{} lacks {}: it belongs to a case with other species, or to an "
                              "older version of this program; start a new run",
                              path, field.name));
    }
    const auto found = input.extents(field.name), wanted = extents_of(field, grid);
    if (found != wanted) {
      throw Error(Errc::invalid_input,
                  fmt::format("{}: {} has [{}] items, last along z, y, x; the case has [{}]", path,
                              field.name, fmt::join(found, ", "), fmt::join(wanted, ", ")));
    }
    input.read(field.name, layout_of(field, grid), std::span(field.values));
  }
  return {input.attribute_int("step"), input.attribute_double("time"),
          input.attribute_double("dt")};
}

}  // namespace tailrace::groundwater
