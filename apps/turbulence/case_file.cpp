// SPDX-License-Identifier: BSD-3-Clause
// Reading a case file on one rank, and writing the effective case.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "case.hpp"
#include "core/same_on_all.hpp"
#include "grid_check.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::turbulence {

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

void refuse_unread(const std::string& path, int code) {
  if (code == 0) return;
  throw Error(Errc::io, fmt::format("cannot read case file {}: {}", path, std::strerror(code)),
              code);
}

}  // namespace

std::string format_case(const Case& values) {
  Case copy = values;
  std::string text = fmt::format("# The whole case, as run; made from {}\n", values.source);
  std::string section;
  for (const auto& key : keys_of(copy)) {
    if (!key.instead_of.empty() && !values.given.contains(key.name)) continue;
    if (section_of(key.name) != section) {
      section = section_of(key.name);
      text += fmt::format("\n[{}]\n", section);
    }
    text += fmt::format("{} = {}  # {}\n", key.name.substr(section.size() + 1), format_value(key),
                        key.doc);
  }
  return text;
}

std::string describe_keys() {
  Case values;
  Product product;
  return format_markdown(keys_of(values)) + "\n" + format_markdown(keys_of(product));
}

Case read_case(MPI_Comm comm, const std::string& path, std::span<const std::string> settings) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank));
  std::string text;
  int error = rank == 0 ? read_text(path, text) : 0;
  check_mpi(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  refuse_unread(path, error);
  return parse_case(broadcast_text(comm, text), path, settings);
}

Case check_case(const std::string& path, std::span<const std::string> settings, int num_ranks) {
  std::string text;
  refuse_unread(path, read_text(path, text));
  Case values = parse_case(text, path, settings);
  // With servers, how many ranks compute is known only when the job has started.
  Case any_grid = values;
  if (!values.output.servers.empty()) any_grid.grid.ranks = {0, 0};
  require_flow_on_grid(values, solver_options(any_grid, num_ranks));
  return values;
}

}  // namespace tailrace::turbulence
