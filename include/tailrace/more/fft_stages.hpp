// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tailrace/fft.hpp"

namespace tailrace::fft {

/// The work of a transform stage on one rank. Its model time is contiguous bytes divided by the
/// rate of a contiguous copy, plus scattered bytes divided by the rate of scattered stores of the
/// chosen kind (`MemoryRates`), plus the time of its 1D transforms.
struct StageCost {
  std::string name;             ///< name of its spans in a `Trace`
  double contiguous_bytes = 0;  ///< bytes read, and bytes written one after another
  double scattered_bytes = 0;   ///< bytes written by scattered stores
  double kernel_s = 0;          ///< measured time of its 1D transforms in a cache
};

/// The stages of a forward and a backward transform of all fields on `rank`, for a problem whose
/// grid has been chosen (`Transform::problem`), with `kernel` from `kernels()`. Transposes and
/// moves within the caches are not counted. Takes some milliseconds. Local.
template <class Real>
std::vector<StageCost> stage_costs(const Problem& problem, int rank, std::string_view kernel);

}  // namespace tailrace::fft
