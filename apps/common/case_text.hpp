// SPDX-License-Identifier: BSD-3-Clause
// Case files of an application, from its struct `Case`. Beside it, the application declares
//   Keys keys_of(Case&)                               the table of keys, bound to the members
//   void complete(Case&)                              fills in defaults, and throws for what a line
//                                                     of the table cannot say
//   std::vector<std::string> field_names(const Case&) fields that the files hold
//   void check_ranks(const Case&, int num_ranks)      optional: throws if so many ranks cannot run
//   it
// All functions here throw `Errc::invalid_input` that names key, line and what would be right.
#pragma once

#include <concepts>
#include <span>
#include <string>

#include <mpi.h>

#include "common/command_line.hpp"
#include "common/output_case.hpp"

namespace tailrace::app {

/// The text of a case file. Throws `Errc::io` with its path and errno. Local.
std::string read_case_text(const std::string& path);

/// The same, read on rank 0 and shared; throws on all ranks alike. Collective, blocking.
std::string read_case_text(MPI_Comm comm, const std::string& path);

/// Stores what the text and then the settings "section.key=value", in order, say. A case without a
/// name gets that of its file. Local.
void read_keys(const Keys& keys, const std::string& text, std::span<const std::string> settings,
               RunCase& values);

/// The case that the text of a file and the settings describe; `source` is the path of the file.
/// Local.
template <std::derived_from<RunCase> Case>
Case parse_case(const std::string& text, const std::string& source,
                std::span<const std::string> settings) {
  Case values;
  values.source = source;
  const auto keys = keys_of(values);
  read_keys(keys, text, settings, values);
  complete(values);
  Case usual;
  require_output(values.output, keys, keys_of(usual), field_names(values), source);
  return values;
}

/// Reads the file on rank 0, shares its text and parses it. Throws on all ranks alike. Collective.
template <std::derived_from<RunCase> Case>
Case read_case(MPI_Comm comm, const std::string& path, std::span<const std::string> settings) {
  return parse_case<Case>(read_case_text(comm, path), path, settings);
}

/// Reads and checks a case as far as that goes without MPI, for a run of `num_ranks` ranks. Local.
template <std::derived_from<RunCase> Case>
Case check_case(const std::string& path, std::span<const std::string> settings, int num_ranks) {
  auto values = parse_case<Case>(read_case_text(path), path, settings);
  if constexpr (requires { check_ranks(values, num_ranks); }) check_ranks(values, num_ranks);
  return values;
}

/// The whole case as TOML, every key with its meaning; `parse_case` gives the same case back.
/// Local.
template <std::derived_from<RunCase> Case>
std::string format_case(const Case& values) {
  Case copy = values;
  return "# The whole case, as run; made from " + values.source + "\n" +
         format_toml(keys_of(copy), values.given);
}

/// All keys in Markdown, for the docs. Local.
template <std::derived_from<RunCase> Case>
std::string describe_keys() {
  Case values;
  return format_markdown(keys_of(values));
}

/// The application that runs such a case.
template <std::derived_from<RunCase> Case>
Program program_of(const char* name, int (*run)(const Comm&, const RunRequest&)) {
  const auto check = [](const RunRequest& request) {
    return format_case(check_case<Case>(request.case_path, request.settings, request.check_ranks));
  };
  return {name, run, check, describe_keys<Case>};
}

/// Throws unless `grid.ranks` has a whole number for each of `axes`, all of them 0 or none. Local.
void require_rank_grid(const std::vector<double>& ranks, const std::vector<std::string>& axes,
                       const std::string& source);

/// Throws unless `grid.ranks` is of `num_ranks` ranks, or chosen (0). Local.
void require_num_ranks(const std::vector<double>& ranks, int num_ranks, const std::string& source);

}  // namespace tailrace::app
