// SPDX-License-Identifier: BSD-3-Clause
#include "cell_files.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "halo.hpp"
#include "tailrace/error.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::groundwater {

namespace {

constexpr std::array patterns{
    CellPattern{"whole", read_whole, "every rank gets all ids and values of the file"},
    CellPattern{"slab", read_slab,
                "each reader reads a slab; values go to the ranks that own the cells"},
};

const CellPattern& pattern_of(const Case& values) {
  return *std::find_if(patterns.begin(), patterns.end(),
                       [&](const auto& pattern) { return values.cells.pattern == pattern.name; });
}

/// Up to 16 readers where the case leaves the choice.
int group_size_of(const Case& values, int num_ranks) {
  if (values.cells.group_size > 0) {
    return static_cast<int>(std::min<std::int64_t>(values.cells.group_size, num_ranks));
  }
  return (num_ranks + 15) / 16;
}

/// Reads datasets of one case, one after the other.
class Reader {
 public:
  Reader(const Case& values, const Grid& grid)
      : grid_(grid),
        read_(pattern_of(values).read),
        path_(values.cells.file),
        group_size_(group_size_of(values, grid.comm().num_ranks())),
        halo_(grid) {}

  /// The values of wide cells; each cell must have one.
  std::vector<double> all_cells(const std::string& ids, const std::string& values) {
    std::vector<double> own(static_cast<std::size_t>(grid_.num_own()), NAN);
    const auto found = read({grid_, path_, ids, values, group_size_});
    run_agreed(grid_.comm().raw(), [&] {
      CellCursor cursor(grid_);
      for (const auto& [cell, value] : found) {
        auto& place = own[own_index(cursor.at(cell))];
        if (!std::isnan(place)) refuse(ids, "gives cell {} twice", cell);
        if (!std::isfinite(value)) refuse(values, "has no number for cell {}", cell);
        place = value;
      }
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (!std::isnan(own[i])) continue;
        refuse(ids, "lacks cell {}",
               number_of_cell(grid_, grid_.own_cell(static_cast<std::ptrdiff_t>(i))));
      }
    });
    return widened(own);
  }
  /// The numbers of the wide cells among those of `ids`, ascending.
  std::vector<std::int64_t> some_cells(const std::string& ids) {
    std::vector<double> own(static_cast<std::size_t>(grid_.num_own()), 0.0);
    CellCursor cursor(grid_);
    for (const auto& found : read({grid_, path_, ids, "", group_size_})) {
      own[own_index(cursor.at(found.cell))] = 1;
    }
    const auto wide = widened(own);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      if (wide[i] == 0) continue;
      numbers.push_back(number_of_cell(grid_, grid_.wide_cell(static_cast<std::ptrdiff_t>(i))));
    }
    return numbers;  // ascending, as wide cells are
  }
  /// Throws on all ranks unless `good`, the value of wide cell `i` at fault otherwise. Collective.
  template <class Good>
  void require(const std::string& dataset, std::span<const double> wide, Good good,
               const char* what) {
    run_agreed(grid_.comm().raw(), [&] {
      for (std::size_t i = 0; i < wide.size(); ++i) {
        if (good(wide[i])) continue;
        const auto cell =
            number_of_cell(grid_, grid_.wide_cell(static_cast<std::ptrdiff_t>(i))) + 1;
        throw Error(Errc::invalid_input, fmt::format("{}: dataset {} has {} for cell {}: {}", path_,
                                                     dataset, wide[i], cell, what));
      }
    });
  }
  const InputStatistics& counts() const { return counts_; }
  int group_size() const { return group_size_; }

 private:
  std::vector<CellValue> read(const CellSource& source) { return read_(source, counts_); }
  std::vector<double> widened(std::span<const double> own) {
    std::vector<double> wide(static_cast<std::size_t>(grid_.num_wide()));
    halo_.fill(own, wide);
    return wide;
  }
  std::size_t own_index(const Cell& cell) const {
    return static_cast<std::size_t>(grid_.own_index(cell));
  }
  [[noreturn]] void refuse(const std::string& dataset, const char* what, std::int64_t cell) const {
    throw Error(Errc::invalid_input, fmt::format("{}: dataset {} {}", path_, dataset,
                                                 fmt::format(fmt::runtime(what), cell + 1)));
  }

  const Grid& grid_;
  std::vector<CellValue> (*read_)(const CellSource&, InputStatistics&);
  std::string path_;
  int group_size_;
  Halo halo_;
  InputStatistics counts_;
};

/// Sums over the ranks; times: the longest. Collective.
InputStatistics over_ranks(const Comm& comm, InputStatistics mine) {
  std::array<std::int64_t, 4> sums{mine.opens, mine.reads, mine.bytes_read, mine.checked};
  std::array<double, 2> times{mine.io_s, mine.move_s};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 4, MPI_INT64_T, MPI_SUM, comm.raw()));
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, times.data(), 2, MPI_DOUBLE, MPI_MAX, comm.raw()));
  return {sums[0], sums[1], sums[2], sums[3], times[0], times[1]};
}

bool has_id(const Case& values, double id) {
  const auto& materials = values.flow.materials.items;
  return std::any_of(materials.begin(), materials.end(),
                     [&](const auto& m) { return static_cast<double>(m.id) == id; });
}

}  // namespace

std::span<const CellPattern> cell_patterns() { return patterns; }

Input open_cells(const Comm& comm, const CellSource& source) {
  InputOptions options;
  options.group_size = source.group_size;
  Input input(comm, source.path, options);
  const auto extents = input.extents(source.ids);
  const bool fit = source.values.empty() || input.extents(source.values) == extents;
  if (extents.size() == 1 && fit) return input;
  throw Error(Errc::invalid_input,
              fmt::format("{}: datasets {} and {} must have one axis of the same length",
                          source.path, source.ids, source.values));
}

void add_counts(InputStatistics& counts, const InputStatistics& more) {
  counts.opens += more.opens;
  counts.reads += more.reads;
  counts.bytes_read += more.bytes_read;
  counts.checked += more.checked;
  counts.io_s += more.io_s;
  counts.move_s += more.move_s;
}

void require_cell(const CellSource& source, std::int64_t id) {
  const auto [nz, ny, nx] = source.grid.extents();
  if (id >= 1 && id <= nz * ny * nx) return;
  throw Error(Errc::invalid_input, fmt::format("{}: dataset {} holds cell {}, but the grid has "
                                               "cells 1 to {}",
                                               source.path, source.ids, id, nz * ny * nx));
}

Cell cell_of_number(const Grid& grid, std::int64_t number) {
  const auto [nz, ny, nx] = grid.extents();
  return {number / (nx * ny), number / nx % ny, number % nx};
}

std::int64_t number_of_cell(const Grid& grid, const Cell& cell) {
  const auto [nz, ny, nx] = grid.extents();
  return (cell[0] * ny + cell[1]) * nx + cell[2];
}

CellData read_cells(const Case& values, const Grid& grid) {
  CellData data;
  data.regions = values.grid.regions.items;
  const auto& cells = values.cells;
  if (cells.file.empty()) return data;
  const double start = now_s();
  Reader reader(values, grid);
  if (!cells.permeability.empty()) {
    data.permeability = reader.all_cells("Cell Ids", cells.permeability);
    reader.require(
        cells.permeability, data.permeability, [](double k) { return k > 0; },
        "a permeability must be above 0");
  }
  if (cells.materials) {
    const char* name = "Materials/Material Ids";
    const auto ids = reader.all_cells("Materials/Cell Ids", name);
    reader.require(
        name, ids, [&](double id) { return has_id(values, id); },
        "no [[flow.materials]] has this `id`");
    data.materials.assign(ids.begin(), ids.end());
  }
  for (auto& region : data.regions) {
    if (!region.in_file) continue;
    region.cells = std::make_shared<const std::vector<std::int64_t>>(
        reader.some_cells(fmt::format("Regions/{}/Cell Ids", region.name)));
  }
  data.counts = over_ranks(grid.comm(), reader.counts());
  data.group_size = reader.group_size();
  data.read_s = now_s() - start;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &data.read_s, 1, MPI_DOUBLE, MPI_MAX, grid.comm().raw()));
  return data;
}

Case with_regions(const Case& values, const CellData& cells) {
  Case copy = values;
  copy.grid.regions.items = cells.regions;
  return copy;
}

}  // namespace tailrace::groundwater
