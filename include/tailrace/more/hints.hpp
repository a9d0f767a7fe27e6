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

/// Settings of one file by their MPI-IO names (`hint_table()` lists them), as text. A name that is
/// not in the table is kept, reported once when the file is opened, and passed on to MPI-IO.
class Hints {
 public:
  Hints() = default;
  Hints(std::initializer_list<std::pair<std::string, std::string>> pairs);
  /// Sets or replaces a value. Throws `Errc::invalid_input` naming hint, value and what is allowed
  /// if the name is known and the value does not parse. Local.
  void set(const std::string& name, const std::string& value);
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

/// "4194304", "4M", "4MiB" as bytes; throws `Errc::invalid_input` naming `what`. Local.
std::ptrdiff_t parse_bytes(const std::string& text, const std::string& what);

/// A line of the table of hints, for `tailrace list`, docs and error messages.
struct HintInfo {
  std::string_view name;
  std::string_view default_value;
  std::string_view allowed;  ///< in words, e.g. "0 (choose) or a number of ranks"
  std::string_view summary;
};
std::span<const HintInfo> hint_table();

/// One setting of an opened file: its value and where that comes from.
struct HintValue {
  std::string name;
  std::string value;
  std::string
      source;  ///< "default", "program", "TAILRACE_HINTS *.h5", "file system", "chosen: ..."
};

}  // namespace tailrace
