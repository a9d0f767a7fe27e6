// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace tailrace {

/// Reads or writes all of a range of a file. Returns 0 or the error: EIO if the file ends before,
/// ENOSPC if it takes nothing more. Local.
int read_at(int descriptor, void* data, std::ptrdiff_t bytes, off_t offset);
int write_at(int descriptor, const void* data, std::ptrdiff_t bytes, off_t offset);

}  // namespace tailrace
