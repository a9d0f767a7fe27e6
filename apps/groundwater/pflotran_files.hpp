// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "common/file_series.hpp"
#include "state_files.hpp"

namespace tailrace::groundwater {

/// Writes fields as PFLOTRAN's snapshot files of one time each hold them: `Coordinates` (`X [m]`,
/// ...: the walls of the cells), and a group "Time:  1.00000E+00 y" with a dataset of axes
/// (x, y, z) each, named with its unit as PFLOTRAN names it. What PFLOTRAN does not know is called
/// NAME [UNIT]. Units as `[output] time_unit` and `[cells] mobility` of the case say. Collective.
/// Throws `Errc::io` on all ranks.
void write_pflotran_file(app::FileSeries& series, const Grid& grid, const Case& values,
                         const RunClock& clock, std::vector<NamedField> fields);

}  // namespace tailrace::groundwater
