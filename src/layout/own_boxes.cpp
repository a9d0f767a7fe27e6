// SPDX-License-Identifier: BSD-3-Clause
// Layouts of which each rank knows its own part.
#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace {

namespace {

/// The boxes of all ranks. Collective, blocking.
std::vector<std::vector<Box>> gather_boxes(const Comm& comm, std::span<const Box> own) {
  const auto counts = gather_from_all(comm, to_int(std::ssize(own)));
  std::vector<int> bytes(counts.size()), places(counts.size());
  std::vector<Box> all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  to_int(std::ssize(all) * std::ptrdiff_t{sizeof(Box)});
  std::ranges::transform(counts, bytes.begin(), [](int n) { return n * int{sizeof(Box)}; });
  std::exclusive_scan(bytes.begin(), bytes.end(), places.begin(), 0);
  check_mpi(MPI_Allgatherv(own.data(), static_cast<int>(own.size_bytes()), MPI_BYTE, all.data(),
                           bytes.data(), places.data(), MPI_BYTE, comm.raw()));
  std::vector<std::vector<Box>> boxes;
  auto next = all.begin();
  for (const int count : counts) {
    boxes.emplace_back(next, next + count);
    next += count;
  }
  return boxes;
}

}  // namespace

Layout own_boxes(const Comm& comm, ListOf<std::ptrdiff_t> extents, ListOf<Box> boxes) {
  const std::array arguments{CommonArgument{"extents", per_axis(extents, " x ")}};
  require_same(comm, "own_boxes", arguments);
  return from_boxes(extents, gather_boxes(comm, boxes));
}

Layout own_box(const Comm& comm, ListOf<std::ptrdiff_t> extents, ListOf<std::ptrdiff_t> start,
               ListOf<std::ptrdiff_t> count) {
  Box box;
  run_agreed(comm.raw(), [&] {
    if (start.size() != extents.size() || count.size() != extents.size() ||
        extents.size() > max_dims) {
      refuse_input(
          "own_box: extents has {} entries, start {} and count {}; each needs one for each axis, "
          "and there are at most {} axes",
          extents.size(), start.size(), count.size(), max_dims);
    }
    box.num_dims = static_cast<int>(extents.size());
    std::ranges::copy(start, box.start.begin());
    std::ranges::copy(count, box.extents.begin());
    if (std::ranges::any_of(count, [](auto n) { return n < 0; })) {
      refuse_input("own_box: count ({}) must not be negative; 0 is a rank that holds nothing",
                   per_axis(count));
    }
  });
  return own_boxes(comm, extents, ListOf<Box>(std::span<const Box>(&box, 1)));
}

}  // namespace tailrace
