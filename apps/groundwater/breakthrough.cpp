// SPDX-License-Identifier: BSD-3-Clause
#include "breakthrough.hpp"

#include <fmt/format.h>

#include "properties.hpp"
#include "tailrace/error.hpp"

namespace tailrace::groundwater {

BreakthroughFile::BreakthroughFile(const Case& values, const Grid& grid, const Chemistry& chemistry,
                                   const std::string& folder, std::int64_t restart_step)
    : comm_(&grid.comm()),
      regions_(values.transport.observe),
      reduction_(*comm_,
                 {.type = NumberType::float64,
                  .max_items = std::ssize(regions_) * (std::ssize(chemistry.primary) + 1)}) {
  for (const auto& species : chemistry.primary) species_.push_back(species.name);
  std::vector<double> counts;
  for (const auto& name : regions_) {
    cells_.push_back(cells_in(grid, find_region(values, name, values.source)));
    counts.push_back(static_cast<double>(cells_.back().size()));
  }
  reduction_.allreduce(std::span(counts));
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    if (counts[r] > 0) continue;
    throw Error(Errc::invalid_input,
                fmt::format("{}: transport.observe: region `{}` has no cell; a cell belongs to a "
                            "region that holds its centre",
                            values.source, regions_[r]));
  }
  run_agreed(comm_->raw(), [&] {
    if (comm_->rank() != 0) return;
    file_.emplace(folder + "/breakthrough.csv", "step,time,region,species,concentration",
                  restart_step);
  });
}

void BreakthroughFile::append(const RunClock& clock, std::span<const double> totals,
                              std::span<const double> water) {
  const std::size_t n = species_.size();
  std::vector<double> sums(regions_.size() * (n + 1));  // of each region: species, then water
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    for (const auto cell : cells_[r]) {
      const auto own = static_cast<std::size_t>(cell);
      for (std::size_t s = 0; s < n; ++s) {
        sums[r * (n + 1) + s] += water[own] * totals[s * water.size() + own];
      }
      sums[r * (n + 1) + n] += water[own];
    }
  }
  reduction_.allreduce(std::span(sums));
  std::string lines;
  for (std::size_t r = 0; r < regions_.size(); ++r) {
    const double all = sums[r * (n + 1) + n];
    for (std::size_t s = 0; s < n; ++s) {
      lines += fmt::format("{},{:.17g},{},{},{:.17g}\n", clock.step, clock.time, regions_[r],
                           species_[s], sums[r * (n + 1) + s] / all);
    }
  }
  run_agreed(comm_->raw(), [&] {
    if (comm_->rank() == 0 && clock.step > file_->last_step()) file_->append(clock.step, lines);
  });
}

}  // namespace tailrace::groundwater
