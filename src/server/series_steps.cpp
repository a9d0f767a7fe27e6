// SPDX-License-Identifier: BSD-3-Clause
#include "server/series_steps.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "chooser/absolute_path.hpp"
#include "core/refuse_input.hpp"
#include "core/say.hpp"
#include "server/formats/zarr_series.hpp"
#include "server/hdf5_series.hpp"
#include "server/series_writer.hpp"
#include "server/step_file.hpp"
#include "store/attribute_values.hpp"
#include "store/series_index.hpp"
#include "store/series_links.hpp"
#include "tailrace/log.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::server {
namespace {

using store::step_name;
using store::time_name;

const Coordinate* find(const FileContents& contents, const std::string& name) {
  const auto found = std::ranges::find(contents.coordinates, name, &Coordinate::name);
  return found == contents.coordinates.end() ? nullptr : &*found;
}

bool has_axis(const FileContents& contents, const std::string& name) {
  return std::ranges::any_of(contents.variables, [&](const Variable& variable) {
    return std::ranges::find(variable.dims, name) != variable.dims.end();
  });
}

double time_of(const FileContents& contents) {
  const auto given =
      std::ranges::find(contents.attributes, time_name, &Attributes::value_type::first);
  std::optional<double> time;
  if (given != contents.attributes.end()) time = store::number_of(given->second);
  return time.value_or(static_cast<double>(contents.step));
}

std::ptrdiff_t extent(const Variable& variable, std::size_t axis) {
  return variable.layout->global_extents()[axis];
}

/// A coordinate that is the same in all steps.
std::string line_of(const Coordinate& coordinate) {
  const auto array = store::array_of(coordinate);
  std::string texts;
  for (const auto& text : array.texts) texts.append(text.c_str(), text.size() + 1);
  const auto bytes =
      array.type ? static_cast<std::size_t>(array.count * item_bytes(*array.type)) : texts.size();
  const void* data = array.type ? static_cast<const void*>(array.data) : texts.data();
  auto line = fmt::format("coordinate {} ({}) of {} items (digest {:016x})", coordinate.name,
                          array.type ? type_name(*array.type) : "text", array.count,
                          XXH3_64bits(data, bytes));
  if (!store::is_axis(coordinate)) line += fmt::format(" along {}", fmt::join(array.dims, ", "));
  return line;
}

/// What all steps of a series have in common, a line for each array.
std::vector<std::string> form_of(const FileContents& contents) {
  std::vector<std::string> lines;
  for (const auto& variable : contents.variables) {
    const auto extents = std::span(variable.layout->global_extents())
                             .first(static_cast<std::size_t>(variable.layout->num_dims()));
    lines.push_back(fmt::format("variable {} ({}) of {} items along {}", variable.name,
                                type_name(variable.type), fmt::join(extents, " x "),
                                fmt::join(variable.dims, ", ")));
  }
  for (const auto& coordinate : contents.coordinates) {
    if (store::varies_with_time(coordinate)) {
      lines.push_back(fmt::format("coordinate {} ({}) of one item", coordinate.name,
                                  type_name(*store::numbers_of(coordinate).type)));
      continue;
    }
    lines.push_back(line_of(coordinate));
  }
  return lines;
}

std::string digest_of(const std::vector<std::string>& form) {
  const auto text = fmt::format("{}", fmt::join(form, "\n"));
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace

SeriesSteps::SeriesSteps(const OutputOptions& options)
    : setting_(parse_series(options.series)),
      series_(setting_.path),
      format_(options.format),
      encoding_(
          fmt::format("compress = \"{}\", checksums = {}", options.compress, options.checksums)) {
  const std::string_view of_series = find_format("auto", series_).name;
  if (of_series == "netcdf") {
    refuse_input(
        "output: series = \"{}\": a series is an HDF5 file (.h5) or a Zarr store (.zarr); give it "
        "another suffix",
        series_);
  }
  if (format_ != "auto" && format_ != of_series) {
    refuse_input("output: series = \"{}\" needs format = \"{}\", not \"{}\"", series_, of_series,
                 format_);
  }
  if (!options.variables) {
    refuse_input("output: a series shows the variables, so variables = false is not possible");
  }
  if (is_zarr_series(series_)) {
    if (setting_.steps_per_file > 1) {
      refuse_input(
          "output: steps_per_file needs a series of HDF5 files; each step of a series of Zarr "
          "stores stays in a separate store");
    }
    if (options.when_full == WhenFull::lower) {
      refuse_input(
          "output: a series of Zarr stores cannot be used with when_full = \"lower\": steps of "
          "other "
          "types cannot be in one array");
    }
  }
  if (setting_.steps_per_file == 1) return;
  if (options.strategy == "file_per_rank") {
    refuse_input(
        "output: steps_per_file of series cannot be used with strategy = \"file_per_rank\"");
  }
  if (options.when_full == WhenFull::lower) {
    refuse_input(
        "output: steps_per_file of series cannot be used with when_full = \"lower\": steps "
        "of other types cannot be in one file");
  }
}

const FileContents& SeriesSteps::with_time(const FileContents& given) {
  if (given.fault) return given;
  made_ = given;
  if (find(given, time_name) == nullptr) {
    Coordinate time{time_name, {}, {{"axis", std::string("T")}}};
    if (has_axis(given, time_name)) {
      time.values = {time_of(given)};
    } else {
      time.typed = time_of(given);
    }
    made_.coordinates.push_back(std::move(time));
  }
  if (find(given, step_name) == nullptr) {
    made_.coordinates.push_back(
        {step_name, {}, {{"long_name", std::string("number of the step")}}, given.step});
  }
  return made_;
}

void SeriesSteps::require_room_for_time(const FileContents& contents) const {
  for (const auto* name : {time_name, step_name}) {
    const auto values = store::numbers_of(*find(contents, name));
    const bool real = !type_name(*values.type).starts_with("complex");
    if (values.count == 1 && real) continue;
    refuse_input("series {}: the coordinate {} of a step must be one real number, not {} of {}",
                 series_, name, values.count, type_name(*values.type));
  }
  if (store::doubles_of(*find(contents, step_name)).front() != static_cast<double>(contents.step)) {
    refuse_input("series {}: the coordinate step must be the number of the step, which is {}",
                 series_, contents.step);
  }
  for (const auto& coordinate : contents.coordinates) {
    const bool is_time = coordinate.name == time_name;
    if (is_time || std::ranges::find(coordinate.dims, time_name) == coordinate.dims.end()) continue;
    refuse_input("series {}: coordinate {} lies along time; make it a variable", series_,
                 coordinate.name);
  }
  for (const auto& variable : contents.variables) {
    const auto& dims = variable.dims;
    const auto refuse = [&](const std::string& why) {
      refuse_input("series {}: variable {}: {}", series_, variable.name, why);
    };
    if (dims.empty()) refuse("it has no axis");
    if (setting_.steps_per_file > 1 || is_zarr_series(series_)) {
      const bool has_time = dims.front() == time_name;
      if (std::ssize(dims) + (has_time ? 0 : 1) > max_dims) {
        refuse(fmt::format("it has too many axes for {}",
                           is_zarr_series(series_) ? "a series of Zarr stores" : "steps_per_file"));
      }
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (extent(variable, d) == 0) refuse(fmt::format("axis {} has no items", dims[d]));
      if (dims[d] == step_name) refuse("an axis may not be named step");
      if (dims[d] == time_name && d > 0) refuse("the axis time must be the first");
      if (dims[d] == time_name && extent(variable, d) != 1) refuse("a step has one time");
    }
    if (dims.front() == variable.name && dims.size() > 1) {
      refuse("it has the name of its first axis, and other axes");
    }
  }
}

void SeriesSteps::require_order(const std::string& path, const FileContents& contents) const {
  if (!last_) return;
  const auto& [step, file] = *last_;
  const bool again = contents.step == step && path == file;
  if (!again && contents.step <= step) {
    refuse_input(
        "series {}: step {} ({}) comes after step {} ({}): the step numbers of a series must "
        "increase; set `step`",
        series_, contents.step, path, step, file);
  }
  if (!again && path == file) {
    refuse_input("series {}: steps {} and {} would be the same file {}", series_, step,
                 contents.step, path);
  }
}

void SeriesSteps::require_same_form(const FileContents& contents) const {
  if (!last_) return;
  const auto form = form_of(contents);
  const auto [now, before] = std::ranges::mismatch(form, form_);
  if (now == form.end() && before == form_.end()) return;
  const auto line = [](auto at, const auto& lines) { return at == lines.end() ? "nothing" : *at; };
  refuse_input(
      "series {}: step {} must hold the same arrays as the steps before: it has {}, not {}",
      series_, contents.step, line(now, form), line(before, form_));
}

std::optional<Error> SeriesSteps::check(const std::string& path,
                                        const FileContents& contents) const {
  return failure_of([&] {
    const auto& wanted = find_format("auto", series_);
    if (find_format(format_, path).name != std::string_view(wanted.name)) {
      refuse_input("series {}: its steps must be of format {}, and {} is not", series_, wanted.name,
                   path);
    }
    if (absolute_path(path) == series_) {
      refuse_input("series {}: a step cannot be the file of the series", series_);
    }
    require_room_for_time(contents);
    require_order(path, contents);
    require_same_form(contents);
  });
}

store::BegunSeries SeriesSteps::begin_index(const std::string& path, const FileContents& contents,
                                            const std::string& form) const {
  if (is_zarr_series(series_)) {
    return begin_zarr_series(series_, path, contents, form, encoding_);
  }
  auto done = store::begin_series(series_, path, contents, form);
  save_series_contents(series_, contents);
  return done;
}

void SeriesSteps::begin(const std::string& path, const FileContents& contents) const {
  const auto form = digest_of(form_of(contents));
  const auto done = begin_index(absolute_path(path), contents, form);
  if (done.is_other) {
    say(LogLevel::warning,
        fmt::format("{}: the steps before step {} hold other arrays or coordinates, and were "
                    "removed from the series; their files stay",
                    series_, contents.step));
  }
  if (!done.moved.empty()) {
    say(LogLevel::info,
        fmt::format(
            "{}: step {} replaces later steps of an earlier run; their files were moved to {}: {}",
            series_, contents.step, done.folder, done.moved.size()));
  }
  for (const auto& failed : done.failed) {
    say(LogLevel::warning, fmt::format("{}: this file of an earlier run was removed from the "
                                       "series, but cannot be moved to {}: {}",
                                       series_, done.folder, failed));
  }
}

void SeriesSteps::note(const std::string& path, const FileContents& contents) {
  if (!last_) form_ = form_of(contents);
  last_ = {contents.step, path};
}

}  // namespace tailrace::server
