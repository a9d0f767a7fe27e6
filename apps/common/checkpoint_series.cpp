// SPDX-License-Identifier: BSD-3-Clause
#include "common/checkpoint_series.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "common/run_folder.hpp"
#include "tailrace/more/verify.hpp"

namespace tailrace::app {

CheckpointSeries::CheckpointSeries(Session& session, const OutputOptions& options,
                                   std::string folder)
    : rank_(session.compute().rank()),
      stream_(session.open("checkpoints", options)),
      folder_(std::move(folder)) {}

bool CheckpointSeries::has(std::int64_t step) const {
  return !paths_.empty() && paths_.back() == checkpoint_path(folder_, step);
}

void CheckpointSeries::write(const FileContents& contents) {
  const std::string path = checkpoint_path(folder_, contents.step);
  stream_.write(path, contents);
  paths_.push_back(path);
  remove_old();
}

void CheckpointSeries::progress() {
  stream_.progress();
  remove_old();
}

void CheckpointSeries::finish() {
  stream_.finish();
  remove_old();
}

/// The last one that is safe stays, and the one before.
void CheckpointSeries::remove_old() {
  const auto safe = std::find(paths_.begin(), paths_.end(), stream_.last_complete());
  if (safe == paths_.end()) return;
  for (auto old = safe - paths_.begin(); old > 1; --old) {
    remove(paths_.front());
    paths_.pop_front();
  }
}

void CheckpointSeries::remove(const std::string& path) const {
  std::error_code ignored;  // a checkpoint that somebody moved away is not missed
  if (rank_ != 0) return;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove_all(path + ".pieces", ignored);  // of output.strategy file_per_rank
}

void require_whole(const Comm& comm, const std::string& path) {
  const auto found = verify_file(comm, path, false);
  if (!found.damaged() && !found.datasets.empty()) return;
  const bool known = found.problem.empty() && !found.datasets.empty();
  const auto why = known                   ? found.datasets.back().problem
                   : found.problem.empty() ? "the checksum of its headers is missing"
                                           : found.problem;
  throw Error(Errc::corrupt,
              fmt::format("{} is damaged: {}; continue from another checkpoint", path, why));
}

}  // namespace tailrace::app
