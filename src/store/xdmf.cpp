// SPDX-License-Identifier: BSD-3-Clause
// XDMF 3: https://www.xdmf.org/index.php/XDMF_Model_and_Format
#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "core/whole_file.hpp"
#include "store/item_convert.hpp"
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

// The components u, v, w as one vector.
std::string describe_velocity(const Grid& grid, const std::string& file) {
  auto text = fmt::format(
      "        <Attribute Name=\"velocity\" AttributeType=\"Vector\" Center=\"Node\">\n"
      "          <DataItem ItemType=\"Function\" Function=\"JOIN($0 , $1 , $2)\" "
      "Dimensions=\"{} 3\">\n",
      grid.dimensions);
  for (const char* name : {"u", "v", "w"}) {
    text +=
        fmt::format("            <DataItem Dimensions=\"{}\" {} Format=\"HDF\">{}:/{}</DataItem>\n",
                    grid.dimensions, grid.number, escape(file), name);
  }
  return text + "          </DataItem>\n        </Attribute>\n";
}

bool has_velocity(std::span<const std::string> variables) {
  const std::array<std::string, 3> names{"u", "v", "w"};
  return std::ranges::all_of(names, [&](const auto& name) {
    return std::ranges::find(variables, name) != variables.end();
  });
}

std::string describe_grid(const Grid& grid, const std::string& file, double time_s,
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
      escape(fs::path(file).stem().string()), time_s, grid.dimensions, grid.spacing);
  for (const auto& variable : variables) {
    text += fmt::format(
        "        <Attribute Name=\"{0}\" AttributeType=\"Scalar\" Center=\"Node\">\n"
        "          <DataItem Dimensions=\"{1}\" {2} Format=\"HDF\">{3}:/{0}</DataItem>\n"
        "        </Attribute>\n",
        escape(variable), grid.dimensions, grid.number, escape(file));
  }
  if (has_velocity(variables)) text += describe_velocity(grid, file);
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

}  // namespace

void write_xdmf(const Comm& comm, const std::string& path, std::span<const std::string> files,
                std::span<const double> times_s, std::span<const std::string> variables,
                std::span<const std::ptrdiff_t> extents, std::span<const double> spacing,
                ItemType type) {
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    if (files.size() != times_s.size() || extents.size() != 3 || spacing.size() != 3) {
      refuse_input(
          "write_xdmf: {} files need as many times (not {}), and extents and spacing 3 numbers "
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
    const auto folder = fs::absolute(path).parent_path();
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto file =
          fs::absolute(files[i]).lexically_normal().lexically_relative(folder.lexically_normal());
      text += describe_grid(grid, file.string(), times_s[i], variables);
    }
    write_whole_file(path, text + "    </Grid>\n  </Domain>\n</Xdmf>\n");
  });
}

}  // namespace tailrace
