// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

/// Fills in dims and memory that a `Variable` leaves open, where they can be. What is made is kept,
/// so that the next write takes no new memory for attributes and coordinates. Local.
class WithDefaults {
 public:
  /// `given` if nothing is open, else a copy of it that is right until the next call.
  const FileContents& of(const FileContents& given, int rank, int num_ranks);

 private:
  FileContents made_;
};

/// Bytes of the variables that `rank` gives. `contents` must be right. Local.
std::ptrdiff_t given_bytes(const FileContents& contents, int rank);

/// Where a variable with a halo, or another order of axes, lies in its array: sets `memory`. Throws
/// if the array has another size, or the form does not fit. Leaves other variables alone. Local.
void set_memory(Variable& variable, int rank);

/// What is wrong with `contents` on this rank (names, dimensions, layouts, memory), if anything.
/// Local.
std::optional<Error> check_contents(const FileContents& contents, int rank, int num_ranks);

/// A digest of what all ranks give alike of a write: the path; names, types, extents and axes of
/// the variables; coordinates and attributes. Local.
std::uint64_t digest_of(const std::string& path, const FileContents& contents);
/// Throws on all ranks alike what of this differs between them, and how; also if a relative path
/// counts from different folders. Collective, blocking.
void require_alike(const Comm& comm, std::string_view who, const std::string& path,
                   const FileContents& contents);

/// Throws on all ranks alike if a rank's layouts, with the boxes of all ranks, are others than
/// those of another rank, or if two boxes of a layout hold the same item. Needed when shapes change
/// on any rank. Collective, blocking.
void require_same_layouts(const Comm& comm, std::string_view who, const FileContents& contents);

/// What a plan for a variable follows from, on one rank.
struct Shape {
  std::string name;
  ItemType type = ItemType::float64;
  Index extents{};
  int num_dims = 0;
  std::vector<Box> boxes;
  Memory memory;
};

std::vector<Shape> shapes_of(const FileContents& contents, int rank);
/// True if `contents` has these shapes on `rank`; names do not matter. Local.
bool same_shapes(const std::vector<Shape>& shapes, const FileContents& contents, int rank);

}  // namespace tailrace::store
