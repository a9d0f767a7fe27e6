// SPDX-License-Identifier: BSD-3-Clause
#include "io_pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>

#include <mpi.h>

#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"

namespace bench {

namespace {

using tailrace::FileRun;
using Bytes = std::ptrdiff_t;

[[noreturn]] void refuse(const std::string& text) {
  throw tailrace::Error(tailrace::Errc::invalid_input, text);
}

/// Blocks dealt rank by rank, again and again: IOR's -b BLOCK -s SEGMENTS.
Pattern segmented(const PatternRequest& request, int rank, int num_ranks) {
  Pattern pattern;
  const Bytes segment = request.block * num_ranks;
  const Bytes segments = std::max<Bytes>(1, request.total / segment);
  for (Bytes s = 0; s < segments; ++s) {
    pattern.runs.push_back({s * segment + rank * request.block, request.block});
  }
  pattern.total_bytes = segments * segment;
  return pattern;
}

/// The same bytes, described as columns of a table: a box of a two-dimensional array.
Pattern strided(const PatternRequest& request, int rank, int num_ranks) {
  Pattern pattern = segmented(request, rank, num_ranks);
  const auto rows = static_cast<Bytes>(pattern.runs.size());
  pattern.array = ArrayPart{
      {rows, request.block * num_ranks}, {0, rank * request.block}, {rows, request.block}, 1};
  return pattern;
}

/// One block a rank.
Pattern contiguous(const PatternRequest& request, int rank, int num_ranks) {
  Pattern pattern;
  const auto range = tailrace::split_evenly(std::max<Bytes>(request.total, num_ranks), num_ranks,
                                            static_cast<Bytes>(rank));
  pattern.runs.push_back({range.start, range.count});
  pattern.total_bytes = std::max<Bytes>(request.total, num_ranks);
  return pattern;
}

/// Parts along z, y, x. The largest factor is along the fastest axis that is split, as that is the
/// hard case.
std::array<int, 3> process_grid(const std::string& text, int num_ranks) {
  if (text == "slabs") return {num_ranks, 1, 1};
  std::array<int, 3> grid{0, 0, 0};
  const int split = text == "pencils" ? 2 : 3;
  if (text == "pencils" || text == "blocks") {
    std::fill(grid.begin() + split, grid.end(), 1);
    MPI_Dims_create(num_ranks, split, grid.data());
    std::reverse(grid.begin(), grid.begin() + split);
    return grid;
  }
  const int read = std::sscanf(text.c_str(), "%dx%dx%d", grid.data(), &grid[1], &grid[2]);
  if (read != 3 || std::any_of(grid.begin(), grid.end(), [](int parts) { return parts < 1; }) ||
      grid[0] * grid[1] * grid[2] != num_ranks) {
    refuse("grid " + text + ": expected slabs, pencils, blocks or AxBxC with A*B*C = " +
           std::to_string(num_ranks) + " ranks");
  }
  return grid;
}

/// A cube of doubles, a block a rank.
Pattern blocks3d(const PatternRequest& request, int rank, int num_ranks) {
  const auto grid = process_grid(request.grid, num_ranks);
  Bytes n = request.edge;
  if (n == 0) n = std::llround(std::cbrt(static_cast<double>(request.total) / sizeof(double)));
  n = std::max<Bytes>(n, *std::max_element(grid.begin(), grid.end()));
  const std::vector<Bytes> extents{n, n, n};
  const auto box = tailrace::blocks(extents, grid).box(rank);
  Pattern pattern;
  pattern.total_bytes = n * n * n * 8;
  pattern.array = ArrayPart{extents,
                            {box.start[0], box.start[1], box.start[2]},
                            {box.extents[0], box.extents[1], box.extents[2]},
                            8};
  const Bytes row = box.extents[2] * 8;
  for (Bytes z = 0; z < box.extents[0]; ++z) {
    for (Bytes y = 0; y < box.extents[1]; ++y) {
      const Bytes at = (((box.start[0] + z) * n + box.start[1] + y) * n + box.start[2]) * 8;
      if (!pattern.runs.empty() && pattern.runs.back().end() == at) {
        pattern.runs.back().bytes += row;
      } else {
        pattern.runs.push_back({at, row});
      }
    }
  }
  return pattern;
}

/// The upper triangle of a square matrix of doubles, packed row by row, cut into square tiles that
/// are dealt to the ranks. No hyperslab describes it: rows start at ever other distances, and the
/// tiles on the diagonal are triangles themselves.
Pattern triangle(const PatternRequest& request, int rank, int num_ranks) {
  constexpr Bytes least_tiles = 8;  // along an edge
  const auto root = std::sqrt(static_cast<double>(request.total) / 4.0);
  const Bytes n = std::max<Bytes>(least_tiles, std::llround(root));
  const Bytes tile = std::clamp<Bytes>(request.block / 8, 1, n / least_tiles);
  const Bytes tiles = (n + tile - 1) / tile;
  const auto row_start = [n](Bytes i) { return i * n - i * (i - 1) / 2; };  // of item (i, i)
  Pattern pattern;
  pattern.total_bytes = n * (n + 1) / 2 * 8;
  for (Bytes i = 0; i < n; ++i) {
    const Bytes tile_row = i / tile;
    for (Bytes j = tile_row; j < tiles; ++j) {
      const Bytes number = tile_row * tiles - tile_row * (tile_row - 1) / 2 + j - tile_row;
      if (number % num_ranks != rank) continue;
      const Bytes first = std::max(i, j * tile);
      const Bytes end = std::min(n, (j + 1) * tile);
      pattern.runs.push_back({(row_start(i) + first - i) * 8, (end - first) * 8});
    }
  }
  return pattern;
}

struct Maker {
  const char* name;
  Pattern (*make)(const PatternRequest&, int, int);
  bool cut;  ///< each block is a transfer unless the user says otherwise
};
constexpr std::array makers{
    Maker{"segmented", segmented, true},   Maker{"strided", strided, true},
    Maker{"contiguous", contiguous, true}, Maker{"blocks3d", blocks3d, false},
    Maker{"triangle", triangle, false},
};

std::vector<FileRun> cut(const std::vector<FileRun>& runs, Bytes transfer) {
  if (transfer <= 0) return runs;
  std::vector<FileRun> pieces;
  for (const auto& run : runs) {
    for (Bytes at = 0; at < run.bytes; at += transfer) {
      pieces.push_back({run.offset + at, std::min(transfer, run.bytes - at)});
    }
  }
  return pieces;
}

std::uint64_t word_at(Bytes index) {
  std::uint64_t x = (static_cast<std::uint64_t>(index) + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  return x ^ (x >> 27);
}

}  // namespace

Bytes Pattern::bytes() const {
  return std::transform_reduce(runs.begin(), runs.end(), Bytes{0}, std::plus<>(),
                               [](const FileRun& run) { return run.bytes; });
}

tailrace::FilePart Pattern::file_part() const {
  if (!array) return tailrace::FilePart::runs(runs);
  tailrace::Box box;
  box.num_dims = static_cast<int>(array->extents.size());
  std::copy(array->start.begin(), array->start.end(), box.start.begin());
  std::copy(array->part.begin(), array->part.end(), box.extents.begin());
  const std::vector<tailrace::Box> boxes{box};
  const tailrace::FileArray file_array{0, array->extents, array->item_bytes};
  return tailrace::FilePart::boxes(file_array, boxes, tailrace::Memory::dense(boxes));
}

std::string pattern_names() {
  std::string names;
  for (const auto& maker : makers) names += (names.empty() ? "" : ", ") + std::string(maker.name);
  return names;
}

Pattern make_pattern(const PatternRequest& request, int rank, int num_ranks) {
  const auto* maker = std::find_if(makers.begin(), makers.end(), [&](const Maker& candidate) {
    return request.name == candidate.name;
  });
  if (maker == makers.end()) {
    refuse("no pattern " + request.name + " (there are: " + pattern_names() + ")");
  }
  if (request.block < 1 || request.total < 1 || request.transfer < 0 || request.edge < 0) {
    refuse("block and total bytes must be positive, transfer and n not negative");
  }
  Pattern pattern = maker->make(request, rank, num_ranks);
  const Bytes transfer = request.transfer == 0 && maker->cut ? request.block : request.transfer;
  pattern.transfers = cut(pattern.runs, transfer);
  return pattern;
}

std::vector<std::byte> expected_bytes(const std::vector<FileRun>& runs) {
  std::vector<std::byte> bytes;
  Bytes total = 0;
  for (const auto& run : runs) total += run.bytes;
  bytes.resize(static_cast<std::size_t>(total));
  std::byte* to = bytes.data();
  for (const auto& run : runs) {
    for (Bytes at = run.offset; at < run.end();) {
      const std::uint64_t word = word_at(at / 8);
      const Bytes skip = at % 8;
      const Bytes count = std::min<Bytes>(8 - skip, run.end() - at);
      std::memcpy(to, reinterpret_cast<const std::byte*>(&word) + skip,
                  static_cast<std::size_t>(count));
      to += count;
      at += count;
    }
  }
  return bytes;
}

}  // namespace bench
