// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "file/settings.hpp"
#include "server/step_file.hpp"
#include "store/file_task.hpp"

namespace tailrace::server {

/// An HDF5 file, of which a `FileTask` writes this member's part.
class TaskFile : public StepFile {
 public:
  void write() override { task_.write(); }
  void commit(std::span<const Message>) override { task_.commit(); }
  std::string discard() noexcept override {
    task_.discard();
    return "";
  }
  std::int64_t bytes() const override { return task_.bytes(); }
  double seconds() const override { return task_.seconds(); }

 protected:
  TaskFile(const std::string& path, std::int64_t step)
      : own_(std::make_unique<store::FileTask>()), task_(*own_) {
    task_.name(path, step);
  }
  /// `task` outlives the file.
  TaskFile(store::FileTask& task, const std::string& path, std::int64_t step) : task_(task) {
    task_.name(path, step);
  }

 private:
  std::unique_ptr<store::FileTask> own_;

 protected:
  store::FileTask& task_;
};

/// One of servers, each of which knows its own parts of the arrays only.
class ServedFile : public TaskFile {
 protected:
  /// Says what is to be said about the hints.
  ServedFile(Step step, const FileSettings& settings, int server, int num_servers);
  /// Leader: makes the unfinished file, laid out as `setting` and the step say.
  store::FilePlaces lay_out_as(store::ImageSetting setting);
  /// What `write` is to write.
  void set(store::FilePlaces places, store::PartBytes& bytes,
           std::shared_ptr<const store::WriterPart> part);

  Step step_;
  OutputOptions output_;
  std::size_t server_;
  file::Settings settings_;
  std::ptrdiff_t stripe_bytes_;
};

/// As `make_hdf5`, for steps of which a field is compressed.
std::unique_ptr<StepFile> make_chunked_hdf5(Step step, const FileSettings& settings, int server,
                                            int num_servers);

}  // namespace tailrace::server
