// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/series_merge.hpp"
#include "store/series_paths.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

/// The links of a series (see series_index.hpp) for the one that gives files their names. A link is
/// made before its file gets its name: until then it leads nowhere, and readers do not count it.
class SeriesLinks {
 public:
  /// Of the index `path`.
  explicit SeriesLinks(std::string path) : path_(std::move(path)) {}
  /// Makes the next link, to `file`, unless the last one leads there; then calls `commit`, which
  /// gives the file its name. If that throws, the new link is removed. Throws `Errc::io`. Local.
  void publish(const std::string& file, const std::function<void()>& commit);
  /// There are so many links that readers take long to open them: a sixteenth of the steps, and at
  /// least 64. Local.
  bool are_many() const;
  /// Steps that are in separate files.
  std::size_t num_single();
  /// The `count` first steps that are in separate files, after `skip` of them; nothing unless
  /// there are more than these: the newest step may be written again. Makes the folder of the file
  /// that they are to become. Throws `Errc::io`. Local.
  std::optional<SeriesBatch> next_batch(std::size_t count, std::size_t skip);
  /// Writes the index with all steps in its list, so that no link is left; steps whose file is gone
  /// are left out. The steps of `merged` are in one file from then on; their own files are removed
  /// the next time, so that readers that have the index open find them until then. `contents` as in
  /// `write_series_index`. Throws `Errc::io`. Local.
  void move_to_list(const FileContents& contents, const std::vector<SeriesBatch>& merged = {});

 private:
  void look();

  std::string path_;
  std::optional<std::string> folder_;           ///< of the links; nothing: not yet known
  std::size_t num_listed_ = 0, num_links_ = 0;  ///< steps
  std::size_t num_merged_ = 0;                  ///< of those listed
  std::string last_;                            ///< text of the last link, or of the last file
  std::vector<SeriesBatch> outdated_;           ///< whose own files are to be removed
};

/// What the first step of an attempt has done to a series.
struct BegunSeries {
  bool is_other = false;            ///< the index was of steps that hold other arrays
  std::vector<std::string> moved;   ///< files that are now in `folder`
  std::vector<std::string> failed;  ///< files that could not be moved, and why
  std::string folder;

  /// Moves `file` there, or notes why not. Local.
  void move(const std::string& file,
            void (*how)(const std::string& file, const std::string& folder) = move_away);
};
/// Readies the index `path` for a new attempt, whose first step is `contents`, to be written to
/// `file`. Steps whose file is gone are left out. So are later steps, and this step in another
/// file: their files are moved to the folder `superseded` next to the index; none is deleted. A
/// file that also holds steps that stay gets a second name there. If the index has another `form`,
/// it begins again; the files of earlier steps stay where they are.
/// Throws `Errc::io`. Local.
BegunSeries begin_series(const std::string& path, const std::string& file,
                         const FileContents& contents, const std::string& form);

}  // namespace tailrace::store
