// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "server/step_file.hpp"
#include "store/file_task.hpp"
#include "store/route.hpp"
#include "store/write_plan.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::server {

/// What the leader tells of the layout of a file whose bytes lie in file order.
struct PutLayout {
  enum Place : std::size_t {
    status,  ///< 1: it could not be made
    total,
    table,
    box_table,
    generation,
    linked,
    first_variable
  };
  std::vector<std::ptrdiff_t> numbers;  ///< places in the file, as `Place` says
  std::string target;                   ///< where the path leads; "": where it says (`linked`)
};

/// An HDF5 file of the bytes that ranks have put into the slots of those who write, in the order of
/// the file, by any strategy. What is written follows from the route, so no member needs to tell
/// the leader anything.
class PutFile : public StepFile {
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
  PutFile(Setting setting, const std::string& path, std::int64_t step);

  Message needs() override { return {}; }
  Message lay_out(std::span<const Message> needs_of_servers) override;
  void place(const Message& layout) override;
  void write() override { setting_.task.write(); }
  Message kept() const override;
  void commit(std::span<const Message> kept_by_servers) override;
  std::string discard() noexcept override;
  std::int64_t bytes() const override { return setting_.task.bytes(); }
  double seconds() const override { return setting_.task.seconds(); }

  /// Leader: as `lay_out`, for arrays as `contents` has them.
  void lay_out_as(const FileContents& contents, PutLayout& layout);
  void place(const PutLayout& layout);

 private:
  Setting setting_;
  bool keeps_rows_ = false;
};

/// The arrays of `step` as contents without data; `layouts` must live as long. Local.
FileContents contents_of(const Step& step, std::vector<Layout>& layouts);

}  // namespace tailrace::server
