// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bind.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::python {

/// The settings that are given by keywords, which have the names of `OutputOptions`. What they
/// refer to is added to `kept` and lives as long as that. Throws naming what is wrong. Needs the
/// GIL. Local.
OutputOptions options_of(const nb::kwargs& settings, nb::list& kept);

}  // namespace tailrace::python
