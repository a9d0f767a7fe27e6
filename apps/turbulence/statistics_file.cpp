// SPDX-License-Identifier: BSD-3-Clause
#include "statistics_file.hpp"

#include <fmt/format.h>

namespace tailrace::turbulence {

namespace {

std::string statistics_header(int num_scalars) {
  std::string text =
      "step,time,energy,dissipation,enstrophy,helicity,u_rms,lambda,re_lambda,eta,kmax_eta,"
      "integral_length,skewness,courant,dt,power,divergence_max";
  for (int s = 0; s < num_scalars; ++s) {
    text += fmt::format(",scalar_{0}_variance,scalar_{0}_dissipation", s);
  }
  return text;
}

}  // namespace

StatisticsFiles::StatisticsFiles(const Comm& comm, const std::string& folder, int num_scalars,
                                 std::int64_t restart_step)
    : comm_(comm.raw()), rank_(comm.rank()) {
  run_agreed(comm_, [&] {
    if (rank_ != 0) return;
    statistics_.emplace(folder + "/statistics.csv", statistics_header(num_scalars), restart_step);
    spectrum_.emplace(folder + "/spectrum.csv", "step,time,k,E", restart_step);
  });
}

void StatisticsFiles::append(const Statistics& now) {
  run_agreed(comm_, [&] {
    if (rank_ != 0) return;
    auto line = fmt::format(
        "{},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}"
        ","
        "{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}",
        now.step, now.time, now.energy, now.dissipation, now.enstrophy, now.helicity, now.u_rms,
        now.lambda, now.re_lambda, now.eta, now.kmax_eta, now.integral_length, now.skewness,
        now.courant, now.dt, now.power, now.divergence_max);
    for (std::size_t s = 0; s < now.scalar_variance.size(); ++s) {
      line += fmt::format(",{:.17g},{:.17g}", now.scalar_variance[s], now.scalar_dissipation[s]);
    }
    if (now.step > statistics_->last_step()) statistics_->append(now.step, line + "\n");
    std::string table;
    for (std::size_t s = 0; s < now.spectrum.size(); ++s) {
      table += fmt::format("{},{:.17g},{:.17g},{:.17g}\n", now.step, now.time,
                           static_cast<double>(s) * now.shell_width, now.spectrum[s]);
    }
    if (now.step > spectrum_->last_step()) spectrum_->append(now.step, table);
  });
}

}  // namespace tailrace::turbulence
