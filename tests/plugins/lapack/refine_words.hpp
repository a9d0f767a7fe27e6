// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <string_view>

/// The largest error of factors after many solves with them. A number of solves has the plug-in
/// make them again in double precision where it takes every system. Elsewhere the time of the
/// solves decides, so the factors may still be those of single precision, whose error is below
/// `coarse`.
inline double factor_limit_after_many_solves(double coarse) {
  const char* words = std::getenv("TAILRACE_REFINE");
  const bool counts =
      words != nullptr && std::string_view(words).find("always") != std::string_view::npos;
  return counts ? 1e-11 : coarse;
}
