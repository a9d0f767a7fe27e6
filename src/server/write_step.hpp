// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/group.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/step_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

/// What became of files, the same on all members of the group that wrote them.
struct Outcome {
  std::int64_t bytes = 0;             ///< of all members
  double seconds = 0;                 ///< the slowest member's
  std::optional<Error> failure = {};  ///< all that failed, in one text
  std::string instead = {};           ///< what was written in another place, and why; "": nothing

  void add(const Outcome& other);
  /// Another failure of the same step: the text names all of them, the code is that of the first.
  void add_failure(const Error& error);
};

/// Writes `step` as one file, in a straight line: needs of all -> laid out by the first -> written
/// by all -> given its final name by the first. All members of `group` have a part of it; a lone
/// one sends no message. Collective, blocking. Throws the same error on all members; nothing
/// unfinished is left then, or the error says what.
Outcome write_file(const Step& step, const std::string& format, const FileSettings& settings,
                   Group& group);

/// `write`s `path`; while the disk has no room, again for `retry_s`, and what cannot be written
/// there in the folder `fallback_path` (options of the stream). Collective, blocking; never throws
/// `Error`.
Outcome write_or_fall_back(const std::string& path, const StreamOptions& options, Group& group,
                           const std::function<Outcome(const std::string& path)>& write);

/// The files of a step, as many as products made; one that fails does not keep the others from
/// being written. Collective, blocking; never throws `Error`.
Outcome write_files(const std::vector<Pipeline::Result>& results, const StreamOptions& options,
                    const FileSettings& settings, Group& group);

}  // namespace tailrace::server
