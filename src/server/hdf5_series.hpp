// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "core/worker.hpp"
#include "server/series_writer.hpp"
#include "store/series_links.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::server {

/// Puts down what the steps of the series `path` hold, for those who write it. Throws `Errc::io`.
/// Local.
void save_series_contents(const std::string& path, const FileContents& contents);

/// A series whose index is an HDF5 file (store/series_index.hpp). Another thread merges files of
/// steps; the index changes only in the calls.
class Hdf5Series : public SeriesWriter {
 public:
  explicit Hdf5Series(const SeriesSetting& setting)
      : path_(setting.path),
        steps_per_file_(static_cast<std::size_t>(setting.steps_per_file)),
        is_automatic_(setting.is_automatic),
        links_(setting.path) {}
  /// Merges what makes whole files. Blocking.
  ~Hdf5Series() override;
  void publish(const std::string& path, const StepFile&,
               const std::function<void()>& commit) override;
  /// Has steps merged, and renews the list of steps of the index where that makes it quicker to
  /// open. A failure is printed once, and the index stays as it is.
  void end_step() override;

 private:
  /// A batch on its way into one file, and how that has ended.
  struct Merge {
    store::SeriesBatch batch;
    std::future<std::optional<Error>> outcome;
  };
  bool merges() const { return steps_per_file_ > 1; }
  std::size_t num_merged() const;
  void stop_merging(const Error& why);
  void start_merge();
  void take_merged();
  void renew_list(bool has_merged);

  std::string path_;
  std::size_t steps_per_file_;
  bool is_automatic_;            // the number is that of `automatic_steps_per_file`
  std::int64_t step_bytes_ = 0;  // of the largest file of a step so far
  store::SeriesLinks links_;
  std::vector<store::SeriesBatch> merged_;  // not yet in the list
  std::optional<Merge> merge_;
  double renewed_s_ = 0;  // when merged files last came into the list
  bool has_begun_ = false, has_failed_ = false;
  Worker worker_;  // ends before what it uses
};

}  // namespace tailrace::server
