// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include "tailrace/more/stage.hpp"

namespace tailrace::python {

/// The functions of two dicts (or None), name to callable. They refer to the callables, which are
/// added to `kept` and live as long as that, and take the interpreter's lock by themselves. Throws
/// naming what is wrong.
StageFunctions functions_of(nanobind::handle stages, nanobind::handle tasks, nanobind::list& kept);

}  // namespace tailrace::python
