// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "projection.hpp"
#include "tailrace/more/stage.hpp"

namespace tailrace::helium {

/// A box of (channel, packed place) of a wave in the order of a checkpoint, as a server has it.
struct WavePart {
  std::ptrdiff_t channel, packed;   ///< first
  std::ptrdiff_t channels, places;  ///< numbers of them
  std::vector<double> re, im;
};

/// Pairs the boxes of `f_re` and `f_im`, in the order of their places. Local, as all of this file.
std::vector<WavePart> wave_parts(std::span<const StagePart> parts);

/// The packed places [first, first + count) of a triangle of n rows, row by row.
struct PlacedPiece : RowPiece {
  std::ptrdiff_t offset;  ///< from `first`
};
std::vector<PlacedPiece> pieces_of(std::ptrdiff_t n, std::ptrdiff_t first, std::ptrdiff_t count);

}  // namespace tailrace::helium
