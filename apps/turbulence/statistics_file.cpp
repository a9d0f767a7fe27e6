// SPDX-License-Identifier: BSD-3-Clause
#include "statistics_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "core/whole_file.hpp"

namespace tailrace::turbulence {

namespace {

[[noreturn]] void fail(const std::string& path, std::int64_t step) {
  const int code = errno;
  throw Error(Errc::io,
              fmt::format("cannot write {} at step {}: {}", path, step, std::strerror(code)), code);
}

std::string statistics_header(int num_scalars) {
  std::string text =
      "step,time,energy,dissipation,enstrophy,helicity,u_rms,lambda,re_lambda,eta,kmax_eta,"
      "integral_length,skewness,courant,dt,power,divergence_max";
  for (int s = 0; s < num_scalars; ++s) {
    text += fmt::format(",scalar_{0}_variance,scalar_{0}_dissipation", s);
  }
  return text;
}

/// Lines of a table that begin with a step up to `last`; the header and torn lines are left out.
std::string lines_until(const std::string& path, std::int64_t last) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const bool whole = !file.eof();  // a line without its end was cut off by a crash
    char* end = nullptr;
    const long step = std::strtol(line.c_str(), &end, 10);
    if (whole && end != line.c_str() && *end == ',' && step <= last) kept += line + "\n";
  }
  return kept;
}

void write_text(std::FILE* file, const std::string& path, const std::string& text,
                std::int64_t step) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) fail(path, step);
  if (std::fflush(file) != 0) fail(path, step);
}

}  // namespace

StatisticsFiles::StatisticsFiles(const Comm& comm, const std::string& folder, int num_scalars,
                                 std::int64_t restart_step)
    : comm_(comm.raw()),
      rank_(comm.rank()),
      statistics_path_(folder + "/statistics.csv"),
      spectrum_path_(folder + "/spectrum.csv") {
  run_agreed(comm_, [&] {
    if (rank_ != 0) return;
    statistics_ = open(statistics_path_, statistics_header(num_scalars), restart_step);
    spectrum_ = open(spectrum_path_, "step,time,k,E", restart_step);
  });
}

StatisticsFiles::File StatisticsFiles::open(const std::string& path, const std::string& header,
                                            std::int64_t restart_step) {
  const std::string kept = restart_step >= 0 ? lines_until(path, restart_step) : "";
  if (!kept.empty()) {
    const auto last_line = kept.rfind('\n', kept.size() - 2);
    last_step_ = std::strtol(kept.c_str() + (last_line == std::string::npos ? 0 : last_line + 1),
                             nullptr, 10);
  }
  // The old table stays whole until the shortened one is complete.
  write_whole_file(path, header + "\n" + kept);
  File file(std::fopen(path.c_str(), "a"));
  if (file == nullptr) fail(path, restart_step < 0 ? 0 : restart_step);
  return file;
}

void StatisticsFiles::append(const Statistics& now) {
  run_agreed(comm_, [&] {
    if (rank_ != 0 || now.step <= last_step_) return;
    std::string line = fmt::format(
        "{},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}"
        ","
        "{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}",
        now.step, now.time, now.energy, now.dissipation, now.enstrophy, now.helicity, now.u_rms,
        now.lambda, now.re_lambda, now.eta, now.kmax_eta, now.integral_length, now.skewness,
        now.courant, now.dt, now.power, now.divergence_max);
    for (std::size_t s = 0; s < now.scalar_variance.size(); ++s) {
      line += fmt::format(",{:.17g},{:.17g}", now.scalar_variance[s], now.scalar_dissipation[s]);
    }
    write_text(statistics_.get(), statistics_path_, line + "\n", now.step);
    std::string table;
    for (std::size_t s = 0; s < now.spectrum.size(); ++s) {
      table += fmt::format("{},{:.17g},{:.17g},{:.17g}\n", now.step, now.time,
                           static_cast<double>(s) * now.shell_width, now.spectrum[s]);
    }
    write_text(spectrum_.get(), spectrum_path_, table, now.step);
    last_step_ = now.step;
  });
}

}  // namespace tailrace::turbulence
