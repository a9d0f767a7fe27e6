// SPDX-License-Identifier: BSD-3-Clause
// How an array with any axes is transformed: plain data, computed without MPI.
#pragma once

#include <string>
#include <vector>

#include "tailrace/layout.hpp"
#include "tailrace/more/array_transform.hpp"

namespace tailrace::fft {

/// What a line of an array is to the kernels.
enum class LineItems {
  real,  ///< real points, real modes
  half,  ///< real points, complex modes with k >= 0
  full   ///< complex points and modes
};

/// A rank's part of an array between two steps: which ranks divide which axis.
struct ArrayState {
  std::vector<std::ptrdiff_t> extents;  ///< global
  std::vector<int> grid;                ///< ranks along each axis
  std::vector<int> order;               ///< axes of the grid from slowest to fastest, see `blocks`
  bool is_complex = false;

  Layout layout() const { return blocks(extents, grid, order); }
};

/// One step of a forward transform: an exchange, or a pass along one axis that is whole.
struct ArrayStep {
  bool is_exchange = false;
  int axis = 0;  ///< the axis of a pass, or that becomes whole
  // Of a pass:
  AxisKind kind = AxisKind::fourier;
  LineItems items = LineItems::full;
  std::ptrdiff_t points = 0, kept = 0;  ///< kept as in `TransformedAxis`, never 0
  ArrayState before, after;

  /// Input and output may be the same array.
  bool in_place() const { return !is_exchange && items != LineItems::half && kept == points; }
};

/// The steps of a forward transform; backward takes them in reverse.
struct ArrayPlan {
  ArrayProblem problem;  ///< with axes and grid
  std::vector<ArrayStep> steps;
  const ArrayState& physical() const { return steps.front().before; }
  const ArrayState& spectral() const { return steps.back().after; }
};

/// Modes of a line of `points` points.
std::ptrdiff_t num_modes(LineItems items, std::ptrdiff_t kept);

/// Returns why `problem` cannot be transformed on `num_ranks` ranks, or "" if it can. Local.
std::string find_fault(const ArrayProblem& problem, int num_ranks);
/// Its plan: chooses the grid with the fewest items on the busiest rank, counted once for each pass
/// and twice for each exchange. `problem` has no fault. Local.
ArrayPlan plan_array(const ArrayProblem& problem, int num_ranks);

}  // namespace tailrace::fft
