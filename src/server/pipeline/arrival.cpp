// SPDX-License-Identifier: BSD-3-Clause
// When each item first reached a value: linear between the steps, so exact to the second order in
// the time between outputs. Keeps two numbers an item: the value of the last step, the time found.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"

namespace tailrace::server {
namespace {

struct Kept {
  Box box;
  std::vector<double> last, arrivals;
};

double time_of(const Step& step) {
  for (const auto& [name, value] : step.attributes) {
    const auto* time = std::get_if<double>(&value);
    if (name == "time" && time != nullptr) return *time;
  }
  throw Error(Errc::invalid_input,
              "stage arrival needs steps with an attribute `time` (a number of type double)");
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
    for (const auto& field : step.fields) check(field);
    // All servers take the step, or none does.
    double fine = 0;
    context.group.max({&fine, 1});
    for (auto& field : step.fields) {
      for (const auto& part : field.parts) take(field, part, time);
      give(step, field);
    }
    last_time_ = time;
    begun_ = true;
  }

 private:
  void check(const Field& field) const {
    require_real("arrival", field);
    if (!begun_) return;
    const auto boxes = kept_.find(field.name);
    for (const auto& part : field.parts) {
      if (part.box.empty()) continue;
      const auto known = boxes == kept_.end() ? std::map<Index, Kept>::const_iterator{}
                                              : boxes->second.find(part.box.start);
      if (boxes == kept_.end() || known == boxes->second.end() ||
          !(known->second.box == part.box)) {
        throw Error(Errc::invalid_input,
                    fmt::format("stage arrival: the boxes of {} on this server are not those of "
                                "the first step",
                                field.name));
      }
    }
  }

  void take(const Field& field, const FieldPart& part, double time) {
    if (part.box.empty()) return;
    auto& kept = kept_[field.name][part.box.start];
    const auto count = static_cast<std::size_t>(part.box.num_items());
    if (!begun_) kept = {part.box, std::vector<double>(count), std::vector(count, std::nan(""))};
    visit_real(field.type, [&]<class Item>(Item) {
      const auto* items = reinterpret_cast<const Item*>(part.data);
      for (std::size_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(items[i]);
        const bool there = falling_ ? value <= at_ : value >= at_;
        if (there && std::isnan(kept.arrivals[i])) {
          const double step_share = begun_ ? (at_ - kept.last[i]) / (value - kept.last[i]) : 1;
          kept.arrivals[i] = begun_ ? last_time_ + step_share * (time - last_time_) : time;
        }
        kept.last[i] = value;
      }
    });
  }

  void give(Step& step, Field& field) {
    const auto& boxes = kept_[field.name];
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
  bool begun_ = false;
  double last_time_ = 0;
  std::map<std::string, std::map<Index, Kept>> kept_;  ///< by variable, by the start of the box
};

}  // namespace

MadeStage make_arrival(const StageSettings& settings) {
  return std::make_unique<ArrivalStage>(settings);
}

}  // namespace tailrace::server
