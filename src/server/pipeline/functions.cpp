// SPDX-License-Identifier: BSD-3-Clause
// Stages that call a user's C++ function.
#include "server/pipeline/pipeline.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include <fmt/ranges.h>

#include "core/agreed_error.hpp"
#include "core/refuse_input.hpp"
#include "core/worker.hpp"
#include "server/pipeline/settings.hpp"
#include "server/pipeline/stage_tools.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/nearest_word.hpp"

namespace tailrace::server {
namespace {

template <class Function>
void check(const char* what, const std::map<std::string, Function>& functions) {
  for (const auto& [name, function] : functions) {
    if (!name.empty() && function) continue;
    refuse_input("session: {} needs a name and a function", what);
  }
}

/// The one called `name`. Throws `Errc::invalid_input` naming the known ones.
template <class Function>
const Function& find(const char* what, const std::map<std::string, Function>& functions,
                     const std::string& name) {
  const auto found = functions.find(name);
  if (found != functions.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : functions) names.push_back(entry.first);
  if (names.empty()) {
    refuse_input(
        "no {} {}: the program passed no functions (server processes have those of their "
        "server_program; stage python needs none)",
        what, name);
  }
  refuse_input("no {} {}: did you mean {}? There are {}", what, name, nearest_word(name, names),
               fmt::join(names, ", "));
}

/// Runs `action`, which calls the user's function `name`: whatever it throws becomes an `Error`.
void call_user(const std::string& name, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    throw about("function " + name, error);
  } catch (const std::exception& error) {
    throw about("function " + name, Error(Errc::invalid_input, error.what()));
  } catch (...) {
    refuse_input("function {}: it threw an object that is not a std::exception", name);
  }
}

/// Copies of this server's parts.
std::vector<StagePart> parts_of(const Step& step) {
  std::vector<StagePart> parts;
  for (const auto& field : step.fields) {
    for (const auto& part : field.parts) {
      const auto dims = static_cast<std::size_t>(field.num_dims());
      const auto bytes = part.box.num_items() * item_bytes(field.type);
      parts.push_back({field.name,
                       field.type,
                       part.box,
                       {field.extents.begin(), field.extents.begin() + dims},
                       {part.data, part.data + bytes}});
    }
  }
  return parts;
}

/// On each server's parts.
class CallStage : public Stage {
 public:
  explicit CallStage(const StageSettings& settings) {
    SettingsReader reader("call", settings);
    name_ = reader.required("name");
    reader.finish();
  }

  void take_functions(const StageFunctions& functions) override {
    function_ = find("stage function", functions.stages, name_);
  }

  void run(Step& step, StageContext&) override {
    const auto parts = std::make_shared<std::vector<StagePart>>(parts_of(step));
    {
      static std::mutex one_at_a_time;  // streams make their products side by side
      const std::lock_guard lock(one_at_a_time);
      call_user(name_, [&] { function_(step.step, *parts); });
    }
    auto made = parts->begin();
    for (auto& field : step.fields) {
      for (auto& part : field.parts) {
        const auto bytes = static_cast<std::size_t>(part.box.num_items() * item_bytes(field.type));
        if (made->data.size() != bytes) {
          throw Error(Errc::invalid_input,
                      "function " + name_ + " changed the size of " + field.name);
        }
        part.data = (made++)->data.data();
      }
    }
    step.memory.push_back(parts);
  }

 private:
  std::string name_;
  StageFunction function_;
};

/// Many small serial tasks, spread over the servers and their threads.
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
    function_ = find("task function", functions.tasks, name_);
  }

  void run(Step& step, StageContext& context) override {
    std::vector<double> values(static_cast<std::size_t>(count_));
    const std::int64_t first = context.group.rank(), stride = context.group.size();
    const auto own = first < count_ ? divide_up(count_ - first, stride) : 0;
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

/// Small arrays of the parts of all servers.
class ResultsStage : public Stage {
 public:
  explicit ResultsStage(const StageSettings& settings) {
    SettingsReader reader("results", settings);
    name_ = reader.required("name");
    reader.finish();
  }

  void take_functions(const StageFunctions& functions) override {
    function_ = find("results function", functions.results, name_);
  }

  void run(Step& step, StageContext& context) override {
    std::exception_ptr left;  // another server has failed, not this function
    const StageSum sum = [&](std::span<double> values) {
      try {
        context.group.sum(values);
      } catch (...) {
        left = std::current_exception();
        throw;
      }
    };
    StageResults made;
    try {
      call_user(name_, [&] {
        made = function_(step.attributes, parts_of(step), sum);
        for (const auto& array : made.arrays) check(array);
      });
    } catch (...) {
      if (left) std::rethrow_exception(left);
      throw;
    }
    step.fields.clear();
    for (const auto& array : made.arrays) {
      step.fields.push_back(whole_field<double>(step, array.name, array.dims, array.extents,
                                                array.values, context.group.rank()));
      step.fields.back().attributes = array.attributes;
    }
    step.coordinates = std::move(made.coordinates);
    step.attributes.insert(step.attributes.end(), made.attributes.begin(), made.attributes.end());
  }

 private:
  static void check(const StageResults::Array& array) {
    Box whole{static_cast<int>(array.extents.size()), {}, {}};
    bool fits = array.dims.size() == array.extents.size() && !array.dims.empty() &&
                array.dims.size() <= max_dims && std::ranges::min(array.extents) >= 0;
    if (fits) std::ranges::copy(array.extents, whole.extents.begin());
    fits = fits && whole.num_items() == std::ssize(array.values);
    if (fits) return;
    refuse_input("array {} has {} names of axes, {} extents and {} values", array.name,
                 array.dims.size(), array.extents.size(), array.values.size());
  }

  std::string name_;
  ResultsFunction function_;
};

}  // namespace

void check_functions(const StageFunctions& functions) {
  check("a stage function", functions.stages);
  check("a task function", functions.tasks);
  check("a results function", functions.results);
}

MadeStage make_call(const StageSettings& settings) { return std::make_unique<CallStage>(settings); }

MadeStage make_tasks(const StageSettings& settings) {
  return std::make_unique<TasksStage>(settings);
}

MadeStage make_results(const StageSettings& settings) {
  return std::make_unique<ResultsStage>(settings);
}

}  // namespace tailrace::server
