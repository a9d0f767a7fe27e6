// SPDX-License-Identifier: BSD-3-Clause
// Many small serial tasks, spread over the servers and their threads.
#include "entries.hpp"
#include "functions.hpp"
#include "parallel_for.hpp"
#include "row_field.hpp"
#include "settings.hpp"

namespace tailrace::server {

namespace {

class TasksStage : public Stage {
 public:
  explicit TasksStage(const StageSettings& settings) {
    SettingsReader reader("tasks", settings);
    name_ = reader.required("name");
    reader.required("count");
    count_ = reader.number("count", 1, 1, 1 << 24);
    reader.finish();
  }

  void take_functions(const StageFunctions& functions) override {
    function_ = find_task_function(functions, name_);
  }

  void run(Step& step, StageContext& context) override {
    std::vector<double> values(static_cast<std::size_t>(count_));
    const std::int64_t first = context.group.rank(), stride = context.group.size();
    const auto own = first < count_ ? (count_ - first + stride - 1) / stride : 0;
    parallel_for(own, context.threads, [&](std::ptrdiff_t i) {
      const auto task = first + i * stride;
      call_user(name_,
                [&] { values[static_cast<std::size_t>(task)] = function_(step.step, task); });
    });
    context.group.sum(values);
    step.fields = {row_field<double>(step, name_, "task", std::span<const double>(values),
                                     context.group.rank())};
  }

 private:
  std::string name_;
  std::int64_t count_ = 0;
  TaskFunction function_;
};

}  // namespace

MadeStage make_tasks(const StageSettings& settings) {
  return std::make_unique<TasksStage>(settings);
}

}  // namespace tailrace::server
