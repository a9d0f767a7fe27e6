// SPDX-License-Identifier: BSD-3-Clause
// Deprecated names of version 0.1, in which an output of a session was a `Stream` and there were
// three option structs.
#pragma once

#include "tailrace/output.hpp"

namespace tailrace {

using Stream [[deprecated("use Output")]] = Output;
using SessionOptions [[deprecated("use OutputOptions")]] = OutputOptions;

struct StreamOptions01 {
  int priority = 0;
  WhenFull when_full = WhenFull::wait;
  double stall_budget = 0;
  double wait_limit_s = 600;
  std::string spill_folder = {};
  OnFailure on_failure = OnFailure::stop;
  double retry_s = 0;
  std::string fallback_path = {};
  std::string format = "auto";
  bool variables = true;
  std::vector<Product> products = {};
  OutputOptions output = {};

  /// Converts to the same settings in `OutputOptions`. Local.
  operator OutputOptions() const {
    auto same = output;
    same.mode = OutputMode01::of_session;
    same.priority = priority;
    same.when_full = when_full;
    same.stall_budget = stall_budget;
    same.wait_limit_s = wait_limit_s;
    same.spill_folder = spill_folder;
    same.on_failure = on_failure;
    same.retry_s = retry_s;
    same.fallback_path = fallback_path;
    same.format = format;
    same.variables = variables;
    same.products = products;
    return same;
  }
};
using StreamOptions [[deprecated("use OutputOptions, which has what was in `output`")]] =
    StreamOptions01;

}  // namespace tailrace
