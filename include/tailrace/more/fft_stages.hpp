// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tailrace/fft.hpp"

namespace tailrace::fft {

/// What a stage of a transform does on one rank, for a model of its time: contiguous bytes over the
/// rate of a contiguous copy, plus scattered bytes over the rate of scattered stores of the kind
/// that is used (`MemoryRates`), plus its 1D transforms.
struct StageCost {
  std::string name;             ///< of its spans in a `Trace`
  double contiguous_bytes = 0;  ///< read, and written one after another
  double scattered_bytes = 0;   ///< written
  double kernel_s = 0;          ///< its 1D transforms in a cache, measured
};

/// The stages of a forward and a backward transform of all fields on `rank`, of a problem whose
/// grid has been chosen (`Transform::problem`), by `kernel` of `kernels()`. What is turned and
/// moved within the caches is not counted. Takes some milliseconds. Local.
template <class Real>
std::vector<StageCost> stage_costs(const Problem& problem, int rank, std::string_view kernel);

}  // namespace tailrace::fft
