// SPDX-License-Identifier: BSD-3-Clause
// The steps of a run as one data set: an HDF5 file of virtual datasets with a first axis `time`.
// The first steps are listed by the names of their files. Those that follow are .NAME.steps/N/0.h5,
// 1.h5, ..., links to their files (HDF5's "printf mapping"; each version N of the index has its own
// links): readers see as many of them as there are links that lead to a file, so a step appears at
// the moment in which its file gets its name. The list is renewed from time to time, as readers
// open the file of every link, and of none in the list, to find the number of steps. HDF5 finds all
// files from the folder of the index, so that the run folder can be moved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/attribute_values.hpp"
#include "tailrace/more/attributes.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

inline constexpr const char* time_name = "time";
inline constexpr const char* step_name = "step";

/// What an index has besides the arrays of the steps: attributes of `group`, and datasets.
namespace series_parts {
inline constexpr const char* group = "tailrace";
inline constexpr const char* form = "series_form";
inline constexpr const char* version = "series_version";
inline constexpr const char* files = "tailrace/files";    ///< names, each ended by a zero
inline constexpr const char* merged = "tailrace/merged";  ///< the same, of `SeriesStep::merged`
inline constexpr const char* values = "tailrace/steps";   ///< group of values, one array each
}  // namespace series_parts

/// The folder .NAME.steps of the index `path`.
std::string series_folder(const std::string& path);
/// The folder in it of the links of one version of the index.
std::string series_links_folder(const std::string& path, std::int64_t version);

/// A step in the list of an index.
struct SeriesStep {
  std::string file;               ///< as it was written; relative to the folder of the index
  std::vector<ItemBytes> values;  ///< of `SeriesList::names`; empty: not known
  /// The file of several steps that it is in now, as `file`; "": it is in a separate file. The
  /// steps of such a file follow each other in the list, from its first one on.
  std::string merged = {};
};

/// What an index says of its steps.
struct SeriesList {
  std::string form;  ///< what all of them have in common
  /// Coordinates whose values the index holds, so that readers find them without the files.
  std::vector<std::string> names;
  std::vector<SeriesStep> steps;  ///< the first ones
  std::int64_t version = 0;       ///< whose links are the others
};

/// Whether `coordinate` may have another value in each step: `time`, and single numbers. The
/// others, texts, too, are the same in all steps. Local.
bool varies_with_time(const Coordinate& coordinate);

/// The attributes of a variable, so that readers take the single numbers of a step for its
/// coordinates (CF, 5.7). Local.
Attributes with_varying(Attributes attributes, const std::vector<Coordinate>& coordinates);

/// Those of `contents` whose values an index can hold. Local.
std::vector<std::string> varying_names(const FileContents& contents);
/// Their values in the file of a step; empty if it does not have all of them. Local.
std::vector<ItemBytes> values_in_file(const std::string& path,
                                      const std::vector<std::string>& names);

/// Writes the index of steps that hold `contents`, which must have the coordinates `time` and
/// `step`; their layouts give the extents, their data is not read. The index gets its name when it
/// is whole. Throws `Errc::io`. Local.
void write_series_index(const std::string& path, const FileContents& contents,
                        const SeriesList& list);

/// What the index `path` was written with; nothing if there is no such file. Throws `Errc::io`
/// (EEXIST) if it is another file, which must not be replaced. Local.
std::optional<SeriesList> list_of_series(const std::string& path);

/// The coordinate `step` of a file, of one step or of several; empty if it has none. Throws
/// `Errc::io` or `Errc::corrupt` if the file cannot be read. Local.
std::vector<std::int64_t> steps_in_file(const std::string& path);

}  // namespace tailrace::store
