// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "file/back_end.hpp"
#include "file/settings.hpp"
#include "store/chunk_reader.hpp"
#include "store/file_index.hpp"
#include "store/hdf5_handle.hpp"
#include "store/read_plan.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/more/verify.hpp"

namespace tailrace::store {

/// One rank's access to a file that it reads from: opened at the first read and kept open. The
/// arguments outlive it.
class ReadFile {
 public:
  ReadFile(const Comm& comm, std::string path, const file::Settings& settings,
           FileStatistics& statistics)
      : comm_(comm), path_(std::move(path)), settings_(settings), statistics_(statistics) {}
  const std::string& path() const { return path_; }
  file::BackEnd& open();
  FileStatistics& statistics() { return statistics_; }
  /// Another file, read in the same way.
  ReadFile beside(const std::string& path) const { return {comm_, path, settings_, statistics_}; }

 private:
  const Comm& comm_;
  std::string path_;
  const file::Settings& settings_;
  FileStatistics& statistics_;
  std::unique_ptr<file::BackEnd> back_end_;
};

/// Reads and checks units of one dataset, on one rank.
class DatasetReader {
 public:
  /// Opens nothing yet. All arguments outlive it.
  DatasetReader(ReadFile& file, const FileIndex::Entry& entry, const Units& units)
      : file_(file), entry_(entry), units_(units) {}

  /// Reads `units` into `data`, one after another, as items of the entry's type. Throws `Errc::io`,
  /// or `Errc::corrupt` if the file ends before they do. Local.
  void read(std::span<const std::ptrdiff_t> units, std::vector<std::byte>& data);
  /// Those of `units`, just read into `data`, that do not match their checksums. Local.
  std::vector<Damage> check(std::span<const std::ptrdiff_t> units, std::span<const std::byte> data);
  /// Where a unit lies that is not as it was written. Local.
  Damage damage_of(std::ptrdiff_t unit);
  /// Units compared with a checksum so far.
  std::ptrdiff_t checked() const { return checked_; }

 private:
  // The file of a part, and what it holds.
  struct PartFile {
    int part = -1;
    std::unique_ptr<ReadFile> file;
    FileIndex index;
    const FileIndex::Entry* entry = nullptr;
  };
  void read_direct(std::span<const Box> boxes, std::byte* data);
  void read_parts(std::span<const std::ptrdiff_t> units, std::byte* data);
  void open_part(int part);
  std::optional<std::uint64_t> checksum(std::ptrdiff_t unit);
  void open_dataset();
  void read_chunks(std::span<const Box> boxes, std::byte* data);
  void read_by_hdf5(const Box& box, std::byte* data);
  [[noreturn]] void cannot_read(const Box& box) const;

  ReadFile& file_;
  const FileIndex::Entry& entry_;
  const Units& units_;
  PartFile part_;
  std::ptrdiff_t checked_ = 0;
  std::optional<QuietHdf5> quiet_;
  std::optional<Hdf5Handle> hdf5_file_, dataset_;
  std::optional<ChunkReader> chunks_;  ///< none where HDF5 undoes the filters
};

}  // namespace tailrace::store
