// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace tailrace::app {

/// A CSV file of a run that grows line by line; the first column is the step. Written by one rank,
/// which makes it; local.
class TableFile {
 public:
  /// Starts a new file, or, if `restart_step` >= 0, keeps the lines up to that step and goes on
  /// behind them. Throws `Errc::io`.
  TableFile(std::string path, const std::string& header, std::int64_t restart_step);
  /// Appends `lines`, each with its end, which are of `step`, and flushes. Throws `Errc::io`.
  void append(std::int64_t step, const std::string& lines);
  std::int64_t last_step() const { return last_step_; }  ///< -1: none

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] void fail(std::int64_t step) const;

  std::string path_;
  std::int64_t last_step_ = -1;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace tailrace::app
