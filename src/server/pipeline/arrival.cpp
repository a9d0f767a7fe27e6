// SPDX-License-Identifier: BSD-3-Clause
// When each item first reached a value: linear between the steps, so exact to the second order in
// the time between outputs. Keeps two numbers an item: the value of the last step, the time found.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "store/attribute_values.hpp"

namespace tailrace::server {
namespace {

struct Kept {
  Box box;
  std::vector<double> last, arrivals;
};

double time_of(const Step& step) {
  for (const auto& [name, value] : step.attributes) {
    const auto time = store::number_of(value);
    if (name == "time" && time) return *time;
  }
  throw Error(Errc::invalid_input, "stage arrival needs steps with an attribute `time`, a number");
}

class ArrivalStage : public Stage {
 public:
  explicit ArrivalStage(const StageSettings& settings) {
    SettingsReader reader("arrival", settings);
    reader.required("at");
    at_ = reader.real("at", 0);
    falling_ = reader.yes("falling", false);
    reader.finish();
  }

  void run(Step& step, StageContext& context) override {
    const double time = time_of(step);
    kept_.check("arrival", step, context.group);
    for (auto& field : step.fields) {
      for (const auto& part : field.parts) take(field, part, time);
      give(step, field);
    }
    last_time_ = time;
  }

 private:
  void take(const Field& field, const FieldPart& part, double time) {
    if (part.box.empty()) return;
    auto& kept = kept_.of(field)[part.box.start];
    const auto count = static_cast<std::size_t>(part.box.num_items());
    const bool begun = !kept.last.empty();
    if (!begun) kept = {part.box, std::vector<double>(count), std::vector(count, std::nan(""))};
    visit_real(field.type, [&]<class Item>(Item) {
      const auto* items = reinterpret_cast<const Item*>(part.data);
      for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(items[i]);
        const bool there = falling_ ? value <= at_ : value >= at_;
        if (there && std::isnan(kept.arrivals[i])) {
          const double step_share = begun ? (at_ - kept.last[i]) / (value - kept.last[i]) : 1;
          kept.arrivals[i] = begun ? last_time_ + step_share * (time - last_time_) : time;
        }
        kept.last[i] = value;
      }
    });
  }

  void give(Step& step, Field& field) {
    const auto& boxes = kept_.of(field);
    field.name += "_arrival";
    field.type = ItemType::float64;
    field.attributes = {{"threshold", at_}};
    for (auto& part : field.parts) {
      if (part.box.empty()) continue;
      const auto& found = boxes.at(part.box.start).arrivals;
      auto* data =
          reinterpret_cast<double*>(add_memory(step, std::ssize(found) * std::ptrdiff_t{8}));
      std::copy(found.begin(), found.end(), data);
      part.data = reinterpret_cast<const std::byte*>(data);
    }
  }

  double at_ = 0;
  bool falling_ = false;
  double last_time_ = 0;
  KeptBoxes<Kept> kept_;
};

}  // namespace

MadeStage make_arrival(const StageSettings& settings) {
  return std::make_unique<ArrivalStage>(settings);
}

}  // namespace tailrace::server
