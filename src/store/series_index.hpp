// SPDX-License-Identifier: BSD-3-Clause
// The steps of a run as one data set: an HDF5 file of virtual datasets with a first axis `time`,
// whose sources are .NAME.steps/0.h5, 1.h5, ..., links to the files of the steps (HDF5's "printf
// mapping"). It is written once: readers see as many steps as there are links that lead to a file,
// so a step appears at the moment in which its file gets its name, and nothing can be torn. HDF5
// finds the sources from the folder of the file that it opens, so that the run folder can be moved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tailrace/more/attributes.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

inline constexpr const char* time_name = "time";
inline constexpr const char* step_name = "step";

/// The folder of the links of the index `path`.
std::string series_folder(const std::string& path);
/// The link of its step `number`, counted from 0.
std::string series_link(const std::string& path, std::int64_t number);

/// Whether `coordinate` may have another value in each step: `time`, and single numbers. The others
/// are those of the grid. Local.
bool varies_with_time(const Coordinate& coordinate);

/// Writes the index of steps that hold `contents`, which must have the coordinates `time` and
/// `step`; their layouts give the extents, their data is not read. `form` says what all steps have
/// in common. The file gets its name when it is whole. Throws `Errc::io`. Local.
void write_series_index(const std::string& path, const FileContents& contents,
                        const std::string& form);

/// The `form` of the index `path`; nothing if there is no such file. Throws `Errc::io` (EEXIST) if
/// it is another file, which must not be replaced. Local.
std::optional<std::string> form_of_series(const std::string& path);

/// The coordinate `step` of a file; nothing if it has none. Throws `Errc::io` or `Errc::corrupt` if
/// the file cannot be read. Local.
std::optional<std::int64_t> step_of_file(const std::string& path);

}  // namespace tailrace::store
