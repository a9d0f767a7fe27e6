// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "store/series_links.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::server {

/// Puts down what the steps of the series `path` hold, for those who write it. Throws `Errc::io`.
/// Local.
void save_series_contents(const std::string& path, const FileContents& contents);

/// What the one that gives files their names does for a series.
class SeriesWriter {
 public:
  explicit SeriesWriter(const std::string& path) : path_(path), links_(path) {}
  store::SeriesLinks& links() { return links_; }
  /// Renews the list of steps of the index where that makes it quicker to open. A failure is
  /// printed once, and the index stays as it is. Local.
  void shorten();

 private:
  std::string path_;
  store::SeriesLinks links_;
  bool has_failed_ = false;
};

}  // namespace tailrace::server
