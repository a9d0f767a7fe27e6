// SPDX-License-Identifier: BSD-3-Clause
#include "common/case_text.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

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

std::string case_name(const std::string& name, const std::string& source) {
  auto chosen = name;
  if (chosen.empty()) {
    chosen = source.substr(source.find_last_of('/') + 1);
    chosen = chosen.substr(0, chosen.find('.'));
  }
  if (!chosen.empty() && chosen.find('/') == std::string::npos) return chosen;
  throw Error(Errc::invalid_input,
              fmt::format("{}: `case.name` must be a name of files, without a slash", source));
}

}  // namespace tailrace::app
