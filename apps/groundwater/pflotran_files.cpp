// SPDX-License-Identifier: BSD-3-Clause
#include "pflotran_files.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tailrace::groundwater {

namespace {

constexpr double pressure_at_zero = 101325;  ///< where the pressure head is 0 [Pa]
constexpr double weight = 997.16 * 9.8068;   ///< of water [N/m^3], as PFLOTRAN has it

double seconds_in(const std::string& unit) {
  if (unit == "s") return 1;
  if (unit == "h") return 3600;
  return unit == "d" ? 86400 : 365.0 * 86400;  // PFLOTRAN's year
}

/// Gives a field PFLOTRAN's name and unit.
void convert(NamedField& field, const Case& values) {
  double factor = 1, offset = 0;
  const auto& unit = values.output.time_unit;
  const auto cut = [&](std::size_t start, std::string_view end) {
    return field.name.substr(start, field.name.size() - start - end.size());
  };
  if (field.name == "pressure_head") {
    field.name = "Liquid_Pressure [Pa]";
    factor = weight;
    offset = pressure_at_zero;
  } else if (field.name == "saturation") {
    field.name = "Liquid_Saturation";
  } else if (field.name == "material") {
    field.name = "Material_ID";
  } else if (field.name == "conductivity") {
    field.name = "Permeability_X [m^2]";
    factor = 1 / values.cells.mobility;
  } else if (field.name.starts_with("flux_")) {
    const char letter = "XYZ"[field.name.back() - 'x'];
    field.name = fmt::format("Liquid {}-Velocity [m_per_{}]", letter, unit);
    factor = seconds_in(unit);
  } else if (field.name.starts_with("total_")) {
    field.name = fmt::format("Total_{} [M]", cut(6, ""));
  } else if (field.name.ends_with("_volume_fraction")) {
    field.name = fmt::format("{}_VF [m^3 mnrl_m^3 bulk]", cut(0, "_volume_fraction"));
  } else if (field.unit != "1") {
    field.name += fmt::format(" [{}]", field.unit);
  }
  std::ranges::replace(field.name, '/', '_');
  for (double& value : field.values) value = offset + factor * value;
}

/// The layout of the own cells with the axes (x, y, z).
Layout turned(const Layout& layout) {
  const auto turn = [](const Index& index) { return Index{index[2], index[1], index[0]}; };
  std::vector<std::vector<Box>> boxes;
  for (int rank = 0; rank < layout.num_ranks(); ++rank) {
    boxes.emplace_back();
    for (const auto& box : layout.boxes(rank)) {
      boxes.back().push_back({3, turn(box.start), turn(box.extents)});
    }
  }
  const auto extents = turn(layout.global_extents());
  return from_boxes(std::span(extents).first(3), std::move(boxes));
}

/// The memory of arrays of axes (z, y, x), for boxes with the axes (x, y, z).
Memory turned_memory(std::span<const Box> boxes) {
  Memory memory;
  for (const auto& box : boxes) {
    const auto [nx, ny, nz] = std::array{box.extents[0], box.extents[1], box.extents[2]};
    memory.boxes.push_back({memory.num_items, {1, nx, nx * ny}});
    memory.num_items += nx * ny * nz;
  }
  return memory;
}

}  // namespace

void write_pflotran_file(app::FileSeries& series, const Grid& grid, const Case& values,
                         const RunClock& clock, std::vector<NamedField> fields) {
  const Layout layout = turned(grid.layout());
  const Memory memory = turned_memory(layout.boxes(grid.comm().rank()));
  const auto& unit = values.output.time_unit;
  const auto group = fmt::format("Time:{:13.5E} {}", clock.time / seconds_in(unit), unit);
  FileContents contents;
  contents.step = clock.step;
  contents.scales = false;
  contents.group_attributes = {{group, {{"Time (s)", std::vector<double>{clock.time}}}}};
  contents.attributes = {{"step", clock.step}, {"time", clock.time}};
  for (int d = 2; d >= 0; --d) {
    const auto& walls = grid.axis(d).walls;
    contents.coordinates.push_back({fmt::format("Coordinates/{} [m]", "ZYX"[d]), walls, {}});
  }
  std::vector<std::int32_t> materials;
  for (auto& field : fields) {
    convert(field, values);
    const bool whole_numbers = field.name == "Material_ID";
    if (whole_numbers) materials.assign(field.values.begin(), field.values.end());
    contents.variables.push_back(
        {group + "/" + field.name,
         whole_numbers ? ItemType::int32 : ItemType::float64,
         {"x", "y", "z"},
         &layout,
         memory,
         whole_numbers ? static_cast<const void*>(materials.data()) : field.values.data()});
  }
  series.write(contents);
}

}  // namespace tailrace::groundwater
