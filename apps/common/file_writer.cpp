// SPDX-License-Identifier: BSD-3-Clause
#include "common/file_writer.hpp"

namespace tailrace::app {

FileWriter::FileWriter(const Comm& comm, Session* session, const std::string& name,
                       const StreamOptions& options) {
  if (session != nullptr) {
    stream_.emplace(session->open(name, options));
  } else {
    output_.emplace(comm, options.output);
  }
}

bool FileWriter::write(const std::string& path, const FileContents& contents) {
  if (stream_) return stream_->write(path, contents) != WriteResult::dropped;
  output_->write(path, contents);
  return true;
}

void FileWriter::progress() {
  if (stream_) return stream_->progress();
  output_->progress();
}

void FileWriter::finish() {
  if (stream_) return stream_->finish();
  output_->finish();
}

const std::string& FileWriter::last_complete() const {
  return stream_ ? stream_->last_complete() : output_->last_complete();
}

OutputStatistics FileWriter::statistics() const {
  return stream_ ? stream_->statistics() : output_->statistics();
}

}  // namespace tailrace::app
