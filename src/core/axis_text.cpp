// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/axis_text.hpp"

#include <atomic>

namespace tailrace {

namespace {
std::atomic<bool> as_fortran{false};
}  // namespace

void write_axes_as_fortran() { as_fortran = true; }
bool axes_as_fortran() { return as_fortran; }

std::ptrdiff_t axis_number(std::ptrdiff_t axis, std::size_t num_dims) {
  return axes_as_fortran() ? static_cast<std::ptrdiff_t>(num_dims) - axis : axis;
}

std::string range_text(std::ptrdiff_t start, std::ptrdiff_t count) {
  return std::to_string(start + first_number()) + ":" + std::to_string(start + count);
}

}  // namespace tailrace
