// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "file/back_end.hpp"
#include "store/file_image.hpp"
#include "store/partial_file.hpp"
#include "store/writer_part.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::store {

/// Where the bytes of a writer's part are, if they do not lie in one piece of memory. Called by the
/// thread that writes, for one piece after another.
class PartBytes {
 public:
  virtual ~PartBytes() = default;
  /// `bytes` of `run` from `at` on, counted from the dataset's start; valid until the second call
  /// from now.
  virtual const std::byte* of(const Run& run, std::ptrdiff_t at, std::ptrdiff_t bytes) = 0;
  /// The items of `run`'s box, without gaps; valid until the second call from now.
  virtual const std::byte* of(const BoxRun& run) = 0;
};

/// One writer's part of one file, by a back end that opens alone: no MPI, no HDF5, so any thread
/// may run it. Every failure is an `Error(Errc::io)` with errno, path and step.
class FileTask {
 public:
  /// What to write. `staging` must stay unchanged until `write` is done. Reuses the storage of the
  /// last file.
  struct Setting {
    const std::byte* staging = nullptr;
    PartBytes* bytes = nullptr;  ///< used instead of `staging`, if set; not owned
    std::shared_ptr<const WriterPart> part;
    std::span<const std::ptrdiff_t> data_offsets;  ///< of each variable
    std::ptrdiff_t table_offset = -1;              ///< -1: no checksums
    std::ptrdiff_t box_table_offset = -1;          ///< -1: no checksums of boxes
    std::ptrdiff_t total_bytes = 0;
    /// If set, the data goes to this rank's own file, laid out so.
    std::shared_ptr<const FileImage> piece_image = nullptr;
    int generation = -1;  ///< of the pieces; -1: the file has none
    /// The rows of its checksum table are handed over (`kept_rows`), for the metadata rank to write
    /// all of them; else each writes its own.
    bool keep_rows = false;
    int rank = 0;
    const file::Settings& settings;  ///< copied
    Trace* trace = nullptr;
  };
  /// The file to come; a relative path counts from the working folder of this moment. Local.
  void name(const std::string& path, std::int64_t step);
  /// Makes the partial file, which no other run may hold, and with `pieces` a place for them, where
  /// `path` leads if it is a symbolic link. Metadata rank only.
  void create(const file::Settings& settings, bool pieces);
  /// The absolute path; and where it leads, which `create` finds out and tells the other ranks if
  /// it is a symbolic link. Local.
  const std::string& whole_path() const { return whole_path_; }
  const std::string& target() const { return target_; }
  bool leads_elsewhere() const { return target_ != whole_path_; }
  void set_target(const std::string& target);
  void set(Setting setting);
  /// This rank writes the metadata, renames and removes.
  bool is_metadata_rank() const { return rank_ == 0; }
  FileImage& image() { return image_; }
  /// As it was given.
  const std::string& path() const { return path_; }
  std::int64_t step() const { return step_; }
  int generation() const { return generation_; }

  /// Writes this rank's part to `path.partial` or its piece, with checksums, and flushes it.
  void write();
  /// The rows of checksums that `write` has kept.
  const std::vector<ChecksumRow>& kept_rows() const { return rows_; }
  /// Writes the rows that all ranks have kept, gives the file its final name and flushes the
  /// folder. Metadata rank only.
  void commit(std::vector<ChecksumRow> kept_rows = {});
  /// Removes what there is of the file. Metadata rank only.
  void discard() noexcept;

  /// Bytes of the variables written, system calls that wrote, files opened, seconds spent in
  /// `write` and `commit`, and when the last of them ended (0: this rank had nothing to do).
  std::ptrdiff_t bytes() const { return bytes_; }
  std::int64_t writes() const { return statistics_.writes; }
  std::int64_t opens() const { return statistics_.opens; }
  double seconds() const { return seconds_; }
  double ended_s() const { return ended_s_; }

 private:
  template <class Action>
  void run(const char* what, Action&& action);
  void write_master();
  void write_data();
  template <class Action>
  void fill(const std::string& path, Action&& action);
  void write_image(file::BackEnd& file, const FileImage& image, std::ptrdiff_t total_bytes);
  void write_at(file::BackEnd& file, const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset);
  void start_write(file::BackEnd& file, const std::byte* data);
  void write_run(file::BackEnd& file, const Run& run);
  void write_box(file::BackEnd& file, const BoxRun& run);

  std::string path_, whole_path_, target_, partial_, piece_;
  Access replaced_;  // of what stands there; known to the metadata rank
  std::int64_t step_ = 0;
  PartialFile held_;
  const std::byte* staging_ = nullptr;
  PartBytes* source_ = nullptr;
  std::shared_ptr<const WriterPart> part_;
  std::shared_ptr<const FileImage> piece_image_;
  std::vector<std::ptrdiff_t> data_offsets_;
  std::vector<ChecksumRow> rows_;
  std::vector<BoxRow> box_rows_;
  bool keep_rows_ = false;
  FileImage image_;
  std::ptrdiff_t table_offset_ = -1, box_table_offset_ = -1, total_bytes_ = 0, bytes_ = 0;
  int generation_ = -1;
  int rank_ = 0;
  file::Settings settings_;
  FileStatistics statistics_;
  std::vector<file::Segment> segments_;  // of the write to come
  Trace* trace_ = nullptr;
  double seconds_ = 0, ended_s_ = 0;
};

}  // namespace tailrace::store
