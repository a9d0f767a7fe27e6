// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "store/file_image.hpp"

namespace tailrace::store {

/// Adds a seal behind the end of the HDF5 file: which bytes are headers, attributes, coordinates,
/// and their checksum. It is found without HDF5, which crashes on some damaged headers. HDF5 and
/// netCDF ignore what lies behind the end that the file names, and cut it off when they change the
/// file: then there is no seal any more, which is no damage. Call it when all of `image.extents`
/// but the tables of checksums is there. The seal begins a stripe of its own if data does. Local.
void add_header_seal(std::ptrdiff_t stripe_bytes, FileImage& image);

/// Compares the headers of `path` with its seal. Throws `Errc::corrupt` if they do not match, and
/// `Errc::io` if they cannot be read. Does nothing without a seal, or if the file cannot be opened.
/// Local.
void check_header_seal(const std::string& path);

}  // namespace tailrace::store
