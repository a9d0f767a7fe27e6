// SPDX-License-Identifier: BSD-3-Clause
#include "server/pipeline/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/agreed_error.hpp"
#include "core/method_table.hpp"
#include "core/refuse_input.hpp"
#include "server/group.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "server/pipeline/table_file.hpp"
#include "server/step_file.hpp"
#include "store/attribute_values.hpp"
#include "store/item_convert.hpp"

namespace tailrace::server {
namespace {

/// What a step adds to the table of its product.
struct TableLines {
  std::string header;
  std::string lines;  ///< empty: nothing
};

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
    const auto time = store::number_of(value);
    if (name != "time" || !time) continue;
    header += ",time";
    line += fmt::format(",{}", number_text(*time));
  }
}

/// The items of a field of one axis, as numbers, on every server.
std::vector<double> whole_row(const Field& field, Group& group) {
  std::vector<std::pair<std::ptrdiff_t, std::vector<double>>> own;  // of each part
  for (const auto& part : field.parts) {
    visit_real(field.type, [&]<class Item>(Item) {
      const auto* items = reinterpret_cast<const Item*>(part.data);
      own.push_back({part.box.start[0], {items, items + part.box.extents[0]}});
    });
  }
  std::vector<double> row(static_cast<std::size_t>(field.extents[0]), std::nan(""));
  for (const auto& parts : group.gather_values(own)) {
    for (const auto& [start, values] : parts) std::ranges::copy(values, row.begin() + start);
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
    refuse_input(
        "{} cannot be a column of a table: only scalars, and arrays of one common axis of up to "
        "2^20 real numbers; choose a path ending in .h5",
        field.name);
  }
}

/// "step,time,u_mean,..." and one line. `time` is there if the step has such an attribute. Local.
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

/// "step,time,k,E": a line for each item of the step's fields, which must be of one axis and, all
/// together, at most 2^20 items; their coordinate is a column if there is one. Throws
/// `Errc::invalid_input`. Collective over the servers.
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
    if (coordinate.name != axis || !store::array_of(coordinate).type) continue;
    places = store::doubles_of(coordinate);
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

/// Stages compute with float32 where a field has float16.
void widen_halves(Step& step) {
  for (auto& field : step.fields) {
    if (field.type != ItemType::float16) continue;
    for (auto& part : field.parts) {
      const auto count = part.box.num_items();
      auto* data = add_memory(step, count * item_bytes(ItemType::float32));
      store::convert_items(field.type, ItemType::float32, part.data, count, data);
      part.data = data;
    }
    field.type = ItemType::float32;
  }
}

/// Coordinates of several axes, or of another's, do not follow a stage that has changed the axes.
void leave_out_misfits(Step& step) {
  std::erase_if(step.coordinates, [&](const Coordinate& coordinate) {
    if (coordinate.dims.empty() || store::is_axis(coordinate)) return false;
    const auto array = store::array_of(coordinate);
    const auto fits = [&](std::size_t d) {
      return std::ranges::any_of(step.fields, [&](const Field& field) {
        const int axis = axis_of(field, array.dims[d]);
        return axis >= 0 && field.extents[static_cast<std::size_t>(axis)] == array.extents[d];
      });
    };
    for (std::size_t d = 0; d < array.dims.size(); ++d) {
      if (!fits(d)) return true;
    }
    return false;
  });
}

/// `path` without the suffix of a format; other dots ("t_0.25") belong to the name.
std::string without_suffix(const std::string& path) {
  const auto suffix = std::filesystem::path(path).extension();
  bool known = suffix == ".hdf5";
  for (const auto& format : format_table()) known = known || suffix == format.suffix;
  return known ? std::filesystem::path(path).replace_extension().string() : path;
}

/// `pattern` with "{path}", "{name}" and "{step}" filled in; other braces are refused.
std::string fill(const std::string& pattern, const std::string& path, const std::string& name,
                 std::int64_t step) {
  std::string text;
  for (std::size_t at = 0; at < pattern.size();) {
    const auto open = std::min(pattern.find('{', at), pattern.size());
    text += pattern.substr(at, open - at);
    if (open == pattern.size()) break;
    const auto close = std::min(pattern.find('}', open), pattern.size() - 1);
    const auto word = pattern.substr(open, close - open + 1);
    if (word == "{path}") {
      text += without_suffix(path);
    } else if (word == "{name}") {
      text += name;
    } else if (word == "{step}") {
      text += fmt::format("{:06}", step);
    } else {
      refuse_input("product {}: {} in its path {} must be {{path}}, {{name}} or {{step}}", name,
                   word, pattern);
    }
    at = close + 1;
  }
  return text;
}

bool is_table(const std::string& path) { return path.ends_with(".csv"); }

void check(const Product& product) {
  if (product.name.empty() || product.name.find('/') != std::string::npos) {
    refuse_input("the name \"{}\" of a product must not be empty and must have no /", product.name);
  }
  if (product.every < 1) {
    refuse_input("product {}: every is {}: it must be at least 1", product.name, product.every);
  }
  const auto path = fill(product.path, "a/b.h5", product.name, 0);
  if (path.empty()) refuse_input("product {} needs a path", product.name);
  if (!is_table(path)) find_format(product.format, path);
  if (is_table(path) && product.format != "auto") {
    refuse_input("product {}: format {} and a path ending in .csv contradict each other",
                 product.name, product.format);
  }
}

}  // namespace

/// A product and its state.
class Pipeline::Line {
 public:
  Line(Product product, const StageFunctions& functions) : product_(std::move(product)) {
    check(product_);
    for (const auto& text : product_.stages) {
      try {
        stages_.push_back(make_stage(text, functions));
      } catch (const Error& error) {
        throw about("product " + product_.name, error);
      }
    }
  }

  const Product& product() const { return product_; }
  bool due(const Step& input) const { return input.number % product_.every == 0; }

  /// Throws alike on all servers.
  void run(const Step& input, Group& group, int threads, std::vector<Result>& results) {
    place_.clear();
    GuardedGroup guarded(group);
    try {
      run_stages(input, guarded, threads, results);
    } catch (const Error& error) {
      throw about(
          fmt::format("product {}{} of {}, step {}", product_.name, place_, input.path, input.step),
          error);
    }
  }

 private:
  void run_stages(const Step& input, GuardedGroup& group, int threads,
                  std::vector<Result>& results) {
    Step step;
    group.run([&] { step = chosen(input); });
    Scalars scalars;
    StageContext context{group, threads, product_.name, &scalars};
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      place_ = fmt::format(", stage \"{}\"", product_.stages[i]);
      scalars.only = false;
      group.run([&] {
        if (stages_[i]->computes()) widen_halves(step);
        stages_[i]->run(step, context);
      });
    }
    place_ = "";
    if (scalars.only) step.fields.clear();
    leave_out_misfits(step);
    group.run([&] { put_table(step, scalars, group); });
    if (step.fields.empty() || is_table(step.path)) return;
    results.push_back({std::move(step), product_.format});
  }

  /// A copy of `input` with the product's variables and path.
  Step chosen(const Step& input) const {
    Step step = input;
    step.path = fill(product_.path, input.path, product_.name, input.step);
    if (product_.variables.empty()) return step;
    step.fields.clear();
    for (const auto& name : product_.variables) {
      const auto found = std::find_if(input.fields.begin(), input.fields.end(),
                                      [&](const Field& field) { return field.name == name; });
      if (found == input.fields.end()) refuse_variable(name, input);
      step.fields.push_back(*found);
    }
    return step;
  }

  [[noreturn]] void refuse_variable(const std::string& name, const Step& input) const {
    if (input.fields.empty()) refuse_input("no variable {}: there are none", name);
    refuse_input("no variable {}; there are {}", name, names_instead(name, input.fields, ""));
  }

  void put_table(const Step& step, const Scalars& scalars, Group& group) {
    TableLines table;
    auto path = step.path;
    if (!scalars.values.empty()) {
      table = scalar_lines(step, scalars);
      if (!is_table(path)) {
        path = (std::filesystem::path(path).parent_path() / (product_.name + ".csv")).string();
      }
      if (is_table(step.path) && !step.fields.empty()) {
        refuse_input(
            "a table holds scalars or arrays, not both: the last stage must be the one whose "
            "result is written");
      }
    } else if (is_table(path)) {
      table = field_lines(step, group);
    }
    if (group.rank() == 0 && !table.lines.empty()) {
      table_.put(path, table.header, step.step, table.lines);
    }
  }

  Product product_;
  std::vector<std::unique_ptr<Stage>> stages_;
  TableFile table_;    // server 0
  std::string place_;  // of the stage that runs, for messages
};

Pipeline::Pipeline(std::vector<Product> products, const StageFunctions& functions) {
  std::set<std::string> names, paths;
  for (auto& product : products) {
    if (!names.insert(product.name).second) {
      refuse_input("two products are called {}", product.name);
    }
    lines_.emplace_back(std::move(product), functions);
    const auto& made = lines_.back().product();
    if (!paths.insert(fill(made.path, "{path}", made.name, 0)).second) {
      refuse_input("product {} would write the same files ({}) as another one", made.name,
                   made.path);
    }
  }
}

Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;

void Pipeline::run(const Step& input, Group& group, int threads, std::vector<Result>& results,
                   std::vector<Failure>& failures) {
  for (auto& line : lines_) {
    if (!line.due(input)) continue;
    try {
      line.run(input, group, threads, results);
    } catch (const Error& error) {
      failures.push_back({line.product().name, error});
    }
  }
}

}  // namespace tailrace::server
