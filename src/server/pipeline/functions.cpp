// SPDX-License-Identifier: BSD-3-Clause
#include "functions.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/nearest_word.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

namespace {

template <class Function>
void check(const char* what, const std::map<std::string, Function>& functions) {
  for (const auto& [name, function] : functions) {
    if (!name.empty() && function) continue;
    throw Error(Errc::invalid_input, fmt::format("session: {} needs a name and a function", what));
  }
}

template <class Function>
const Function& find(const char* what, const std::map<std::string, Function>& functions,
                     const std::string& name) {
  const auto found = functions.find(name);
  if (found != functions.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : functions) names.push_back(entry.first);
  if (names.empty()) {
    throw Error(Errc::invalid_input,
                fmt::format("no {} {}: the session was given none (servers that are processes "
                            "have none: use stage python there)",
                            what, name));
  }
  throw Error(Errc::invalid_input,
              fmt::format("no {} {}: did you mean {}? Known are {}", what, name,
                          nearest_word(name, names), fmt::join(names, ", ")));
}

}  // namespace

void check_functions(const StageFunctions& functions) {
  check("a stage function", functions.stages);
  check("a task function", functions.tasks);
}

const StageFunction& find_stage_function(const StageFunctions& functions, const std::string& name) {
  return find("stage function", functions.stages, name);
}

const TaskFunction& find_task_function(const StageFunctions& functions, const std::string& name) {
  return find("task function", functions.tasks, name);
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
