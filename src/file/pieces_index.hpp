// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace tailrace::file {

/// Is the file an index of `file_per_rank`? Throws `Errc::io` (errno) if it cannot be opened.
/// Local.
bool is_pieces_index(const std::string& path);

}  // namespace tailrace::file
