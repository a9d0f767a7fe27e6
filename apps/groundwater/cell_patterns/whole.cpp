// SPDX-License-Identifier: BSD-3-Clause
// Every rank gets all ids and values and keeps those of its own cells. Plain (groups of one rank):
// each rank opens the file and reads all of it, P N items in all. Grouped: the readers read N items
// together and pass them on. Each rank holds N ids and N values for a while. Nothing is sent about
// where a cell belongs. Source: PFLOTRAN's reading of index maps.
#include "cell_files.hpp"
#include "tailrace/error.hpp"

namespace tailrace::groundwater {

namespace {

struct Arrays {
  std::vector<std::int64_t> ids;
  std::vector<double> values;
};

Arrays read_arrays(const Comm& comm, const CellSource& source, InputStatistics& counts) {
  const Input input = open_cells(comm, source);
  Arrays arrays;
  arrays.ids.resize(static_cast<std::size_t>(input.extents(source.ids)[0]));
  input.read_all(source.ids, item_type<std::int64_t>(), arrays.ids.data());
  arrays.values.assign(arrays.ids.size(), 1.0);
  if (!source.values.empty()) {
    input.read_all(source.values, item_type<double>(), arrays.values.data());
  }
  add_counts(counts, input.statistics());
  return arrays;
}

}  // namespace

std::vector<CellValue> read_whole(const CellSource& source, InputStatistics& counts) {
  const Comm& comm = source.grid.comm();
  Arrays arrays;
  if (source.group_size > 1) {
    arrays = read_arrays(comm, source, counts);
  } else {
    const Comm alone(MPI_COMM_SELF);
    run_agreed(comm.raw(), [&] { arrays = read_arrays(alone, source, counts); });
  }
  std::vector<CellValue> own;
  run_agreed(comm.raw(), [&] {
    CellCursor cursor(source.grid);
    for (std::size_t i = 0; i < arrays.ids.size(); ++i) {
      require_cell(source, arrays.ids[i]);
      const auto number = arrays.ids[i] - 1;
      if (source.grid.owner(cursor.at(number)) != comm.rank()) continue;
      own.push_back({number, arrays.values[i]});
    }
  });
  return own;
}

}  // namespace tailrace::groundwater
