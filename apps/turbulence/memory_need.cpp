// SPDX-License-Identifier: BSD-3-Clause
#include "memory_need.hpp"

#include <fmt/format.h>

#include "common/memory_need.hpp"

namespace tailrace::turbulence {

namespace {

// In arrays of the size of one physical field: what `tailrace bench memory` measures.
constexpr double fields_of_flow = 5.5;
constexpr double fields_of_scalar = 2;
constexpr double fields_of_statistics = 2.3;

}  // namespace

double needed_bytes(const Case& values, const NavierStokesOptions& options, int num_ranks) {
  const double real = values.grid.precision == "single" ? 4 : 8;
  double points = 1;
  for (const auto extent : options.extents) points *= static_cast<double>(extent);
  const auto scalars = static_cast<double>(options.scalars.size());
  double fields = fields_of_flow + fields_of_scalar * scalars + fields_of_statistics;
  if (values.output.every > 0) {
    double written = 0;
    for (const auto& field : values.output.fields) written += field == "scalars" ? scalars : 1;
    const bool narrow = values.output.precision == "single" && real == 8;
    const auto staged = values.output.servers == "hidden"
                            ? static_cast<double>(values.output.buffered_files) + 1
                            : 0;
    fields += written * (1 + staged * (narrow ? 0.5 : 1));
  }
  return points * fields * real / num_ranks;
}

void require_memory(MPI_Comm comm, const Case& values, const NavierStokesOptions& options) {
  int num_ranks = 1;
  check_mpi(MPI_Comm_size(comm, &num_ranks));
  const auto& n = options.extents;
  app::require_memory(
      comm, needed_bytes(values, options, num_ranks),
      fmt::format("{}: {} x {} x {} points (x, y, z)", values.source, n[2], n[1], n[0]),
      "use fewer points, more nodes, or grid.precision = \"single\"");
}

}  // namespace tailrace::turbulence
