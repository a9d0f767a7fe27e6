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

/// Where a file and what is in it lie, as the metadata rank has laid it out.
struct FilePlaces {
  std::string target;                    ///< where the path leads
  int generation = -1;                   ///< of the pieces; -1: the file has none
  std::ptrdiff_t table_offset = -1;      ///< of the checksums; -1: there are none
  std::ptrdiff_t box_table_offset = -1;  ///< the same of the checksums of boxes
  std::ptrdiff_t total_bytes = 0;
  std::vector<std::ptrdiff_t> data_offsets;  ///< of each variable
};
template <class Bytes>
void travel(Bytes& bytes, FilePlaces& places) {
  bytes(places.target, places.generation, places.table_offset, places.box_table_offset,
        places.total_bytes, places.data_offsets);
}

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
    /// If set, the data goes to this rank's own file, laid out so.
    std::shared_ptr<const FileImage> piece_image = nullptr;
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
  /// Where the path leads, as `create` has found out. Local.
  const std::string& target() const { return places_.target; }
  /// Where all lies, once it is created and its image is made; the other ranks are told. Metadata
  /// rank only.
  FilePlaces places() const;
  void set(FilePlaces places, Setting setting);
  /// This rank writes the metadata, renames and removes.
  bool is_metadata_rank() const { return rank_ == 0; }
  FileImage& image() { return image_; }
  int generation() const { return places_.generation; }

  /// Writes this rank's part to `path.partial` or its piece, with checksums, and flushes it.
  void write();
  /// The rows of checksums that `write` has kept.
  const std::vector<ChecksumRow>& kept_rows() const { return rows_; }
  /// Writes the rows that all ranks have kept, gives the file its final name and flushes the
  /// folder. Metadata rank only.
  void commit(std::vector<ChecksumRow> kept_rows = {});
  /// Removes what there is of the file. Metadata rank only.
  void discard() noexcept;

  /// Bytes of the variables written, system calls that wrote, files opened, and seconds spent in
  /// `write` and `commit`.
  std::ptrdiff_t bytes() const { return bytes_; }
  std::int64_t writes() const { return statistics_.writes; }
  std::int64_t opens() const { return statistics_.opens; }
  double seconds() const { return seconds_; }

 private:
  template <class Action>
  void run(const char* what, Action&& action);
  void set_target(const std::string& target);
  void write_master();
  void write_data();
  template <class Action>
  void fill(const std::string& path, Action&& action);
  void write_image(file::BackEnd& file, const FileImage& image, std::ptrdiff_t total_bytes);
  void write_at(file::BackEnd& file, const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset);
  void start_write(file::BackEnd& file, const std::byte* data);
  void write_run(file::BackEnd& file, const Run& run);
  void write_box(file::BackEnd& file, const BoxRun& run);

  std::string path_, partial_, piece_;
  FilePlaces places_;
  Access replaced_;  // of what stands there; known to the metadata rank
  std::int64_t step_ = 0;
  PartialFile held_;
  const std::byte* staging_ = nullptr;
  PartBytes* source_ = nullptr;
  std::shared_ptr<const WriterPart> part_;
  std::shared_ptr<const FileImage> piece_image_;
  std::span<const std::ptrdiff_t> data_offsets_;  // of the file that the data goes to
  std::vector<ChecksumRow> rows_;
  std::vector<BoxRow> box_rows_;
  bool keep_rows_ = false;
  FileImage image_;
  std::ptrdiff_t table_offset_ = -1, bytes_ = 0;  // the table of that file, too
  int rank_ = 0;
  file::Settings settings_;
  FileStatistics statistics_;
  std::vector<file::Segment> segments_;  // of the write to come
  Trace* trace_ = nullptr;
  double seconds_ = 0;
};

}  // namespace tailrace::store
