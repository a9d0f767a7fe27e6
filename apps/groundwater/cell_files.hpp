// SPDX-License-Identifier: BSD-3-Clause
// Data of cells in PFLOTRAN's layout: a dataset `Cell Ids` beside the datasets of values, in any
// order. Cell ids count from 1, along x first, then y, then z.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "case.hpp"
#include "grid.hpp"
#include "tailrace/input.hpp"

namespace tailrace::groundwater {

/// The value of one cell; `cell` is its natural number, from 0: (z * ny + y) * nx + x.
struct CellValue {
  std::int64_t cell = 0;
  double value = 0;
};

/// Two datasets of one file to read, and how.
struct CellSource {
  const Grid& grid;
  std::string path;
  std::string ids;     ///< dataset of the cell ids
  std::string values;  ///< dataset of as many numbers; empty = every value is 1
  int group_size = 1;  ///< ranks that share a reader, the first of them
};

/// A way to read such data: gives each rank the values of its own cells, in any order, and adds
/// what this rank read to `counts`. `read` is collective, blocking, and throws on all ranks alike
/// `Errc::invalid_input` for a missing dataset or an id outside the grid, `Errc::io`.
struct CellPattern {
  const char* name;
  std::vector<CellValue> (*read)(const CellSource& source, InputStatistics& counts);
  const char* summary;
};

/// All patterns; the first is the plain reference. Local.
std::span<const CellPattern> cell_patterns();

/// What the cells.* keys and the regions of a case take from its file.
struct CellData {
  std::vector<double> permeability;     ///< of the wide cells [m^2]; empty = none
  std::vector<std::int64_t> materials;  ///< `flow.materials.id` of the wide cells; empty = none
  std::vector<RegionCase> regions;      ///< of the case, those of the file with their cells
  InputStatistics counts;               ///< sums over all ranks; times: the longest
  double read_s = 0;                    ///< of all that: files, moving, checking; the longest
  int group_size = 0;                   ///< that was used; 0 = nothing was read
};

/// Reads what the case asks for; every cell must have one permeability above 0 and one material
/// that the case has. Throws on all ranks alike: `Errc::invalid_input`, naming file, dataset and
/// cell, or `Errc::io`. Collective, blocking.
CellData read_cells(const Case& values, const Grid& grid);

/// The case, with the cells of those regions that its file of cells lists. Local.
Case with_regions(const Case& values, const CellData& cells);

/// Opens the file for `source` on `comm`. Throws as `Input` does, and `Errc::invalid_input` unless
/// the datasets have one axis of the same length. Collective over `comm`, blocking.
Input open_cells(const Comm& comm, const CellSource& source);

/// Adds the numbers of `more` to `counts`. Local.
void add_counts(InputStatistics& counts, const InputStatistics& more);

/// Throws `Errc::invalid_input` unless `id` is that of a cell of the grid. Local.
void require_cell(const CellSource& source, std::int64_t id);

/// The cell of a natural number from 0, and the number of a cell. Local.
Cell cell_of_number(const Grid& grid, std::int64_t number);
std::int64_t number_of_cell(const Grid& grid, const Cell& cell);

/// Cells of natural numbers from 0, without divisions where numbers follow each other.
class CellCursor {
 public:
  explicit CellCursor(const Grid& grid) : grid_(grid), row_(grid.extents()[2]) {}
  const Cell& at(std::int64_t number) {
    if (number == last_ + 1 && cell_[2] + 1 < row_) {
      ++cell_[2];
    } else {
      cell_ = cell_of_number(grid_, number);
    }
    last_ = number;
    return cell_;
  }

 private:
  const Grid& grid_;
  std::ptrdiff_t row_;
  std::int64_t last_ = -2;
  Cell cell_{};
};

// The patterns (cell_patterns/*.cpp); see the table in cell_files.cpp.
std::vector<CellValue> read_whole(const CellSource& source, InputStatistics& counts);
std::vector<CellValue> read_slab(const CellSource& source, InputStatistics& counts);

}  // namespace tailrace::groundwater
