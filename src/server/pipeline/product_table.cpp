// SPDX-License-Identifier: BSD-3-Clause
#include "product_table.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/bytes.hpp"
#include "server/pipeline/visit.hpp"

namespace tailrace::server {

namespace {

/// The shortest text that reads back as the same number; whole numbers without an exponent.
std::string number_text(double value) {
  if (value == std::nearbyint(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string quoted_name(const std::string& name) {
  if (name.find_first_of(",\"\n") == std::string::npos) return name;
  std::string text = "\"";
  for (const char letter : name) {
    if (letter == '"') text += '"';
    text += letter == '\n' ? ' ' : letter;
  }
  return text + "\"";
}

/// The columns that every table begins with.
void begin(const Step& step, std::string& header, std::string& line) {
  header = "step";
  line = fmt::format("{}", step.step);
  for (const auto& [name, value] : step.attributes) {
    const auto* time = std::get_if<double>(&value);
    if (name != "time" || time == nullptr) continue;
    header += ",time";
    line += fmt::format(",{}", number_text(*time));
  }
}

/// The items of a field of one axis, as numbers, on every server.
std::vector<double> whole_row(const Field& field, Group& group) {
  ByteWriter out;
  for (const auto& part : field.parts) {
    out.put(part.box.start[0]);
    out.put(part.box.extents[0]);
    visit_real(field.type, [&]<class Item>(Item) {
      for (std::ptrdiff_t i = 0; i < part.box.extents[0]; ++i) {
        out.put(static_cast<double>(reinterpret_cast<const Item*>(part.data)[i]));
      }
    });
  }
  std::vector<double> row(static_cast<std::size_t>(field.extents[0]), std::nan(""));
  for (const auto& bytes : group.gather(out.take())) {
    for (ByteReader in(bytes); !in.at_end();) {
      const auto start = static_cast<std::size_t>(in.get<std::ptrdiff_t>());
      const auto count = static_cast<std::size_t>(in.get<std::ptrdiff_t>());
      for (std::size_t i = 0; i < count; ++i) row.at(start + i) = in.get<double>();
    }
  }
  return row;
}

void require_rows(const Step& step) {
  const auto& first = step.fields.front();
  for (const auto& field : step.fields) {
    const bool fits = field.num_dims() == 1 && !is_complex(field.type) &&
                      field.dims == first.dims && field.extents[0] == first.extents[0] &&
                      field.extents[0] <= (1 << 20);
    if (fits) continue;
    throw Error(Errc::invalid_input,
                fmt::format("{} cannot be a column of a table: only scalars, and arrays of one "
                            "common axis of up to 2^20 real numbers; choose a path ending in .h5",
                            field.name));
  }
}

}  // namespace

TableLines scalar_lines(const Step& step, const Scalars& scalars) {
  TableLines table;
  begin(step, table.header, table.lines);
  for (const auto& [name, value] : scalars.values) {
    table.header += fmt::format(",{}", quoted_name(name));
    table.lines += fmt::format(",{}", number_text(value));
  }
  table.lines += "\n";
  return table;
}

TableLines field_lines(const Step& step, Group& group) {
  TableLines table;
  if (step.fields.empty()) return table;
  require_rows(step);
  std::string head;
  begin(step, table.header, head);
  const auto& axis = step.fields.front().dims[0];
  table.header += fmt::format(",{}", quoted_name(axis));
  std::vector<double> places;
  for (const auto& coordinate : step.coordinates) {
    if (coordinate.name == axis) places = coordinate.values;
  }
  std::vector<std::vector<double>> columns;
  for (const auto& field : step.fields) {
    table.header += fmt::format(",{}", quoted_name(field.name));
    columns.push_back(whole_row(field, group));
  }
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    const double place = i < places.size() ? places[i] : static_cast<double>(i);
    table.lines += fmt::format("{},{}", head, number_text(place));
    for (const auto& column : columns) table.lines += fmt::format(",{}", number_text(column[i]));
    table.lines += "\n";
  }
  return table;
}

}  // namespace tailrace::server
