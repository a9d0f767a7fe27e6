// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tailrace/comm.hpp"

namespace tailrace::apps {

/// What is to be tuned, as "exchange:extents=64x64x64,item=16": a kind, and what it is made of.
struct TuneProblem {
  std::string text, kind;
  std::map<std::string, std::string> values;

  /// Throws `Errc::invalid_input`. Local.
  static TuneProblem parse(const std::string& text);
};

/// Makes what a program would make with method "auto", so that the tuner remembers the winners for
/// it. Collective, blocking. Throws `Errc::invalid_input` on all ranks.
void tune_problem(const Comm& comm, const TuneProblem& problem);

}  // namespace tailrace::apps
