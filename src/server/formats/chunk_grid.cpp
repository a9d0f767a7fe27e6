// SPDX-License-Identifier: BSD-3-Clause
#include "server/formats/chunk_grid.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "core/round_up.hpp"

namespace tailrace::server {
namespace {

constexpr std::ptrdiff_t least_file_bytes = 64 << 10;
constexpr std::ptrdiff_t most_files = 1 << 14;

// What the boundaries between servers are multiples of, along each axis; 0: there are none. If the
// smallest boxes around the parts of the servers are disjoint, only their faces matter.
Index steps_between(std::span<const std::ptrdiff_t> extents, std::span<const Boxes> boxes) {
  Boxes bounds;
  for (const auto& own : boxes) {
    if (own.empty()) continue;
    bounds.push_back(std::accumulate(own.begin(), own.end(), own.front(), bounds_of));
  }
  Index steps{};
  if (bounds.size() < 2) return steps;
  bool disjoint = true;
  for (std::size_t a = 0; disjoint && a < bounds.size(); ++a) {
    for (std::size_t b = 0; disjoint && b < a; ++b) {
      disjoint = intersect(bounds[a], bounds[b]).empty();
    }
  }
  const auto add = [&](const Box& box) {
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const auto end = box.start[d] + box.extents[d];
      steps[d] = std::gcd(steps[d], box.start[d]);
      if (end < extents[d]) steps[d] = std::gcd(steps[d], end);
    }
  };
  if (disjoint) {
    for (const auto& box : bounds) add(box);
  } else {
    for (const auto& own : boxes) {
      for (const auto& box : own) add(box);
    }
  }
  return steps;
}

std::ptrdiff_t bytes_of(const Index& extents, std::size_t dims, std::ptrdiff_t item_bytes) {
  return std::accumulate(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(dims),
                         item_bytes, std::multiplies<>());
}

// The largest divisor of `number` that is at most `most`.
std::ptrdiff_t divisor_up_to(std::ptrdiff_t number, std::ptrdiff_t most) {
  for (auto count = divide_up(number, std::max<std::ptrdiff_t>(most, 1)); count < number; ++count) {
    if (number % count == 0) return number / count;
  }
  return 1;
}

// Halves the longest axis until `most_bytes` hold a chunk.
Index chunk_within(Index chunk, const Index& steps, std::size_t dims, std::ptrdiff_t item_bytes,
                   std::ptrdiff_t most_bytes) {
  while (bytes_of(chunk, dims, item_bytes) > most_bytes) {
    const auto end = chunk.begin() + static_cast<std::ptrdiff_t>(dims);
    const auto longest = std::max_element(chunk.begin(), end);
    if (*longest == 1) break;
    const auto half = divide_up(*longest, 2);
    *longest = steps[static_cast<std::size_t>(longest - chunk.begin())] == 0
                   ? half
                   : divisor_up_to(*longest, half);
  }
  return chunk;
}

// As many chunks as fit, along the fastest axis first.
Index shard_within(const ChunkGrid& grid, const Index& steps, std::ptrdiff_t item_bytes,
                   std::ptrdiff_t most_bytes) {
  const auto dims = static_cast<std::size_t>(grid.num_dims);
  Index shard = grid.chunk;
  for (auto d = dims; d-- > 0;) {
    const auto room = std::max<std::ptrdiff_t>(most_bytes / bytes_of(shard, dims, item_bytes), 1);
    const auto all = steps[d] == 0 ? divide_up(grid.extents[d], shard[d]) : steps[d] / shard[d];
    shard[d] *= steps[d] == 0 ? std::clamp<std::ptrdiff_t>(all, 1, room)
                              : divisor_up_to(all, std::min(all, room));
  }
  return shard;
}

}  // namespace

RowMajor ChunkGrid::shards() const { return cells_of({num_dims, extents}, shard); }
RowMajor ChunkGrid::chunks_of_shard() const { return cells_of({num_dims, shard}, chunk); }

Box ChunkGrid::shard_box(std::int64_t number) const { return cell_box(shards(), number, shard); }

Box ChunkGrid::chunk_box(const Box& shard_box, std::ptrdiff_t number) const {
  Box box = cell_box(chunks_of_shard(), number, chunk);
  box.start = sum(box.start, shard_box.start);
  return box;
}

std::vector<std::int64_t> ChunkGrid::shards_touching(const Box& box) const {
  const auto cells = cells_touching(box, shard);
  std::vector<std::int64_t> found;
  const auto all = shards();
  const RowMajor inside{num_dims, cells.extents};
  for (std::ptrdiff_t i = 0; i < inside.num_items(); ++i) {
    found.push_back(all.linear(sum(cells.start, inside.place_of(i))));
  }
  return found;
}

ChunkGrid choose_grid(std::span<const std::ptrdiff_t> extents, std::ptrdiff_t item_bytes,
                      const Encoding& encoding, std::span<const Boxes> boxes) {
  const auto dims = extents.size();
  ChunkGrid grid{static_cast<int>(dims), {}, {}, {}};
  std::copy(extents.begin(), extents.end(), grid.extents.begin());
  const auto largest = [&](const Index& steps) {
    Index cell{};
    for (std::size_t d = 0; d < dims; ++d) {
      cell[d] = std::max<std::ptrdiff_t>(steps[d] == 0 ? extents[d] : steps[d], 1);
    }
    return cell;
  };
  if (encoding.chunk.size() == dims) {
    for (std::size_t d = 0; d < dims; ++d) {
      grid.chunk[d] = std::min(encoding.chunk[d], std::max<std::ptrdiff_t>(extents[d], 1));
    }
    grid.shard = shard_within(grid, {}, item_bytes, encoding.shard_bytes);
    return grid;
  }
  auto steps = steps_between(extents, boxes);
  auto chunk_bytes = encoding.chunk_bytes;
  auto shard_bytes = encoding.shard_bytes;
  const auto least = std::min(least_file_bytes, chunk_bytes / 16);
  if (bytes_of(largest(steps), dims, item_bytes) < least) {
    // Shards that are shared pass through the leader (shared_cells.hpp): few and small ones.
    steps = {};
    const auto spread = bytes_of(grid.extents, dims, item_bytes) / most_files;
    chunk_bytes = std::max(chunk_bytes, std::min(spread, std::ptrdiff_t{1} << 30));
    shard_bytes = 0;
  }
  grid.chunk = chunk_within(largest(steps), steps, dims, item_bytes, chunk_bytes);
  grid.shard = shard_within(grid, steps, item_bytes, shard_bytes);
  return grid;
}

std::vector<std::int64_t> shared_shards(const ChunkGrid& grid, std::span<const Boxes> boxes) {
  constexpr std::size_t several = SIZE_MAX;
  std::unordered_map<std::int64_t, std::size_t> holder;
  std::vector<std::int64_t> shared;
  for (std::size_t s = 0; s < boxes.size(); ++s) {
    for (const auto& box : boxes[s]) {
      for (const auto shard : grid.shards_touching(box)) {
        auto& known = holder.emplace(shard, s).first->second;
        if (known == s || known == several) continue;
        known = several;
        shared.push_back(shard);
      }
    }
  }
  std::ranges::sort(shared);
  return shared;
}

}  // namespace tailrace::server
