// SPDX-License-Identifier: BSD-3-Clause
// slice axis=z index=10: a plane; slice axis=z start=0 stop=100 step=2: some of them.
#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"

namespace tailrace::server {
namespace {

constexpr auto to_the_end = std::numeric_limits<std::int64_t>::max();

class Slice : public Stage {
 public:
  explicit Slice(const StageSettings& settings) {
    SettingsReader reader("slice", settings);
    axis_ = reader.required("axis");
    plane_ = reader.has("index");
    if (plane_ && (reader.has("start") || reader.has("stop") || reader.has("step"))) {
      throw Error(Errc::invalid_input,
                  "stage slice: give index, or start, stop and step, but not both");
    }
    // Places from the end are negative.
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    start_ = reader.number(plane_ ? "index" : "start", 0, least);
    if (!plane_) {
      stop_ = reader.number("stop", to_the_end, least);
      step_ = reader.number("step", 1, 1);
    }
    reader.finish();
  }

  void run(Step& step, StageContext&) override {
    std::ptrdiff_t extent = -1;
    for (const auto& field : step.fields) {
      if (const int axis = axis_of(field, axis_); axis >= 0) {
        extent = field.extents[static_cast<std::size_t>(axis)];
        if (plane_ && field.num_dims() == 1) refuse_one_axis(field);
      }
    }
    if (extent < 0) refuse_axis(step);
    const auto chosen = selection(extent);
    const auto coordinate = std::ranges::find(step.coordinates, axis_, &Coordinate::name);
    const bool has_values = coordinate != step.coordinates.end();
    if (has_values) select_values(*coordinate, chosen);
    for (auto& field : step.fields) {
      const int axis = axis_of(field, axis_);
      if (axis < 0) continue;
      std::vector<AxisSelection> axes;
      for (int d = 0; d < field.num_dims(); ++d) {
        axes.push_back(d == axis ? chosen
                                 : AxisSelection{0, field.extents[static_cast<std::size_t>(d)], 1});
      }
      field = select_items(step, field, axes);
      if (!plane_) continue;
      drop_axis(field, static_cast<std::size_t>(axis));
      if (has_values) field.attributes.emplace_back(axis_, first_of(*coordinate));
    }
    if (plane_ && has_values) step.coordinates.erase(coordinate);
  }

 private:
  AxisSelection selection(std::ptrdiff_t extent) const {
    if (plane_) {
      const auto index = start_ < 0 ? start_ + extent : start_;
      if (index < 0 || index >= extent) {
        refuse_input("index = {} must be {} to {}: axis {} has {} items", start_, -extent,
                     extent - 1, axis_, extent);
      }
      return {index, index + 1, 1};
    }
    const auto place = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent);
    };
    const AxisSelection chosen{place(start_), place(stop_), step_};
    if (chosen.count() == 0) {
      refuse_input("start = {} and stop = {} leave nothing of axis {}, which has {} items", start_,
                   stop_, axis_, extent);
    }
    return chosen;
  }

  /// The only value that is left, of its own type.
  static AttributeValue first_of(const Coordinate& coordinate) {
    if (!coordinate.typed) return coordinate.values.front();
    return std::visit(
        [](const auto& held) -> AttributeValue {
          if constexpr (is_attribute_list<decltype(held)>) {
            return static_cast<AttributeItem<decltype(held)>>(held.front());
          } else {
            return held;
          }
        },
        *coordinate.typed);
  }

  static void drop_axis(Field& field, std::size_t axis) {
    const auto drop = [&](Index& index) {
      std::shift_left(index.begin() + static_cast<std::ptrdiff_t>(axis), index.end(), 1);
      index.back() = 0;
    };
    field.dims.erase(field.dims.begin() + static_cast<std::ptrdiff_t>(axis));
    drop(field.extents);
    for (auto& part : field.parts) {
      --part.box.num_dims;
      drop(part.box.start);
      drop(part.box.extents);
    }
  }

  [[noreturn]] void refuse_axis(const Step& step) const {
    std::string axes;
    for (const auto& field : step.fields) {
      axes += fmt::format(" {}({})", field.name, fmt::join(field.dims, ", "));
    }
    refuse_input("no variable has the axis {}; there are:{}", axis_, axes);
  }
  [[noreturn]] void refuse_one_axis(const Field& field) const {
    refuse_input("index would leave {} without an axis: use start and stop", field.name);
  }

  std::string axis_;
  bool plane_ = false;
  std::int64_t start_ = 0, stop_ = to_the_end, step_ = 1;
};

}  // namespace

MadeStage make_slice(const StageSettings& settings) { return std::make_unique<Slice>(settings); }

}  // namespace tailrace::server
