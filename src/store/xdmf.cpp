// SPDX-License-Identifier: BSD-3-Clause
// XDMF 3: https://www.xdmf.org/index.php/XDMF_Model_and_Format
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "core/whole_file.hpp"
#include "store/item_convert.hpp"
#include "store/series_index.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/xdmf.hpp"

namespace tailrace {
namespace {

namespace fs = std::filesystem;

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Grid {
  std::string dimensions;  // "nz ny nx"
  std::string spacing;     // "dz dy dx"
  std::string number;      // attributes of a DataItem: type and precision
};

/// Where a step lies.
struct StepPlace {
  std::string name;              // of the step
  std::string file;              // relative to the folder of the sidecar
  std::ptrdiff_t row = -1;       // along the first axis of the arrays of a file of several steps
  std::ptrdiff_t num_steps = 1;  // in the file
};

/// An array of a step: the whole dataset, or a row of it.
std::string describe_items(const Grid& grid, const StepPlace& place, const std::string& variable,
                           const std::string& indent) {
  const auto of_file = [&](const std::string& dimensions) {
    return fmt::format("<DataItem Dimensions=\"{}\" {} Format=\"HDF\">{}:/{}</DataItem>\n",
                       dimensions, grid.number, escape(place.file), escape(variable));
  };
  if (place.row < 0) return indent + of_file(grid.dimensions);
  return fmt::format(
      "{0}<DataItem ItemType=\"HyperSlab\" Dimensions=\"{1}\" {2}>\n"
      "{0}  <DataItem Dimensions=\"3 4\" Format=\"XML\">{3} 0 0 0 1 1 1 1 1 {1}</DataItem>\n"
      "{0}  {4}"
      "{0}</DataItem>\n",
      indent, grid.dimensions, grid.number, place.row,
      of_file(fmt::format("{} {}", place.num_steps, grid.dimensions)));
}

// The components u, v, w as one vector.
std::string describe_velocity(const Grid& grid, const StepPlace& place) {
  auto text = fmt::format(
      "        <Attribute Name=\"velocity\" AttributeType=\"Vector\" Center=\"Node\">\n"
      "          <DataItem ItemType=\"Function\" Function=\"JOIN($0 , $1 , $2)\" "
      "Dimensions=\"{} 3\">\n",
      grid.dimensions);
  for (const char* name : {"u", "v", "w"}) {
    text += describe_items(grid, place, name, "            ");
  }
  return text + "          </DataItem>\n        </Attribute>\n";
}

bool has_velocity(std::span<const std::string> variables) {
  const std::array<std::string, 3> names{"u", "v", "w"};
  return std::ranges::all_of(names, [&](const auto& name) {
    return std::ranges::find(variables, name) != variables.end();
  });
}

std::string describe_grid(const Grid& grid, const StepPlace& place, double time_s,
                          std::span<const std::string> variables) {
  auto text = fmt::format(
      "      <Grid Name=\"{}\" GridType=\"Uniform\">\n"
      "        <Time Value=\"{}\"/>\n"
      "        <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{}\"/>\n"
      "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
      "          <DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">0 "
      "0 0"
      "</DataItem>\n"
      "          <DataItem Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">{}"
      "</DataItem>\n"
      "        </Geometry>\n",
      escape(place.name), time_s, grid.dimensions, grid.spacing);
  for (const auto& variable : variables) {
    text += fmt::format(
        "        <Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Node\">\n"
        "{}"
        "        </Attribute>\n",
        escape(variable), describe_items(grid, place, variable, "          "));
  }
  if (has_velocity(variables)) text += describe_velocity(grid, place);
  return text + "      </Grid>\n";
}

std::string number_of(ItemType type) {
  const auto name = type_name(type);
  if (name.starts_with("complex")) {
    throw Error(Errc::invalid_input,
                "write_xdmf: XDMF has no complex numbers; show their real and imaginary parts");
  }
  if (type == ItemType::float16) {
    throw Error(Errc::invalid_input, "write_xdmf: XDMF has no numbers of half precision");
  }
  const bool is_signed = !name.starts_with('u');
  const auto kind = name.starts_with("float") ? "Float"
                    : item_bytes(type) == 1   ? (is_signed ? "Char" : "UChar")
                    : is_signed               ? "Int"
                                              : "UInt";
  return fmt::format("NumberType=\"{}\" Precision=\"{}\"", kind, item_bytes(type));
}

/// The steps that have become a part of a file of several steps, as the index `series` says.
std::map<fs::path, StepPlace> merged_steps(const std::string& series) {
  std::map<fs::path, StepPlace> places;
  if (series.empty()) return places;
  const auto list = store::list_of_series(series);
  if (!list) return places;
  const auto folder = fs::absolute(series).parent_path();
  std::map<std::string, std::ptrdiff_t> num_steps;
  for (const auto& step : list->steps) {
    if (step.merged.empty()) continue;
    const auto row = num_steps[step.merged]++;
    places[(folder / step.file).lexically_normal()] = {
        "", (folder / step.merged).lexically_normal().string(), row};
  }
  for (auto& [file, place] : places) {
    // A restart may have left the last steps of the file out of the list, not of the file.
    place.num_steps = std::ssize(store::steps_in_file(place.file));
  }
  return places;
}

}  // namespace

void write_xdmf(const Comm& comm, const std::string& path, std::span<const std::string> files,
                std::span<const double> times_s, std::span<const std::string> variables,
                std::span<const std::ptrdiff_t> extents, std::span<const double> spacing,
                ItemType type, const std::string& series) {
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    if (files.size() != times_s.size() || extents.size() != 3 || spacing.size() != 3) {
      refuse_input(
          "write_xdmf: {} files need one time each (not {}), and extents and spacing 3 numbers "
          "(not {} and {})",
          files.size(), times_s.size(), extents.size(), spacing.size());
    }
    if (files.empty()) return;
    const Grid grid{fmt::format("{}", fmt::join(extents, " ")),
                    fmt::format("{}", fmt::join(spacing, " ")), number_of(type)};
    std::string text =
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE Xdmf SYSTEM \"Xdmf.dtd\" []>\n<Xdmf Version=\"3.0\">\n"
        "  <Domain>\n    <Grid Name=\"time series\" GridType=\"Collection\" "
        "CollectionType=\"Temporal\">\n";
    const auto folder = fs::absolute(path).lexically_normal().parent_path();
    const auto merged = merged_steps(series);
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto own = fs::absolute(files[i]).lexically_normal();
      const auto found = merged.find(own);
      std::error_code ignored;
      if (!series.empty() && found == merged.end() && !fs::exists(own, ignored)) continue;
      auto place = found == merged.end() ? StepPlace{"", own.string()} : found->second;
      place.name = own.stem().string();
      place.file = fs::path(place.file).lexically_relative(folder).string();
      text += describe_grid(grid, place, times_s[i], variables);
    }
    write_whole_file(path, text + "    </Grid>\n  </Domain>\n</Xdmf>\n");
  });
}

}  // namespace tailrace
