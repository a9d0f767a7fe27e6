// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/file_image.hpp"
#include "store/route.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::store {

/// One writer's part of one file. POSIX calls only (no MPI, no HDF5), so any thread may run it.
/// Every failure is an `Error(Errc::io)` with errno, path and step.
class FileTask {
 public:
  /// What to write. `image` is empty on all but the metadata rank; `staging` must stay unchanged
  /// until `write` is done. Reuses the storage of the last file.
  struct Setting {
    const std::string& path;
    std::int64_t step = 0;
    const std::byte* staging = nullptr;
    std::span<const Run> runs;
    std::span<const std::ptrdiff_t> data_offsets;  ///< of each variable
    std::ptrdiff_t table_offset = -1;              ///< -1: no checksums
    std::ptrdiff_t total_bytes = 0;
    bool metadata = false;  ///< this rank writes the metadata, renames and removes
    Trace* trace = nullptr;
  };
  void set(const Setting& setting);
  FileImage& image() { return image_; }
  const std::string& path() const { return path_; }

  /// Writes this rank's part to `path.partial` with checksums, and flushes it to disk.
  void write();
  /// Gives the file its final name and flushes the folder. Metadata rank only.
  void commit();
  /// Removes `path.partial`, if it is there. Metadata rank only.
  void discard() noexcept;
  /// Bytes of the variables written, and seconds spent in `write` and `commit`.
  std::ptrdiff_t bytes() const { return bytes_; }
  double seconds() const { return seconds_; }

 private:
  class Descriptor;
  void write_image(Descriptor& file) const;
  void write_run(Descriptor& file, const Run& run);
  [[noreturn]] void fail(int error) const;

  std::string path_, partial_;
  std::int64_t step_ = 0;
  const std::byte* staging_ = nullptr;
  std::vector<Run> runs_;
  std::vector<std::ptrdiff_t> data_offsets_;
  std::vector<ChecksumRow> rows_;
  FileImage image_;
  std::ptrdiff_t table_offset_ = -1, total_bytes_ = 0, bytes_ = 0;
  bool metadata_ = false;
  Trace* trace_ = nullptr;
  double seconds_ = 0;
};

}  // namespace tailrace::store
