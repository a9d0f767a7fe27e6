// SPDX-License-Identifier: BSD-3-Clause
#include "balance.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tailrace::groundwater {

BalanceFile::BalanceFile(const Comm& comm, const std::string& folder,
                         const std::vector<FlowTerm>& terms, std::int64_t restart_step)
    : comm_(&comm),
      reduction_(comm, {.type = NumberType::float64,
                        .max_items = std::max<std::ptrdiff_t>(std::ssize(terms), 1)}) {
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    std::string header = "step,time,dt,storage";
    for (const auto& term : terms) header += "," + term.name;
    header += ",error,relative_error,newton,linear";
    file_.emplace(folder + "/balance.csv", header, restart_step);
  });
}

void BalanceFile::append(const RunClock& clock, const StepOutcome& outcome,
                         std::vector<FlowTerm> terms) {
  std::vector<double> rates;
  for (const auto& term : terms) rates.push_back(term.rate);
  if (!rates.empty()) reduction_.allreduce(std::span(rates));
  for (std::size_t t = 0; t < terms.size(); ++t) terms[t].rate = rates[t];
  last_ = std::move(terms);
  const double relative = outcome.relative_error();
  worst_ = std::max(worst_, relative);
  run_agreed(comm_->raw(), [&] {
    if (comm_->rank() != 0 || clock.step <= file_->last_step()) return;
    auto line = fmt::format("{},{:.17g},{:.17g},{:.17g}", clock.step, clock.time, clock.dt,
                            outcome.storage);
    for (const auto& term : last_) line += fmt::format(",{:.17g}", term.rate);
    line += fmt::format(",{:.3g},{:.3g},{},{}\n", outcome.error, relative, outcome.iterations,
                        outcome.linear_iterations);
    file_->append(clock.step, line);
  });
}

}  // namespace tailrace::groundwater
