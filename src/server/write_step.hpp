// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/group.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/series_writer.hpp"
#include "server/step_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

/// What became of files, the same on all members of the group that wrote them, but for its own
/// numbers.
struct Outcome {
  std::int64_t bytes = 0;      ///< of all members
  double seconds = 0;          ///< the slowest member's
  std::int64_t own_bytes = 0;  ///< of this member
  double own_seconds = 0;
  std::optional<Error> failure = {};  ///< all that failed, in one text
  std::string instead = {};           ///< what was written in another place, and why; "": nothing

  void add(const Outcome& other);
  /// Another failure of the same step: the text names all of them, the code is that of the first.
  void add_failure(const Error& error);
};

/// A file of a step that is to be written, on a member of the group that does.
struct StepOutput {
  std::string path;
  /// This member's part of the file, to be written at `path`: where it belongs, or elsewhere.
  std::function<std::unique_ptr<StepFile>(const std::string& path)> make;
  /// The same as `make` gives, with its place already, if all members have that.
  std::unique_ptr<StepFile> placed;
};

/// `result`, to be written by `group`. Local.
StepOutput output_of(Pipeline::Result result, const FileSettings& settings, const Group& group);

/// Writes the files of a step, each in a straight line: needs of all -> laid out by the first ->
/// written by all -> given its final name by the first; a lone member sends no message. While the
/// disk has no room, a file is tried again for `retry_s`, and what cannot be written where it
/// belongs goes into the folder `fallback_path`. One that fails does not keep the others from being
/// written; nothing unfinished is left of it, or the failure says what. `series`, if any, shows
/// the file of the variables, which is the first. Collective over `group`, blocking; never
/// throws `Error`.
Outcome write_files(std::vector<StepOutput>& outputs, const OutputOptions& options, Group& group,
                    SeriesWriter* series = nullptr);

}  // namespace tailrace::server
