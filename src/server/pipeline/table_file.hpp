// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace tailrace::server {

/// A CSV file whose lines begin with a step number, in ascending order. Lines are appended whole; a
/// line that a crash cut off is taken away; lines of a step that is there already (a restart) are
/// replaced. One process writes it.
class TableFile {
 public:
  /// Puts `lines` (each ends in a newline and begins with "STEP,") into the table at `path`, made
  /// with `header` if it is not there. Throws `Errc::io`, or `Errc::invalid_input` if the table has
  /// another header. Local.
  void put(const std::string& path, const std::string& header, std::int64_t step,
           const std::string& lines);

 private:
  void look(const std::string& path, const std::string& header);
  void append(const std::string& text);
  void rewrite(const std::string& header, std::int64_t step, const std::string& lines);

  std::string path_;
  std::int64_t size_ = -1;  ///< bytes of whole lines; -1: not looked at yet
  std::int64_t last_step_ = INT64_MIN;
};

}  // namespace tailrace::server
