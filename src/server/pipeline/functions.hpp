// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "tailrace/more/stage.hpp"

namespace tailrace::server {

/// The user's functions of this process by their names; from any thread.
template <class Function>
class Functions {
 public:
  /// `what` names the kind and the call that adds one, for messages.
  explicit Functions(const char* what) : what_(what) {}
  /// Throws `Errc::invalid_input` if the name is empty or taken, or if there is no function.
  void add(const std::string& name, Function function);
  /// Throws `Errc::invalid_input` naming the known ones.
  Function find(const std::string& name) const;

 private:
  const char* what_;
  mutable std::mutex mutex_;
  std::map<std::string, Function> functions_;
};

extern template class Functions<StageFunction>;
extern template class Functions<TaskFunction>;

Functions<StageFunction>& stage_functions();
Functions<TaskFunction>& task_functions();

/// Runs `action`, which calls the user's function `name`: whatever it throws becomes an `Error`.
void call_user(const std::string& name, const std::function<void()>& action);

}  // namespace tailrace::server
