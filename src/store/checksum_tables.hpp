// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <hdf5.h>

#include "store/file_index.hpp"

namespace tailrace::store {

/// Gives the entries of `index` their checksums from the tables of an open file. Throws
/// `Errc::corrupt` if tables, or the pieces of a variable, do not cover it exactly once. Local.
void add_checksums(hid_t file, FileIndex& index);

}  // namespace tailrace::store
