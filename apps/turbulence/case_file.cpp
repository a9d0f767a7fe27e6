// SPDX-License-Identifier: BSD-3-Clause
// Reading a case file on one rank, and writing the effective case.
#include <fmt/format.h>

#include "case.hpp"
#include "common/case_text.hpp"
#include "grid_check.hpp"

namespace tailrace::turbulence {

std::string format_case(const Case& values) {
  Case copy = values;
  return fmt::format("# The whole case, as run; made from {}\n", values.source) +
         app::format_toml(keys_of(copy), values.given);
}

std::string describe_keys() {
  Case values;
  return app::format_markdown(keys_of(values));
}

Case read_case(MPI_Comm comm, const std::string& path, std::span<const std::string> settings) {
  return parse_case(app::read_case_text(comm, path), path, settings);
}

Case check_case(const std::string& path, std::span<const std::string> settings, int num_ranks) {
  Case values = parse_case(app::read_case_text(path), path, settings);
  Case any_grid = values;
  if (app::ranks_may_serve(values.output)) any_grid.grid.ranks = {0, 0};
  require_flow_on_grid(values, solver_options(any_grid, num_ranks));
  return values;
}

}  // namespace tailrace::turbulence
