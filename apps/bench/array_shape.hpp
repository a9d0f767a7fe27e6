// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "driver.hpp"
#include "words.hpp"

namespace bench {

/// An array, and which of its axes are transformed how: `--extents 64x64x64 --axes 0,1,2 --kinds
/// fourier,dct2,fourier`. By default a cube of `--n` points along an edge, all axes, `fourier`.
struct ArrayShape {
  std::vector<std::size_t> extents;
  std::vector<int> axes;
  std::vector<std::string> kinds;

  explicit ArrayShape(const Arguments& args) {
    for (const auto& word : split(args.text("extents", ""), 'x')) {
      extents.push_back(std::strtoul(word.c_str(), nullptr, 10));
    }
    if (extents.empty()) extents.assign(3, static_cast<std::size_t>(args.number("n", 256)));
    for (const auto& word : split(args.text("axes", ""), ','))
      axes.push_back(std::atoi(word.c_str()));
    if (axes.empty()) {
      for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        axes.push_back(static_cast<int>(axis));
      }
    }
    kinds = split(args.text("kinds", ""), ',');
    kinds.resize(axes.size(), "fourier");
  }

  std::size_t num_points() const {
    std::size_t points = 1;
    for (const auto extent : extents) points *= extent;
    return points;
  }
  std::size_t extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
  /// The transformed axes with, or without, a Fourier transform, as they are listed.
  std::vector<int> axes_of(bool fourier) const {
    std::vector<int> found;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if ((kinds[i] == "fourier") == fourier) found.push_back(axes[i]);
    }
    return found;
  }
  const std::string& kind(int axis) const {
    std::size_t i = 0;
    while (axes[i] != axis) ++i;
    return kinds[i];
  }
  /// Extents of the modes; of a real field, the last Fourier axis has half of them.
  std::vector<std::size_t> modes(bool real) const {
    auto found = extents;
    const auto fourier = axes_of(true);
    if (real && !fourier.empty()) {
      auto& half = found[static_cast<std::size_t>(fourier.back())];
      half = half / 2 + 1;
    }
    return found;
  }
  /// What a transform and its inverse, not normalised, multiply by.
  double size() const {
    double size = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto n = static_cast<double>(extent(axes[i]));
      size *= kinds[i] == "fourier" ? n
              : kinds[i] == "dct1"  ? 2 * (n - 1)
              : kinds[i] == "dst1"  ? 2 * (n + 1)
                                    : 2 * n;
    }
    return size;
  }
};

}  // namespace bench
