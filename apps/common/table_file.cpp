// SPDX-License-Identifier: BSD-3-Clause
#include "common/table_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "tailrace/error.hpp"
#include "tailrace/more/whole_file.hpp"

namespace tailrace::app {

namespace {

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

}  // namespace

TableFile::TableFile(std::string path, const std::string& header, std::int64_t restart_step)
    : path_(std::move(path)) {
  const std::string kept = restart_step >= 0 ? lines_until(path_, restart_step) : "";
  if (!kept.empty()) {
    const auto last_line = kept.rfind('\n', kept.size() - 2);
    last_step_ = std::strtol(kept.c_str() + (last_line == std::string::npos ? 0 : last_line + 1),
                             nullptr, 10);
  }
  // The old table stays whole until the shortened one is complete.
  write_whole_file(path_, header + "\n" + kept);
  file_.reset(std::fopen(path_.c_str(), "a"));
  if (file_ == nullptr) fail(std::max<std::int64_t>(restart_step, 0));
}

void TableFile::fail(std::int64_t step) const {
  const int code = errno;
  throw Error(Errc::io,
              fmt::format("cannot write {} at step {}: {}", path_, step, std::strerror(code)),
              code);
}

void TableFile::append(std::int64_t step, const std::string& lines) {
  if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size()) fail(step);
  if (std::fflush(file_.get()) != 0) fail(step);
  last_step_ = step;
}

}  // namespace tailrace::app
