// SPDX-License-Identifier: BSD-3-Clause
// What times say: plain functions of numbers, the same on all ranks. Everything that chooses by
// times decides by `first_as_good`, with the noise of one candidate that was timed twice.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tailrace::chooser {

/// Differences below this are never a reason to change [relative].
constexpr double least_difference = 0.03;
/// Differences above this count, however busy the machine is, if there are many samples [relative];
/// of n samples, those above 1 + 20 / n times this. Also what one sample may mislead by.
constexpr double largest_no_difference = 0.25;

/// The value that a fraction `part` of `samples` lies below, interpolated; 0 without samples.
double quantile(std::span<const double> samples, double part);
inline double median(std::span<const double> samples) { return quantile(samples, 0.5); }
/// Half the distance between the quartiles.
double spread(std::span<const double> samples);

/// How many times as long `samples` are as `reference`, of the same rounds: the median of their
/// ratios. What disturbs a round, or now and then one of the two, hardly changes it, even where it
/// throws the medians about. As many as the shorter has. `part`: another quantile than the median.
double ratio(std::span<const double> samples, std::span<const double> reference, double part = 0.5);

/// Noise of many samples: the relative difference of two equal entries, from samples `first` and
/// `second` of the same rounds. It is what their `ratio` differs from 1 by, and at least what it
/// differs by in 99 of 100 cases if the two are exchanged in random rounds; between
/// `least_difference` and `largest_no_difference`.
double null_spread(std::span<const double> first, std::span<const double> second);

/// Noise of few samples, `count` in all: `time` is what they say that one candidate takes, and
/// `other` what they might as well say, as the next time after the shortest. Between the same
/// limits; of one sample, `largest_no_difference`.
double noise_of_few(double time, double other, std::size_t count);

/// Index of the first of `times` that is no more than `null` above the least.
std::size_t first_as_good(std::span<const double> times, double null);

}  // namespace tailrace::chooser
