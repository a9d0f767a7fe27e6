// SPDX-License-Identifier: BSD-3-Clause
// Statistics over space: a number or two of each variable, for the product's table.

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "core/worker.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"

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

namespace {

constexpr std::ptrdiff_t block_items = 4096;  // stays in the first-level cache for its two passes
constexpr std::ptrdiff_t blocks_a_task = 16;
constexpr std::size_t lanes = 8;  // independent sums, so that the compiler may use SIMD

double add_up(const std::array<double, lanes>& sums) {
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class Item>
Moments moments_of_block(const Item* items, std::size_t count) {
  std::array<double, lanes> sums{}, deviations{}, squares{};
  Item least = items[0], largest = items[0];
  for (std::size_t i = 0; i < count; ++i) {
    sums[i % lanes] += static_cast<double>(items[i]);
    least = std::min(least, items[i]);
    largest = std::max(largest, items[i]);
  }
  const double sum = add_up(sums);
  const auto n = static_cast<double>(count);
  const double mean = sum / n;
  for (std::size_t i = 0; i < count; ++i) {
    const double deviation = static_cast<double>(items[i]) - mean;
    deviations[i % lanes] += deviation;
    squares[i % lanes] += deviation * deviation;
  }
  const double rest = add_up(deviations);  // what rounding left of the mean
  Moments moments{n,
                  sum,
                  mean + rest / n,
                  add_up(squares) - rest * rest / n,
                  static_cast<double>(least),
                  static_cast<double>(largest)};
  if constexpr (std::is_floating_point_v<Item>) {
    if (std::any_of(items, items + count, [](Item item) { return std::isnan(item); })) {
      moments.min = moments.max = std::nan("");
    }
  }
  return moments;
}

Moments add_tree(std::span<const Moments> list) {
  if (list.empty()) return {};
  if (list.size() == 1) return list[0];
  auto result = add_tree(list.first(list.size() / 2));
  result.add(add_tree(list.subspan(list.size() / 2)));
  return result;
}

struct Task {
  const std::byte* data;
  std::ptrdiff_t start;
  std::ptrdiff_t end;
};

Moments moments_of_parts(const Field& field, int threads) {
  std::vector<Task> tasks;
  for (const auto& part : field.parts) {
    const auto items = part.box.num_items();
    constexpr auto step = block_items * blocks_a_task;
    for (std::ptrdiff_t start = 0; start < items; start += step) {
      tasks.push_back({part.data, start, std::min(start + step, items)});
    }
  }
  std::vector<Moments> results(tasks.size());
  visit_real(field.type, [&]<class Item>(Item) {
    parallel_for(static_cast<std::ptrdiff_t>(tasks.size()), threads, [&](std::ptrdiff_t t) {
      const auto& task = tasks[static_cast<std::size_t>(t)];
      const auto* items = reinterpret_cast<const Item*>(task.data);
      Moments sum;
      for (auto at = task.start; at < task.end; at += block_items) {
        const auto count = std::min(block_items, task.end - at);
        sum.add(moments_of_block(items + at, static_cast<std::size_t>(count)));
      }
      results[static_cast<std::size_t>(t)] = sum;
    });
  });
  return add_tree(results);
}

}  // namespace

void Moments::add(const Moments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double total = count + other.count;
  const double delta = other.mean - mean;
  mean += delta * (other.count / total);
  m2 += other.m2 + delta * delta * (count * other.count / total);
  sum += other.sum;
  count = total;
  min = std::isnan(min) || std::isnan(other.min) ? std::nan("") : std::min(min, other.min);
  max = std::isnan(max) || std::isnan(other.max) ? std::nan("") : std::max(max, other.max);
}

Moments moments_of(const Field& field, Group& group, int threads) {
  return add_tree(group.gather_values(moments_of_parts(field, threads)));
}

}  // namespace tailrace::server
