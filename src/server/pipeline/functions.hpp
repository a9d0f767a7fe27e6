// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "tailrace/more/stage.hpp"

namespace tailrace::server {

/// Throws `Errc::invalid_input` if one has no name, or a name no function. Local.
void check_functions(const StageFunctions& functions);

/// The function of `functions.stages` (or `tasks`) called `name`. Throws `Errc::invalid_input`
/// naming the known ones. Local.
const StageFunction& find_stage_function(const StageFunctions& functions, const std::string& name);
const TaskFunction& find_task_function(const StageFunctions& functions, const std::string& name);

/// Runs `action`, which calls the user's function `name`: whatever it throws becomes an `Error`.
void call_user(const std::string& name, const std::function<void()>& action);

}  // namespace tailrace::server
