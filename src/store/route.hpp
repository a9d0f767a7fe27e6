// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "move/strided_copy.hpp"
#include "store/staging.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/output.hpp"
#include "tailrace/plan.hpp"

namespace tailrace::store {

/// A contiguous run of a variable's bytes that this rank writes.
struct Run {
  std::size_t variable = 0;
  std::ptrdiff_t start_bytes = 0;  ///< counted from the dataset's start
  std::ptrdiff_t bytes = 0;
  std::ptrdiff_t staging_bytes = 0;  ///< place in the writer's slot
  std::ptrdiff_t first_row = 0;      ///< of the checksum table
};

/// How the variables of one set of shapes get from the ranks' memory to the writers' staging
/// buffers: file domains, plans, and exchanges if data is not pushed. Made once for a set of
/// shapes.
class Route {
 public:
  struct Setting {
    std::span<const int> writers;
    std::ptrdiff_t stripe_bytes = 0;
    std::string_view method;  ///< "push" or a name of `move_methods()`
  };
  /// Collective, blocking. Throws on all ranks.
  Route(const Comm& comm, const FileContents& contents, const Setting& setting);

  /// True if `contents` has the same shapes on this rank. Local.
  bool fits(const FileContents& contents, int rank) const;
  const std::vector<Run>& runs() const { return runs_; }
  /// Rows of the checksum table of all writers.
  std::ptrdiff_t table_rows() const { return table_rows_; }
  /// Bytes this rank's slot must hold.
  std::ptrdiff_t staging_bytes() const { return staging_bytes_; }
  /// Brings the data into slot `slot` of the writers. The caller synchronises the ranks before and
  /// after if data is pushed. Collective.
  void move(const FileContents& contents, const Staging& staging, int slot);

 private:
  struct Shape {
    ItemType type;
    Index extents;
    int num_dims;
    std::vector<Box> boxes;
    Memory memory;
  };
  // One piece that this rank pushes to a writer.
  struct Push {
    std::size_t variable;
    int writer;                    // its rank
    std::ptrdiff_t staging_bytes;  // where the variable is in the writer's slot
    StridedCopy copy;
  };
  // Where a writer's run of a variable is: first item, and place in its slot.
  struct Target {
    std::ptrdiff_t first_item = 0;
    std::ptrdiff_t staging_bytes = 0;
  };
  void add_pushes(const Shape& shape, const Plan& plan, const std::vector<Target>& targets);
  void add_variable(const Comm& comm, const Variable& variable, const Setting& setting,
                    std::vector<std::ptrdiff_t>& filled);

  std::vector<Shape> shapes_;
  std::vector<Push> pushes_;
  std::vector<int> writers_;
  int rank_;
  std::vector<Run> runs_;
  std::vector<std::ptrdiff_t> own_staging_;  // of each variable in this rank's slot
  std::vector<Exchange> exchanges_;
  std::ptrdiff_t table_rows_ = 0;
  std::ptrdiff_t staging_bytes_ = 0;
};

/// Rows of the checksum table for a run of `bytes` that starts at `start_bytes` of its dataset.
std::ptrdiff_t num_pieces(std::ptrdiff_t start_bytes, std::ptrdiff_t bytes);

}  // namespace tailrace::store
