// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "store/file_image.hpp"
#include "store/hdf5_handle.hpp"
#include "store/image_pages.hpp"
#include "tailrace/box.hpp"

namespace tailrace::store {

/// A file that HDF5 lays out in memory. Metadata is kept; of data, only the place is noted if
/// `keep_data(false)` was called. HDF5 reaches it through a virtual file driver.
class ImageFile {
 public:
  /// Registers the driver. The metadata goes to `pages`, which must live as long. Throws
  /// `Errc::io`.
  explicit ImageFile(ImagePages& pages);
  /// Makes files that are created with the access list `access` be this one. It must outlive them.
  void use(hid_t access);
  /// Whether bytes that HDF5 writes to datasets are kept, as those of coordinates, or dropped, as
  /// writers have them.
  void keep_data(bool keep) { keeps_data_ = keep; }
  /// Where data has been dropped since the last call, in the order in which HDF5 wrote it.
  std::vector<Range> take_dropped() { return std::exchange(dropped_, {}); }
  /// Copies the metadata into `image`: pages that hold any, without what lies in `data`
  /// (ascending).
  void take_metadata(std::span<const Range> data, FileImage& image) const;

 private:
  friend struct ImageDriver;

  ImagePages& pages_;
  std::vector<Range> dropped_;
  bool keeps_data_ = true;
  std::ptrdiff_t allocated_ = 0, end_ = 0;
  Hdf5Handle driver_;
};

/// Adds the last row of the checksum table, which stands for all that is not in `data` (ascending),
/// holes included.
void add_header_row(std::span<const Range> data, std::ptrdiff_t table_rows,
                    std::size_t num_variables, FileImage& image);

}  // namespace tailrace::store
