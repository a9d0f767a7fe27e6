// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/series_writer.hpp"
#include "store/series_links.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/file_contents.hpp"
#include "tailrace/more/output_options.hpp"

namespace tailrace::server {

/// The compute side of `OutputOptions::series`: what each step must have, and what becomes of the
/// steps of an earlier attempt. Those who write make a link to each file (`store::SeriesLinks`).
class SeriesSteps {
 public:
  /// Throws `Errc::invalid_input` for options that contradict a series. Local.
  explicit SeriesSteps(const OutputOptions& options);
  /// `given` with the coordinates `time` and `step`, right until the next call. Where there is no
  /// coordinate `time`, the attribute `time` of the file is used, else the step. Local.
  const FileContents& with_time(const FileContents& given);
  /// Why this step cannot be in the series, if so. `contents` must be right, and from `with_time`.
  /// Local.
  std::optional<Error> check(const std::string& path, const FileContents& contents) const;
  /// One rank, before the first step: writes the index, or continues that of an earlier attempt.
  /// Throws `Errc::io`. Local.
  void begin(const std::string& path, const FileContents& contents) const;
  /// The step has been taken: the next ones are compared with it. Local.
  void note(const std::string& path, const FileContents& contents);
  /// Whether a step has been taken.
  bool begun() const { return last_.has_value(); }

 private:
  struct Last {
    std::int64_t step;
    std::string path;
  };
  store::BegunSeries begin_index(const std::string& path, const FileContents& contents,
                                 const std::string& form) const;
  void require_room_for_time(const FileContents& contents) const;
  void require_order(const std::string& path, const FileContents& contents) const;
  void require_same_form(const FileContents& contents) const;

  SeriesSetting setting_;
  std::string series_, format_;
  std::string encoding_;  ///< what decides how the chunks of Zarr stores are encoded
  FileContents made_;
  std::optional<Last> last_;
  std::vector<std::string> form_;  ///< what all steps have in common
};

}  // namespace tailrace::server
