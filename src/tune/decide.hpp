// SPDX-License-Identifier: BSD-3-Clause
// What samples say: plain functions of numbers, the same on all ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tailrace::tune {

/// Differences below this are never a reason to change [relative].
constexpr double least_difference = 0.01;

/// The value that a fraction `part` of `samples` lies below, interpolated; 0 without samples.
double quantile(std::span<const double> samples, double part);
inline double median(std::span<const double> samples) { return quantile(samples, 0.5); }
/// Half the distance between the quartiles.
double spread(std::span<const double> samples);

/// Relative difference of the medians of two equal entries that is none: what `first` and `second`
/// (samples of the same entry) differ by, and at least what 99 of 100 random divisions of all their
/// samples into two halves differ by, and `least_difference`.
double null_spread(std::span<const double> first, std::span<const double> second);

/// Index of the first of `medians` that is no more than `null` above the least.
std::size_t first_as_good(std::span<const double> medians, double null);

}  // namespace tailrace::tune
