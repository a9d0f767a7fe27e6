// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "common/checkpoint_series.hpp"
#include "common/file_series.hpp"
#include "flow.hpp"
#include "grid.hpp"

namespace tailrace::groundwater {

/// A field of own cells, as it goes to files.
struct NamedField {
  std::string name, long_name, unit;
  std::vector<double> values;
  /// Axes before (z, y, x): what there are several of in each cell.
  std::vector<std::pair<std::string, std::ptrdiff_t>> sets = {};
};

/// The fields of `[output] fields` at the pressure heads `h` of own cells; fluxes as last
/// evaluated. Local.
std::vector<NamedField> output_fields(const Case& values, const FlowEquations& equations,
                                      std::span<const double> h);

/// Where a run is.
struct RunClock {
  std::int64_t step = 0;
  double time = 0, dt = 0;  ///< [s]
};

/// Writes fields to a file of the series: a dataset of axes (z, y, x) each, with the centres of
/// cells as coordinates. `title` is the case's name. Collective. Throws `Errc::io` on all ranks.
void write_field_file(app::FileSeries& series, const Grid& grid, const std::string& title,
                      const RunClock& clock, const std::vector<NamedField>& fields);

/// Writes the state of own cells as a checkpoint. Collective. Throws `Errc::io` on all ranks.
void write_checkpoint(app::CheckpointSeries& series, const Grid& grid, const RunClock& clock,
                      const std::vector<NamedField>& state);

/// Fills `state` (by its names) from a checkpoint, made on any number of ranks. Throws on all
/// ranks: `Errc::io` if it is missing, `Errc::corrupt` if damaged, `Errc::invalid_input` if it is
/// of another grid or lacks a field. Collective, blocking.
RunClock read_checkpoint(const Grid& grid, const std::string& path, std::vector<NamedField>& state);

}  // namespace tailrace::groundwater
