// SPDX-License-Identifier: BSD-3-Clause
// Statistics over steps, updated item by item without cancellation: B. P. Welford, Technometrics 4
// (1962); third moment after P. Pebay, Sandia report SAND2008-6212 (2008).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/round_up.hpp"
#include "core/worker.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"

namespace tailrace::server {
namespace {

enum Row : std::size_t { mean, m2, m3, least, largest, num_rows };

/// The running numbers of a box, [num_rows][items]; rows that nobody wants are empty.
struct Running {
  Box box;
  std::array<Buffer, num_rows> rows;
  double* row(Row which) const { return rows[which].as<double>(); }
};

struct Result {
  const char* name;
  std::vector<Row> needs;
};
const std::vector<Result>& results() {
  static const std::vector<Result> list{{"mean", {mean}},
                                        {"variance", {mean, m2}},
                                        {"min", {least}},
                                        {"max", {largest}},
                                        {"skewness", {mean, m2, m3}}};
  return list;
}

template <class Item>
void update(const Running& running, const Item* items, std::ptrdiff_t from, std::ptrdiff_t end,
            double n) {
  double* means = running.row(mean);
  double* squares = running.row(m2);
  double* cubes = running.row(m3);
  for (auto i = from; means != nullptr && i < end; ++i) {
    const double delta = static_cast<double>(items[i]) - means[i];
    const double share = delta / n;
    const double square = delta * share * (n - 1);
    if (cubes != nullptr) cubes[i] += square * share * (n - 2) - 3 * share * squares[i];
    if (squares != nullptr) squares[i] += square;
    means[i] += share;
  }
  double* lows = running.row(least);
  double* highs = running.row(largest);
  for (auto i = from; lows != nullptr && i < end; ++i) {
    const auto value = static_cast<double>(items[i]);
    if (n == 1 || value < lows[i] || std::isnan(value)) lows[i] = value;
  }
  for (auto i = from; highs != nullptr && i < end; ++i) {
    const auto value = static_cast<double>(items[i]);
    if (n == 1 || value > highs[i] || std::isnan(value)) highs[i] = value;
  }
}

double result_of(const std::string& name, const Running& running, std::ptrdiff_t i, double n) {
  if (name == "mean") return running.row(mean)[i];
  if (name == "variance") return running.row(m2)[i] / n;
  if (name == "min") return running.row(least)[i];
  if (name == "max") return running.row(largest)[i];
  const double square = running.row(m2)[i] / n;
  return square > 0 ? running.row(m3)[i] / n / std::pow(square, 1.5) : 0;
}

class TimeStage : public Stage {
 public:
  explicit TimeStage(const StageSettings& settings) {
    SettingsReader reader("time", settings);
    std::vector<std::string> names;
    for (const auto& result : results()) names.emplace_back(result.name);
    wanted_ = reader.words("what", "mean,variance", names);
    every_ = reader.number("every", 1, 1);
    reset_ = reader.yes("reset", false);
    reader.finish();
    for (const auto& result : results()) {
      if (std::find(wanted_.begin(), wanted_.end(), result.name) == wanted_.end()) continue;
      for (const auto row : result.needs) kept_[row] = true;
    }
  }

  void run(Step& step, StageContext& context) override {
    running_.check("time", step, context.group);
    ++count_;
    for (const auto& field : step.fields) add(field, context.threads);
    if (count_ % every_ != 0) {
      step.fields.clear();
      return;
    }
    give(step, context.threads);
    if (!reset_) return;
    running_ = {};
    count_ = 0;
  }

 private:
  void add(const Field& field, int threads) {
    auto& boxes = running_.of(field);
    for (const auto& part : field.parts) {
      const auto items = part.box.num_items();
      if (items == 0) continue;
      auto& running = boxes[part.box.start];
      if (count_ == 1) begin(running, part.box);
      visit_real(field.type, [&]<class Item>(Item) {
        parallel_for(divide_up(items, items_a_task), threads, [&](std::ptrdiff_t task) {
          const auto from = task * items_a_task;
          update(running, reinterpret_cast<const Item*>(part.data), from,
                 std::min(from + items_a_task, items), static_cast<double>(count_));
        });
      });
    }
  }

  void begin(Running& running, const Box& box) const {
    running.box = box;
    for (std::size_t row = 0; row < num_rows; ++row) {
      if (kept_[row]) running.rows[row] = Buffer(box.num_items() * 8);
    }
  }

  void give(Step& step, int threads) {
    std::vector<Field> fields;
    for (const auto& field : step.fields) {
      for (const auto& name : wanted_) fields.push_back(result(step, field, name, threads));
    }
    step.fields = std::move(fields);
    step.attributes.emplace_back("averaged_steps", count_);
    step.attributes.emplace_back("first_step", running_.first_step());
  }

  Field result(Step& step, const Field& field, const std::string& name, int threads) {
    Field made = field;
    made.name = fmt::format("{}_{}", field.name, name);
    made.type = ItemType::float64;
    made.parts.clear();
    for (const auto& entry : running_.of(field)) {
      const auto& running = entry.second;
      const auto items = running.box.num_items();
      auto* data = reinterpret_cast<double*>(add_memory(step, items * 8));
      parallel_for(divide_up(items, items_a_task), threads, [&](std::ptrdiff_t task) {
        const auto end = std::min((task + 1) * items_a_task, items);
        for (auto i = task * items_a_task; i < end; ++i) {
          data[i] = result_of(name, running, i, static_cast<double>(count_));
        }
      });
      made.parts.push_back({running.box, reinterpret_cast<const std::byte*>(data)});
    }
    return made;
  }

  std::vector<std::string> wanted_;
  std::array<bool, num_rows> kept_{};
  std::int64_t every_ = 1;
  bool reset_ = false;
  std::int64_t count_ = 0;
  KeptBoxes<Running> running_;
};

}  // namespace

MadeStage make_time(const StageSettings& settings) { return std::make_unique<TimeStage>(settings); }

}  // namespace tailrace::server
