// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/file_image.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/output.hpp"

namespace tailrace::store {

/// What a file holds and where: enough to read it without HDF5.
struct FileIndex {
  struct Entry {
    std::string name;
    ItemType type = ItemType::float64;
    std::vector<std::ptrdiff_t> extents;
    std::ptrdiff_t offset = -1;       ///< of the data in the file; -1: only HDF5 can read it
    bool scale = false;               ///< a coordinate
    std::vector<double> values;       ///< of a coordinate
    std::vector<ChecksumRow> pieces;  ///< by offset; empty if the file has no checksums
  };
  std::vector<Entry> entries;
  Attributes attributes;  ///< of the file
};

/// Looks into `path` on this rank. Throws `Errc::io` (errno) if it cannot be opened,
/// `Errc::corrupt` if it is not a whole HDF5 file. Local.
FileIndex index_file(const std::string& path);

/// Gives rank 0's index to all. Collective, blocking.
void share_index(const Comm& comm, FileIndex& index);

/// Reads a whole dataset through HDF5 (chunked, compressed, foreign byte order) as `type`. Local.
void read_dataset(const std::string& path, const std::string& name, ItemType type, void* data);

}  // namespace tailrace::store
