// SPDX-License-Identifier: BSD-3-Clause
#include "functions.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/nearest_word.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

template <class Function>
void Functions<Function>::add(const std::string& name, Function function) {
  const std::lock_guard lock(mutex_);
  if (name.empty() || !function) {
    throw Error(Errc::invalid_input, fmt::format("{} needs a name and a function", what_));
  }
  if (!functions_.emplace(name, std::move(function)).second) {
    throw Error(Errc::invalid_input, fmt::format("{}: the name {} is taken", what_, name));
  }
}

template <class Function>
Function Functions<Function>::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : functions_) names.push_back(entry.first);
  if (names.empty()) {
    throw Error(Errc::invalid_input,
                fmt::format("{}: no function {} on this server, nor any other (processes of "
                            "servers have none: use stage python there)",
                            what_, name));
  }
  throw Error(Errc::invalid_input,
              fmt::format("{}: no function {}: did you mean {}? Known are {}", what_, name,
                          nearest_word(name, names), fmt::join(names, ", ")));
}

template class Functions<StageFunction>;
template class Functions<TaskFunction>;

Functions<StageFunction>& stage_functions() {
  static Functions<StageFunction> functions("add_stage_function");
  return functions;
}

Functions<TaskFunction>& task_functions() {
  static Functions<TaskFunction> functions("add_task_function");
  return functions;
}

void call_user(const std::string& name, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("function {}: {}", name, error.what()),
                error.sys_errno());
  } catch (const std::exception& error) {
    throw Error(Errc::invalid_input, fmt::format("function {}: {}", name, error.what()));
  } catch (...) {
    throw Error(Errc::invalid_input,
                fmt::format("function {}: it threw what is not a std::exception", name));
  }
}

}  // namespace tailrace::server

namespace tailrace {

void add_stage_function(const std::string& name, StageFunction function) {
  server::stage_functions().add(name, std::move(function));
}

void add_task_function(const std::string& name, TaskFunction function) {
  server::task_functions().add(name, std::move(function));
}

}  // namespace tailrace
