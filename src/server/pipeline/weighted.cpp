// SPDX-License-Identifier: BSD-3-Clause
// Sums and means over space in which another variable is the weight of each item: the mass of a
// plume (weight: the water of a cell), the mean of a region's water, means over uneven cells.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "core/round_up.hpp"
#include "core/worker.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"

namespace tailrace::server {
namespace {

/// Sums of weight * value and of the weights.
using Sums = std::array<double, 2>;

template <class Item, class Weight>
Sums sums_of(const Item* items, const Weight* weights, std::ptrdiff_t count, int threads) {
  std::vector<Sums> parts(static_cast<std::size_t>(divide_up(count, items_a_task)));
  parallel_for(std::ssize(parts), threads, [&](std::ptrdiff_t task) {
    Sums sums{};
    for (auto i = task * items_a_task; i < std::min((task + 1) * items_a_task, count); ++i) {
      const auto weight = static_cast<double>(weights[i]);
      sums[0] += weight * static_cast<double>(items[i]);
      sums[1] += weight;
    }
    parts[static_cast<std::size_t>(task)] = sums;
  });
  Sums all{};
  for (const auto& one : parts) {
    all[0] += one[0];
    all[1] += one[1];
  }
  return all;
}

class WeightedStage : public Stage {
 public:
  explicit WeightedStage(const StageSettings& settings) {
    SettingsReader reader("weighted", settings);
    by_ = reader.required("by");
    what_ = reader.words("what", "mean", {"mean", "sum"});
    reader.finish();
  }

  void run(Step& step, StageContext& context) override {
    const auto weights = std::find_if(step.fields.begin(), step.fields.end(),
                                      [&](const Field& field) { return field.name == by_; });
    if (weights == step.fields.end()) {
      refuse_input("stage weighted: {} is not among the variables of product {}", by_,
                   context.product);
    }
    require_real("weighted", *weights);
    for (const auto& field : step.fields) {
      if (field.name == by_) continue;
      require_real("weighted", field);
      auto sums = own_sums(field, *weights, context.threads);
      context.group.sum(sums);
      for (const auto& what : what_) {
        const double value = what == "sum" ? sums[0] : sums[0] / sums[1];
        context.scalars->values.emplace_back(fmt::format("{}_{}_{}", field.name, by_, what), value);
      }
    }
    context.scalars->only = true;
  }

 private:
  Sums own_sums(const Field& field, const Field& weights, int threads) const {
    Sums all{};
    for (const auto& part : field.parts) {
      const auto same = std::find_if(weights.parts.begin(), weights.parts.end(),
                                     [&](const FieldPart& p) { return p.box == part.box; });
      if (field.dims != weights.dims || same == weights.parts.end()) {
        refuse_input("stage weighted: {} and {} must have the same axes and boxes", field.name,
                     by_);
      }
      visit_real(field.type, [&]<class Item>(Item) {
        visit_real(weights.type, [&]<class Weight>(Weight) {
          const auto sums =
              sums_of(reinterpret_cast<const Item*>(part.data),
                      reinterpret_cast<const Weight*>(same->data), part.box.num_items(), threads);
          all[0] += sums[0];
          all[1] += sums[1];
        });
      });
    }
    return all;
  }

  std::string by_;
  std::vector<std::string> what_;
};

}  // namespace

MadeStage make_weighted(const StageSettings& settings) {
  return std::make_unique<WeightedStage>(settings);
}

}  // namespace tailrace::server
