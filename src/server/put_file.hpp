// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "server/formats/task_file.hpp"
#include "store/route.hpp"
#include "store/write_plan.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::server {

/// An HDF5 file of the bytes that ranks have put into the slots of those who write, in the order of
/// the file, by any strategy. What is written follows from the route, so no member needs to tell
/// the leader anything.
class PutFile : public TaskFile {
 public:
  struct Setting {
    store::FileTask& task;  ///< of the slot; outlives the file
    std::shared_ptr<const store::Route> route;
    std::shared_ptr<const store::WritePlan> plan;
    const std::byte* slot = nullptr;
    int rank = 0;  ///< of all that compute; rank 0 leads
    bool checksums = true;
    Trace* trace = nullptr;
    /// Its arrays without data, for `lay_out`; none where that is done by `lay_out_as`.
    std::shared_ptr<const Step> step = nullptr;
  };
  PutFile(const Setting& setting, const std::string& path, std::int64_t step)
      : TaskFile(setting.task, path, step), setting_(setting) {}

  Message needs() override { return {}; }
  Message lay_out(std::span<const Message> needs_of_servers) override;
  void place(const Message& layout) override;
  Message kept() const override;
  void commit(std::span<const Message> kept_by_servers) override;

  /// Leader: as `lay_out`, for arrays as `contents` has them.
  store::FilePlaces lay_out_as(const FileContents& contents);
  void place(store::FilePlaces places);

 private:
  Setting setting_;
  bool keeps_rows_ = false;
};

}  // namespace tailrace::server
