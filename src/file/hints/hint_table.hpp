// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tailrace/more/hints.hpp"

namespace tailrace::file {

/// What the text of a hint must be.
enum class ValueKind {
  word,      ///< one of the words of `allowed`, which stand between " | "
  number,    ///< a whole number, at least `least`
  bytes,     ///< a size as `parse_bytes` takes it, at least `least`
  share,     ///< a number from 0 to 1
  back_end,  ///< a word, or "limited:RATE[,LATENCY]"
  ranks,     ///< rank numbers, ascending, as parse_ranks takes them
  text,      ///< anything: only MPI-IO reads it
};

/// A line of the table of hints.
struct HintEntry {
  HintInfo info;
  ValueKind kind = ValueKind::text;
  std::ptrdiff_t least = 0;
  bool mpi = false;                  ///< MPI-IO knows the name: passed on if somebody set it
  std::string_view synonym_of = {};  ///< another entry, whose value this name sets
};

/// The entry of `name`, or null. Local.
const HintEntry* find_hint(std::string_view name);

/// `value` in its normal form (words in small letters, sizes in bytes). Throws
/// `Errc::invalid_input` naming hint, value, what is allowed and `source`. Local.
std::string checked_value(const HintEntry& entry, const std::string& value,
                          const std::string& source);

/// The known name most like `name`, or "" if none is near. Local.
std::string_view nearest_hint(std::string_view name);

/// One `key=value` of `TAILRACE_HINTS`.
struct EnvironmentHint {
  std::string pattern;
  std::string name;
  std::string value;
};

/// Takes `pattern:key=value:key=value,pattern2:key=value` apart. A value that holds ':' or ','
/// stands between '#' signs. Throws `Errc::invalid_input` showing the entry that is malformed, or
/// the hint whose value does not parse. Local.
std::vector<EnvironmentHint> parse_environment(const std::string& text);

/// Whether `pattern` (as in the shell; `*` takes in '/') matches `path` or, unless it begins with a
/// '/', the last parts of `path`: "out/*.h5" matches "/home/ann/out/u.h5". Local.
bool matches(const std::string& pattern, const std::string& path);

}  // namespace tailrace::file
