// SPDX-License-Identifier: BSD-3-Clause
// Statistics over space: a number or two of each variable, for the product's table.
#include <fmt/format.h>

#include "entries.hpp"
#include "moments.hpp"
#include "settings.hpp"
#include "visit.hpp"

namespace tailrace::server {

namespace {

struct Column {
  const char* suffix;
  double (*value)(const Moments& moments);
};

class SpaceStage : public Stage {
 public:
  SpaceStage(const char* name, std::vector<Column> columns)
      : name_(name), columns_(std::move(columns)) {}

  void run(Step& step, StageContext& context) override {
    for (const auto& field : step.fields) {
      require_real(name_, field);
      const auto moments = moments_of(field, context.group, context.threads);
      for (const auto& column : columns_) {
        context.scalars->values.emplace_back(field.name + column.suffix, column.value(moments));
      }
    }
    context.scalars->only = true;
  }

 private:
  const char* name_;
  std::vector<Column> columns_;
};

MadeStage make(const char* name, const StageSettings& settings, std::vector<Column> columns) {
  SettingsReader(name, settings).finish();
  return std::make_unique<SpaceStage>(name, std::move(columns));
}

double or_nan(const Moments& moments, double value) {
  return moments.count > 0 ? value : std::nan("");
}

}  // namespace

MadeStage make_mean(const StageSettings& settings) {
  return make("mean", settings,
              {{"_mean", [](const Moments& moments) { return or_nan(moments, moments.mean); }}});
}

MadeStage make_sum(const StageSettings& settings) {
  return make("sum", settings, {{"_sum", [](const Moments& moments) { return moments.sum; }}});
}

MadeStage make_minmax(const StageSettings& settings) {
  return make("minmax", settings,
              {{"_min", [](const Moments& moments) { return or_nan(moments, moments.min); }},
               {"_max", [](const Moments& moments) { return or_nan(moments, moments.max); }}});
}

MadeStage make_variance(const StageSettings& settings) {
  return make("variance", settings,
              {{"_variance", [](const Moments& moments) { return moments.variance(); }}});
}

}  // namespace tailrace::server
