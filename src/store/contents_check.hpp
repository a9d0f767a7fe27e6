// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "tailrace/error.hpp"
#include "tailrace/output.hpp"

namespace tailrace::store {

/// What is wrong with `contents` on this rank (names, dimensions, layouts, memory), if anything.
/// Local.
std::optional<Error> check_contents(const FileContents& contents, int rank, int num_ranks);

}  // namespace tailrace::store
