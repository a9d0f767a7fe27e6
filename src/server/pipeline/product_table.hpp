// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "server/pipeline/pipeline.hpp"

namespace tailrace::server {

/// What a step adds to the table of its product.
struct TableLines {
  std::string header;
  std::string lines;  ///< empty: nothing
};

/// "step,time,u_mean,..." and one line. `time` is there if the step has such an attribute. Local.
TableLines scalar_lines(const Step& step, const Scalars& scalars);

/// "step,time,k,E": a line for each item of the step's fields, which must be of one axis and, all
/// together, at most 2^20 items; their coordinate is a column if there is one. Throws
/// `Errc::invalid_input`. Collective over the servers.
TableLines field_lines(const Step& step, Group& group);

}  // namespace tailrace::server
