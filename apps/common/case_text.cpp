// SPDX-License-Identifier: BSD-3-Clause
#include "common/case_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"

namespace tailrace::app {

namespace {

/// Reads a file; returns errno, 0 if all went well.
int read_text(const std::string& path, std::string& text) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream content;
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) content << file.rdbuf();
  text = content.str();
  if (file.is_open() && !file.bad()) return 0;
  return errno != 0 ? errno : EIO;
}

/// The name of a case: `name`, or, if that is empty, of its file without folder and suffix.
std::string case_name(const std::string& name, const std::string& source) {
  auto chosen = name;
  if (chosen.empty()) {
    chosen = source.substr(source.find_last_of('/') + 1);
    chosen = chosen.substr(0, chosen.find('.'));
  }
  if (!chosen.empty() && chosen.find('/') == std::string::npos) return chosen;
  throw Error(Errc::invalid_input,
              source + ": `case.name` must be usable as a file name, without a slash");
}

void refuse_unread(const std::string& path, int code) {
  if (code == 0) return;
  throw Error(Errc::io, fmt::format("cannot read case file {}: {}", path, std::strerror(code)),
              code);
}

}  // namespace

std::string read_case_text(const std::string& path) {
  std::string text;
  refuse_unread(path, read_text(path, text));
  return text;
}

std::string read_case_text(MPI_Comm comm, const std::string& path) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank));
  std::string text;
  int error = rank == 0 ? read_text(path, text) : 0;
  check_mpi(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  refuse_unread(path, error);
  return broadcast_text(comm, text);
}

void read_keys(const Keys& keys, const std::string& text, std::span<const std::string> settings,
               RunCase& values) {
  read_toml(keys, text, values.source, values.given);
  for (const auto& setting : settings) read_setting(keys, setting, values.given);
  require_pairs(keys, values.given, values.source);
  values.about.name = case_name(values.about.name, values.source);
}

void require_rank_grid(const std::vector<double>& ranks, const std::vector<std::string>& axes,
                       const std::string& source) {
  const bool whole = std::ranges::all_of(ranks, [](double r) { return r == std::floor(r); });
  const auto zeros = std::ranges::count(ranks, 0.0);
  if (ranks.size() == axes.size() && whole && (zeros == 0 || zeros == std::ssize(ranks))) return;
  throw Error(Errc::invalid_input,
              fmt::format("{}: `grid.ranks` must be {} whole numbers [along {}], all 0 for an "
                          "automatic choice",
                          source, axes.size(), fmt::join(axes, ", along ")));
}

void require_num_ranks(const std::vector<double>& ranks, int num_ranks, const std::string& source) {
  const double needed = std::accumulate(ranks.begin(), ranks.end(), 1.0, std::multiplies<>());
  if (needed == 0 || needed == num_ranks) return;
  throw Error(
      Errc::invalid_input,
      fmt::format("{}: grid.ranks = [{}] needs {} ranks, but the run has {}; [{}] chooses a "
                  "grid that fits",
                  source, fmt::join(ranks, ", "), needed, num_ranks,
                  fmt::join(std::vector<int>(ranks.size()), ", ")));
}

}  // namespace tailrace::app
