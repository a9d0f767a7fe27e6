// SPDX-License-Identifier: BSD-3-Clause
#include "common/file_series.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tailrace::app {

FileSeries::FileSeries(std::string prefix, std::int64_t every, const std::function<Output()>& open)
    : prefix_(std::move(prefix)), every_(every) {
  if (every_ > 0) stream_.emplace(open());
}

bool FileSeries::due(std::int64_t step, bool last) const {
  return active() && step > last_step_ && (last || step % every_ == 0);
}

std::string FileSeries::path_of(std::int64_t step) const {
  return fmt::format("{}_{:06d}.h5", prefix_, step);
}

WriteResult FileSeries::write(const FileContents& contents) {
  last_step_ = std::max(last_step_, contents.step);
  return stream_->write(path_of(contents.step), contents);
}

void FileSeries::progress() {
  if (stream_) stream_->progress();
}

void FileSeries::finish() {
  if (stream_) stream_->finish();
}

OutputStatistics FileSeries::statistics() const {
  return stream_ ? stream_->statistics() : OutputStatistics{};
}

}  // namespace tailrace::app
