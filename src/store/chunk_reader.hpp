// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <hdf5.h>

#include "core/raw_bytes.hpp"
#include "store/file_image.hpp"
#include "store/file_index.hpp"
#include "tailrace/box.hpp"

namespace tailrace::store {

/// A filter of a stored dataset, and what it is called; a number below 0: HDF5 does not say.
struct StoredFilter {
  ChunkFilter filter;
  std::string name;
};
/// Those of a dataset with the creation list `create`, in the order in which they were applied.
/// Local.
std::vector<StoredFilter> stored_filters(hid_t create);

/// Reads chunks of a dataset. HDF5 finds them and gives their bytes as they are stored; filters are
/// undone here, by libraries that are faster than those that HDF5 uses.
class ChunkReader {
 public:
  /// `dataset` outlives the reader. None if HDF5 has to convert the items or to undo a filter that
  /// is not known here. Local.
  static std::optional<ChunkReader> of(hid_t dataset, const FileIndex::Entry& entry);

  /// Reads `boxes` into `data`, one after another, each row-major without gaps. A chunk that
  /// several of them have items of is read once. Returns the box of a chunk that could not be read
  /// or is damaged; none if all is well. Local.
  std::optional<Box> read(std::span<const Box> boxes, std::byte* data);

 private:
  ChunkReader() = default;
  bool load(const Box& chunk, std::byte* items);
  bool load_by_hdf5(const Box& chunk, std::byte* items) const;

  hid_t dataset_ = -1;
  int num_dims_ = 0;
  Index extents_{}, chunk_{};
  std::ptrdiff_t item_bytes_ = 0;
  std::vector<ChunkFilter> filters_;  ///< in the order in which they were applied
  RawBytes stored_, items_, other_;
};

}  // namespace tailrace::store
