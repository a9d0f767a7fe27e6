// SPDX-License-Identifier: BSD-3-Clause
#include "wave_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "tailrace/error.hpp"

namespace tailrace::helium {

std::vector<WavePart> wave_parts(std::span<const StagePart> parts) {
  std::map<std::pair<std::ptrdiff_t, std::ptrdiff_t>, WavePart> found;
  for (const auto& part : parts) {
    const auto& [dims, start, extents] = part.box;
    auto& wave = found[{start[0], start[1]}];
    wave.channel = start[0];
    wave.packed = start[1];
    wave.channels = extents[0];
    wave.places = extents[1];
    auto& items = part.variable == "f_re" ? wave.re : wave.im;
    items.resize(part.data.size() / sizeof(double));
    std::memcpy(items.data(), part.data.data(), part.data.size());
  }
  std::vector<WavePart> waves;
  for (auto& [place, wave] : found) {
    const auto items = static_cast<std::size_t>(wave.channels * wave.places);
    if (wave.re.size() != items || wave.im.size() != items) {
      throw Error(Errc::internal, "the real and the imaginary part of the wave differ in shape");
    }
    waves.push_back(std::move(wave));
  }
  return waves;
}

std::vector<PlacedPiece> pieces_of(std::ptrdiff_t n, std::ptrdiff_t first, std::ptrdiff_t count) {
  const auto start_of = [n](std::ptrdiff_t row) { return row * n - row * (row - 1) / 2; };
  const auto root =
      std::sqrt(std::pow(2.0 * static_cast<double>(n) + 1, 2) - 8.0 * static_cast<double>(first));
  auto row = static_cast<std::ptrdiff_t>((2.0 * static_cast<double>(n) + 1 - root) / 2);
  row = std::clamp<std::ptrdiff_t>(row, 0, n - 1);
  while (row > 0 && start_of(row) > first) --row;
  while (start_of(row + 1) <= first) ++row;
  std::vector<PlacedPiece> pieces;
  for (std::ptrdiff_t offset = 0; offset < count; ++row) {
    const auto place = first + offset;
    const auto here = std::min(count - offset, start_of(row + 1) - place);
    pieces.push_back({{row, row + place - start_of(row), here}, offset});
    offset += here;
  }
  return pieces;
}

}  // namespace tailrace::helium
