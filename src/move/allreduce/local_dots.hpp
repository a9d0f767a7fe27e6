// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <span>

#include "tailrace/reduction.hpp"

namespace tailrace {

/// results[k] = sum(conj(x) * y) over the items of pair k on this rank. Vectors are passed in
/// blocks, pair by pair, so that one that occurs in several pairs is read from memory once. Local.
void local_dots(std::span<const DotPair<float>> pairs, double* results);
void local_dots(std::span<const DotPair<double>> pairs, double* results);
void local_dots(std::span<const DotPair<std::complex<float>>> pairs, std::complex<double>* results);
void local_dots(std::span<const DotPair<std::complex<double>>> pairs,
                std::complex<double>* results);

}  // namespace tailrace
