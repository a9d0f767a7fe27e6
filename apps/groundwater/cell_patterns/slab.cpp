// SPDX-License-Identifier: BSD-3-Clause
// Each reader reads one slab of ids and of values, N items in all, and sends each value with its id
// to the rank that owns the cell: one exchange planned from the numbers of items that the ranks
// have for each other (readers times ranks numbers, on each rank). A rank holds its slab and its
// cells. Plain: every rank reads. Grouped: the first rank of each group.
// Source: PFLOTRAN's reading of cell-indexed datasets; Sreepathi et al. (2010) for the groups.
#include <array>
#include <numeric>

#include "cell_files.hpp"
#include "tailrace/error.hpp"
#include "tailrace/exchange.hpp"

namespace tailrace::groundwater {

namespace {

Box run_of(std::ptrdiff_t start, std::ptrdiff_t count) {
  Box box;
  box.num_dims = 1;
  box.start[0] = start;
  box.extents[0] = count;
  return box;
}

/// Equal runs of `count` items, for the first rank of each group.
Layout slabs_of(std::ptrdiff_t count, int num_ranks, int group_size) {
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
  const std::ptrdiff_t readers = (num_ranks + group_size - 1) / group_size;
  for (std::ptrdiff_t r = 0; r < readers; ++r) {
    const auto start = count * r / readers, end = count * (r + 1) / readers;
    if (end > start) {
      boxes[static_cast<std::size_t>(r * group_size)].push_back(run_of(start, end - start));
    }
  }
  return from_boxes({count}, std::move(boxes));
}

/// Items sorted by the rank that they go to, and how many go to each.
struct Parcels {
  std::vector<CellValue> items;
  std::vector<std::int64_t> counts;
};

Parcels parcels_of(const CellSource& source, std::span<const std::int64_t> ids,
                   std::span<const double> values) {
  const Grid& grid = source.grid;
  Parcels parcels;
  parcels.counts.assign(static_cast<std::size_t>(grid.comm().num_ranks()), 0);
  std::vector<int> owners(ids.size());
  CellCursor cursor(grid);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    require_cell(source, ids[i]);
    owners[i] = grid.owner(cursor.at(ids[i] - 1));
    ++parcels.counts[static_cast<std::size_t>(owners[i])];
  }
  std::vector<std::int64_t> next(parcels.counts.size());
  std::exclusive_scan(parcels.counts.begin(), parcels.counts.end(), next.begin(), std::int64_t{0});
  parcels.items.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto& at = next[static_cast<std::size_t>(owners[i])];
    parcels.items[static_cast<std::size_t>(at++)] = {ids[i] - 1, values[i]};
  }
  return parcels;
}

/// Sends every rank what is for it. Collective, blocking.
std::vector<CellValue> deliver(const Comm& comm, const Parcels& parcels, int group_size) {
  const auto ranks = static_cast<std::size_t>(comm.num_ranks());
  const auto step = static_cast<std::size_t>(group_size);
  std::vector<std::int64_t> all((ranks + step - 1) / step * ranks);
  const Comm readers = comm.split(comm.rank() % group_size == 0 ? 0 : 1);
  if (comm.rank() % group_size == 0) {
    check_mpi(MPI_Allgather(parcels.counts.data(), to_int(std::ssize(parcels.counts)), MPI_INT64_T,
                            all.data(), to_int(std::ssize(parcels.counts)), MPI_INT64_T,
                            readers.raw()));
  }
  check_mpi(MPI_Bcast(all.data(), to_int(std::ssize(all)), MPI_INT64_T, 0, comm.raw()));
  std::vector<std::vector<Box>> from(ranks), to(ranks);
  std::ptrdiff_t at = 0, received = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == 0) continue;
    const std::size_t source = i / ranks * step, destination = i % ranks;
    if (from[source].empty()) from[source].push_back(run_of(at, 0));
    from[source].front().extents[0] += all[i];
    to[destination].push_back(run_of(at, all[i]));
    if (static_cast<int>(destination) == comm.rank()) received += all[i];
    at += all[i];
  }
  std::vector<CellValue> own(static_cast<std::size_t>(received));
  if (at == 0) return own;
  const std::array extents{at};
  Exchange exchange(comm, from_boxes(extents, std::move(from)), from_boxes(extents, std::move(to)),
                    {.item_bytes = sizeof(CellValue)}, "untimed");
  exchange.run(std::span(parcels.items), std::span(own));
  return own;
}

}  // namespace

std::vector<CellValue> read_slab(const CellSource& source, InputStatistics& counts) {
  const Comm& comm = source.grid.comm();
  const Input input = open_cells(comm, source);
  const auto layout = slabs_of(input.extents(source.ids)[0], comm.num_ranks(), source.group_size);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(layout.num_items(comm.rank())));
  std::vector<double> values(ids.size(), 1.0);
  input.read(source.ids, layout, std::span(ids));
  if (!source.values.empty()) input.read(source.values, layout, std::span(values));
  add_counts(counts, input.statistics());
  Parcels parcels;
  run_agreed(comm.raw(), [&] { parcels = parcels_of(source, ids, values); });
  return deliver(comm, parcels, source.group_size);
}

}  // namespace tailrace::groundwater
