// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Transposes of a cube of complex numbers by other libraries: what all their drivers share. Axes 0,
// 1, 2 are z, y, x. The patterns are those of exchange_problem.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "comparison.hpp"

namespace bench {

/// "x-pencils to y-pencils, 256^3 complex"
inline std::string transpose_name(const std::string& pattern, std::ptrdiff_t n) {
  const std::string what = pattern == "slabs" ? "z-slabs to y-slabs" : "x-pencils to y-pencils";
  const std::string order = pattern == "kept" ? ", order kept" : "";
  return what + order + ", " + std::to_string(n) + "^3 complex";
}

/// The grid of ranks over the two axes that pencils divide; they are exchanged within groups of
/// `grid[1]` ranks that follow one another.
inline std::array<int, 2> transpose_grid(int num_ranks) {
  std::array<int, 2> grid{0, 0};
  MPI_Dims_create(num_ranks, 2, grid.data());
  if (grid[1] == 1) std::swap(grid[0], grid[1]);
  return grid;
}

/// Words that differ between items, words of an item, and rounds.
inline std::uint64_t word_of(std::uint64_t item, std::uint64_t word, int round) {
  return (item * 2 + word + 1) ^ (static_cast<std::uint64_t>(round + 7) << 48);
}

/// What a rank holds of the cube: a box whose axes are stored in `order`, slowest first.
struct TransposePart {
  std::array<std::ptrdiff_t, 3> start{}, extents{};
  std::array<std::size_t, 3> order{0, 1, 2};

  std::ptrdiff_t num_items() const { return extents[0] * extents[1] * extents[2]; }
  /// Calls `visit(place in memory, number of the item in the cube)`.
  template <class Visit>
  void for_items(std::ptrdiff_t n, Visit visit) const {
    const auto [a, b, c] = order;
    const std::array<std::ptrdiff_t, 3> step{n * n, n, 1};
    std::ptrdiff_t place = 0;
    for (std::ptrdiff_t i = start[a]; i < start[a] + extents[a]; ++i) {
      for (std::ptrdiff_t j = start[b]; j < start[b] + extents[b]; ++j) {
        for (std::ptrdiff_t k = start[c]; k < start[c] + extents[c]; ++k) {
          visit(place++, i * step[a] + j * step[b] + k * step[c]);
        }
      }
    }
  }
  void fill(void* memory, std::ptrdiff_t n, int round) const {
    auto* words = static_cast<std::uint64_t*>(memory);
    for_items(n, [&](std::ptrdiff_t place, std::ptrdiff_t item) {
      words[2 * place] = word_of(static_cast<std::uint64_t>(item), 0, round);
      words[2 * place + 1] = word_of(static_cast<std::uint64_t>(item), 1, round);
    });
  }
  double wrong_items(const void* memory, std::ptrdiff_t n, int round) const {
    const auto* words = static_cast<const std::uint64_t*>(memory);
    double wrong = 0;
    for_items(n, [&](std::ptrdiff_t place, std::ptrdiff_t item) {
      const bool right =
          words[2 * place] == word_of(static_cast<std::uint64_t>(item), 0, round) &&
          words[2 * place + 1] == word_of(static_cast<std::uint64_t>(item), 1, round);
      wrong += right ? 0 : 1;
    });
    return wrong;
  }
};

/// One transpose by another library: parts, and arrays of at least as many items.
struct PeerTranspose {
  std::string entry, pattern;
  std::ptrdiff_t n = 0;
  TransposePart from, to;
  void* source = nullptr;
  void* target = nullptr;
  std::function<void()> run;
};

/// Times and checks it, and prints its line. Collective.
inline void measure(const PeerTranspose& peer, const Effort& effort) {
  int now = 0;
  Comparison comparison(
      [&](int round) {
        now = round;
        auto* spoilt = static_cast<std::uint64_t*>(peer.target);
        std::fill(spoilt, spoilt + 2 * peer.to.num_items(), ~std::uint64_t{0});
        peer.from.fill(peer.source, peer.n, round);  // last: some libraries work in place
      },
      [&] { return peer.to.wrong_items(peer.target, peer.n, now); });
  comparison.add({peer.entry, "peer", peer.run});
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Effort once = effort;
  once.most_calls = 1;  // a second call may find its source changed
  comparison.measure(once);
  comparison.print([&](JsonLine& line) {
    const auto n = static_cast<double>(peer.n);
    line.text("problem", transpose_name(peer.pattern, peer.n) + ", " + std::to_string(ranks) +
                             (ranks == 1 ? " rank" : " ranks"))
        .text("pattern", peer.pattern)
        .number("size", n)
        .number("bytes", n * n * n * 16)
        .number("ranks", ranks);
  });
}

}  // namespace bench
