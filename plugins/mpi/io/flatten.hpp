// SPDX-License-Identifier: BSD-3-Clause
// Which bytes a datatype means, as runs.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tailrace/more/file.hpp"

namespace tailrace::plugins {

// The bytes of one item of a type: runs in the order of its type map, counted from where the item
// starts; neighbours are joined. The next item starts `extent` bytes later.
struct TypeRuns {
  std::vector<FileRun> runs;
  std::int64_t bytes = 0;
  std::int64_t extent = 0;
  // One run from the start to the next item: items lie side by side without gaps.
  bool is_dense() const {
    return runs.size() == 1 && runs[0].offset == 0 && runs[0].bytes == extent;
  }
};

// Most runs that a type or a call may have: with more, MPI's own way is taken.
constexpr std::size_t most_runs = std::size_t{1} << 21;

// The runs of a type, by what it was made of (MPI_Type_get_contents). Nothing if it has gaps that
// are not of its making (MPI_DOUBLE_INT), is made in a way not known here, or has too many. Local.
std::optional<TypeRuns> runs_of(MPI_Datatype type);

// The bytes that a view shows of a file (MPI_File_set_view), or that a buffer of items has.
class View {
 public:
  // From byte 0 on, all of them.
  View();
  // `type` again and again from byte `start` on. `has_order`: its runs must ascend, also from one
  // item to the next, as those of a file must. Not usable if the type cannot be told in runs.
  View(std::int64_t start, MPI_Datatype type, bool has_order);

  bool is_usable() const { return usable_; }
  // Where `bytes` of the shown bytes from number `first` on lie, in order, neighbours joined; false
  // if these are more than `most_runs`. Local.
  bool find(std::int64_t first, std::int64_t bytes, std::vector<FileRun>& found) const;

 private:
  std::int64_t start_ = 0;
  TypeRuns type_;
  std::vector<std::int64_t> begins_;  // bytes shown before each run of the type
  bool usable_ = true;
};

}  // namespace tailrace::plugins
