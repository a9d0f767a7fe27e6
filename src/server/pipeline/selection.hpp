// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "server/step.hpp"

namespace tailrace::server {

/// Indices start, start + step, ... below stop, of one axis.
struct AxisSelection {
  std::ptrdiff_t start = 0, stop = 0, step = 1;

  std::ptrdiff_t count() const { return stop <= start ? 0 : (stop - start + step - 1) / step; }
};

/// The items of `field` that `axes` (one for each) select, as a new field; `step` keeps its bytes.
/// Every server selects from its own parts. Local.
Field select_items(Step& step, const Field& field, std::span<const AxisSelection> axes);

/// The values of `coordinate` that `axis` selects.
void select_values(Coordinate& coordinate, const AxisSelection& axis);

/// The place of axis `name` among `field`'s, or -1.
int axis_of(const Field& field, const std::string& name);

}  // namespace tailrace::server
