// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/output_case.hpp"
#include "tailrace/session.hpp"

namespace tailrace::app {

/// The files of one kind of output, PREFIX_NNNNNN.h5, every so many steps.
class FileSeries {
 public:
  /// `open` makes the stream; it is not called if `every` is 0, as then nothing is written.
  FileSeries(std::string prefix, std::int64_t every, const std::function<Output()>& open);

  bool active() const { return stream_.has_value(); }
  /// Whether `step` has no file yet and is one to write, or the last of all. Local.
  bool due(std::int64_t step, bool last = false) const;
  std::string path_of(std::int64_t step) const;
  /// Writes `contents`, which name their step. Collective; blocking as `Output::write`. Throws
  /// `Errc::io` on all ranks, also for an earlier file.
  WriteResult write(const FileContents& contents);
  /// The steps up to `step`, and no others, have their files. Local.
  void go_on_from(std::int64_t step) { last_step_ = step; }
  /// Lets files under way get on. Cheap. All ranks.
  void progress();
  /// Waits for all files. Collective, blocking. Throws `Errc::io`.
  void finish();
  OutputStatistics statistics() const;  ///< of this rank
  /// Path of the last file known to be complete, or "".
  std::string last_complete() const { return stream_ ? stream_->last_complete() : ""; }

 private:
  std::string prefix_;
  std::int64_t every_, last_step_ = -1;
  std::optional<Output> stream_;
};

/// FOLDER/fields/NAME_NNNNNN.h5 as sections `[about]` and `[output]` of a case say, by the stream
/// `name`. Collective over the ranks that compute, blocking. Throws `Errc::invalid_input` or
/// `Errc::io` on all of them.
template <class Case>
FileSeries field_series(Session& session, const std::string& name, const Case& values,
                        const std::string& folder) {
  return {folder + "/fields/" + values.about.name, values.output.every,
          [&] { return open_fields(session, name, values.output, values.source, folder); }};
}

}  // namespace tailrace::app
