// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "objects.hpp"
#include "tailrace/c/output.h"
#include "tailrace/output.hpp"

namespace tailrace::c {

struct OutputObject {
  std::shared_ptr<Trace> trace;  ///< it must outlive the output
  Output output;
  int last_result = -1;
};

TAILRACE_BEHIND(tailrace_output, OutputObject)

/// Options of C++, and the trace that they refer to.
struct GivenOptions {
  OutputOptions options;
  std::shared_ptr<Trace> trace;
};
/// Throws `Errc::invalid_input`. Local.
GivenOptions given_options(const tailrace_output_options& wanted);
StageFunctions functions_of(const tailrace_function* given, int count);

}  // namespace tailrace::c
