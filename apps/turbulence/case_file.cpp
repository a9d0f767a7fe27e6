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

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// 17 significant digits, and always with a point or an exponent, so that TOML reads a float.
std::string number(double value) {
  auto text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string texts(const std::vector<std::string>& list) {
  std::vector<std::string> items;
  for (const auto& item : list) items.push_back(quoted(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

struct Format {
  Case& values;
  std::string operator()(bool& (*member)(Case&)) const { return member(values) ? "true" : "false"; }
  std::string operator()(std::int64_t& (*member)(Case&)) const {
    return fmt::format("{}", member(values));
  }
  std::string operator()(double& (*member)(Case&)) const { return number(member(values)); }
  std::string operator()(std::string& (*member)(Case&)) const { return quoted(member(values)); }
  std::string operator()(std::vector<double>& (*member)(Case&)) const {
    std::vector<std::string> items;
    for (const double item : member(values)) items.push_back(number(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  std::string operator()(std::vector<std::string>& (*member)(Case&)) const {
    return texts(member(values));
  }
  std::string operator()(std::vector<Product>& (*member)(Case&)) const {
    std::string out = "[";
    for (const auto& product : member(values)) {
      out += fmt::format("\n  {{name = {}, variables = {}, stages = {}, path = {}, every = {}}},",
                         quoted(product.name), texts(product.variables), texts(product.stages),
                         quoted(product.path), product.every);
    }
    return out + (out.size() > 1 ? "\n]" : "]");
  }
};

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
  for (const auto& key : case_keys()) {
    if (!key.instead_of.empty() && !values.given.contains(key.name)) continue;
    const auto dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += fmt::format("\n[{}]\n", section);
    }
    text += fmt::format("{} = {}  # {}\n", key.name.substr(dot + 1),
                        std::visit(Format{copy}, key.member), key.help);
  }
  return text;
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
