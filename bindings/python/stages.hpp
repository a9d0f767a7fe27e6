// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include "tailrace/more/stage.hpp"

namespace tailrace::python {

/// The functions of a dict (or None), name to callable. They refer to the callables, which are
/// added to `kept` and live as long as that, and take the interpreter's lock by themselves. Throws
/// naming what is wrong.
std::map<std::string, StageFunction> stages_of(nanobind::handle given, nanobind::list& kept);
std::map<std::string, TaskFunction> tasks_of(nanobind::handle given, nanobind::list& kept);

}  // namespace tailrace::python
