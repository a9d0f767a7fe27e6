// SPDX-License-Identifier: BSD-3-Clause
// Paths that all ranks give alike, and that must count from the same folder on all of them.
#pragma once

#include <string>
#include <string_view>

#include "tailrace/comm.hpp"

namespace tailrace {

/// Throws `Errc::invalid_input` on all ranks if `path`, given alike, counts from different folders:
/// "WHO: the path must be the same on all ranks; it is /a/u.h5 on rank 0, /b/u.h5 on rank 1". One
/// allreduce. Collective, blocking.
void require_same_folder(const Comm& comm, std::string_view who, const std::string& path);

/// `absolute_path` of a path that counts from the same folder on all ranks, or throws as
/// `require_same_folder`. Collective, blocking.
std::string common_path(const Comm& comm, std::string_view who, const std::string& path);

}  // namespace tailrace
