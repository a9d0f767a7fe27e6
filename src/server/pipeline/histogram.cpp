// SPDX-License-Identifier: BSD-3-Clause
// How often the values of a variable fall into each of equal bins, as NumPy counts.
#include <algorithm>
#include <cmath>

#include "core/refuse_input.hpp"
#include "core/worker.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"

namespace tailrace::server {
namespace {

/// Counts of the bins, then how many lie below, above, or are not a number.
using Counts = std::vector<double>;

struct Range {
  double min = 0, max = 0;
  bool fixed = false;
};

template <class Item>
void count_items(std::span<const Item> items, const Range& range, Counts& counts) {
  const auto bins = counts.size() - 3;
  const double scale = static_cast<double>(bins) / (range.max - range.min);
  for (const Item item : items) {
    const auto value = static_cast<double>(item);
    if (value >= range.min && value <= range.max) {
      const auto bin = static_cast<std::size_t>((value - range.min) * scale);
      ++counts[std::min(bin, bins - 1)];
    } else {
      ++counts[value < range.min ? bins : value > range.max ? bins + 1 : bins + 2];
    }
  }
}

class HistogramStage : public Stage {
 public:
  explicit HistogramStage(const StageSettings& settings) {
    SettingsReader reader("histogram", settings);
    bins_ = reader.number("bins", 64, 1, 1 << 20);
    range_.fixed = reader.has("min") || reader.has("max");
    if (range_.fixed) {
      reader.required("min");
      reader.required("max");
    }
    range_.min = reader.real("min", 0);
    range_.max = reader.real("max", 0);
    reader.finish();
    if (range_.fixed && range_.min >= range_.max) {
      refuse_input("stage histogram: min={} must be less than max={}", range_.min, range_.max);
    }
  }

  void run(Step& step, StageContext& context) override {
    std::vector<Field> results;
    for (const auto& field : step.fields) results.push_back(histogram(step, field, context));
    step.fields = std::move(results);
  }

 private:
  Range range_of(const Field& field, StageContext& context) const {
    if (range_.fixed) return range_;
    const auto moments = moments_of(field, context.group, context.threads);
    if (!std::isfinite(moments.min) || !std::isfinite(moments.max)) {
      refuse_input("stage histogram: {} holds {}: give min= and max=", field.name,
                   moments.count > 0 ? "values that are not finite" : "no values");
    }
    if (moments.min < moments.max) return {moments.min, moments.max};
    return {moments.min - 0.5, moments.min + 0.5};
  }

  Field histogram(Step& step, const Field& field, StageContext& context) const {
    require_real("histogram", field);
    const auto range = range_of(field, context);
    Counts counts(static_cast<std::size_t>(bins_) + 3);
    std::vector<Counts> of_parts(field.parts.size(), counts);
    parallel_for(static_cast<std::ptrdiff_t>(of_parts.size()), context.threads,
                 [&](std::ptrdiff_t i) {
                   const auto& part = field.parts[static_cast<std::size_t>(i)];
                   visit_real(field.type, [&]<class Item>(Item) {
                     count_items(std::span(reinterpret_cast<const Item*>(part.data),
                                           static_cast<std::size_t>(part.box.num_items())),
                                 range, of_parts[static_cast<std::size_t>(i)]);
                   });
                 });
    for (const auto& other : of_parts) {
      for (std::size_t bin = 0; bin < counts.size(); ++bin) counts[bin] += other[bin];
    }
    context.group.sum(counts);
    return to_field(step, field, range, counts, context.group.rank());
  }

  Field to_field(Step& step, const Field& field, const Range& range, const Counts& counts,
                 int server) const {
    const auto bins = static_cast<std::size_t>(bins_);
    const auto axis = range_.fixed ? std::string("bin") : field.name + "_bin";
    add_centres(step, axis, range);
    std::vector<std::int64_t> whole(counts.size());
    std::transform(counts.begin(), counts.end(), whole.begin(),
                   [](double count) { return std::llround(count); });
    auto result = row_field<std::int64_t>(step, field.name + "_histogram", axis,
                                          std::span(whole).first(bins), server);
    result.attributes = {{"min", range.min},
                         {"max", range.max},
                         {"below", whole[bins]},
                         {"above", whole[bins + 1]},
                         {"not_a_number", whole[bins + 2]}};
    return result;
  }

  void add_centres(Step& step, const std::string& axis, const Range& range) const {
    for (const auto& coordinate : step.coordinates) {
      if (coordinate.name == axis) return;
    }
    Coordinate centres{axis, {}, {}};
    const double width = (range.max - range.min) / static_cast<double>(bins_);
    for (std::int64_t bin = 0; bin < bins_; ++bin) {
      centres.values.push_back(range.min + (static_cast<double>(bin) + 0.5) * width);
    }
    step.coordinates.push_back(std::move(centres));
  }

  std::int64_t bins_ = 0;
  Range range_;
};

}  // namespace

MadeStage make_histogram(const StageSettings& settings) {
  return std::make_unique<HistogramStage>(settings);
}

}  // namespace tailrace::server
