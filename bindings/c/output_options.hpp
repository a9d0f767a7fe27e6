// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "objects.hpp"
#include "tailrace/output.hpp"

namespace tailrace::c {

/// The options of C++; `trace` may be null. Throws `Errc::invalid_input`. Local.
OutputOptions output_options_of(const tailrace_output_options& wanted, Trace* trace);

}  // namespace tailrace::c
