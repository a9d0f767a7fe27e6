// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::store {

/// The links of a series (see series_index.hpp) for the one that gives files their names. A link is
/// made before its file gets its name: until then it leads nowhere, and readers do not count it.
class SeriesLinks {
 public:
  /// Of the index `path`, which need not exist.
  explicit SeriesLinks(std::string path) : path_(std::move(path)) {}
  /// Makes the next link, to `file`, unless the last one leads there; then calls `commit`, which
  /// gives the file its name. If that throws, the new link is removed. Throws `Errc::io`. Local.
  void publish(const std::string& file, const std::function<void()>& commit);

 private:
  std::string path_;
  std::optional<std::int64_t> count_;  ///< of links; nothing: not yet known
  std::string last_;                   ///< file of the last link
};

/// What a new attempt of a run has done to the steps of an earlier one.
struct Superseded {
  std::int64_t kept = 0;            ///< steps that are still in the series
  std::vector<std::string> moved;   ///< files that are now in `folder`
  std::vector<std::string> failed;  ///< files that could not be moved, and why
  std::string folder;
};

/// Readies the links of the index `path` for a new attempt, whose first step is `step`, to be
/// written to `file`. Links that lead nowhere are removed, and gaps closed. Later steps, and `step`
/// itself in another file, are removed, the last one first, and their files moved to the folder
/// `superseded` next to the index; none is deleted. `keep`: the steps before stay; else no link
/// does, but their files stay where they are. Throws `Errc::io`. Local.
Superseded begin_attempt(const std::string& path, std::int64_t step, const std::string& file,
                         bool keep);

}  // namespace tailrace::store
