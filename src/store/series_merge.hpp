// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

/// Steps of a series that become one file.
struct SeriesBatch {
  std::string merged;              ///< absolute name of the file
  std::vector<std::string> files;  ///< absolute names of the files of the steps, in their order
};

/// Writes `batch.merged`: the arrays of all steps of `batch` with a first axis `time`,
/// contiguous or in the chunks of the steps, with checksums if the steps have them. Bytes that are
/// not compressed are compared with theirs. `contents`
/// as in `write_series_index`. The file gets its name when it is whole and on the disk; the files
/// of the steps stay. Throws `Errc::invalid_input` if the steps are not alike or cannot be merged,
/// `Errc::corrupt` for damage, and `Errc::io`. No MPI; any thread may call it. Local.
void merge_steps(const SeriesBatch& batch, const FileContents& contents);

}  // namespace tailrace::store
