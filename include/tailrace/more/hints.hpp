// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Settings of one file as text, by their MPI-IO names (`hint_table()` lists them). An unknown name
/// is kept, reported once when the file is opened, and passed to MPI-IO.
class Hints {
 public:
  Hints() = default;
  Hints(std::initializer_list<std::pair<std::string, std::string>> pairs);
  /// Sets or replaces a value. Throws `Errc::invalid_input` if the name is known and the value does
  /// not parse; the message names the hint, the value and the permitted values. Local.
  void set(const std::string& name, const std::string& value);
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

/// Converts "4194304", "4M" or "4MiB" to bytes. Throws `Errc::invalid_input` naming `what`. Local.
std::ptrdiff_t parse_bytes(const std::string& text, const std::string& what);

/// A line of the table of hints, for `tailrace list`, docs and error messages.
struct HintInfo {
  std::string_view name;
  std::string_view default_value;
  std::string_view allowed;  ///< in words, e.g. "0 (choose) or a number of ranks"
  std::string_view summary;
};
std::span<const HintInfo> hint_table();

/// One setting of an open file: its value and the origin of the value.
struct HintValue {
  std::string name;
  std::string value;
  std::string
      source;  ///< "default", "program", "TAILRACE_HINTS *.h5", "file system", "chosen: ..."
};

}  // namespace tailrace
