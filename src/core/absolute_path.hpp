// SPDX-License-Identifier: BSD-3-Clause
// A program may change its working folder at any time, and files are opened later, by other
// threads: each call makes its paths absolute when it takes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tailrace/comm.hpp"

namespace tailrace {

/// `path` from the root, by the working folder of this moment. An absolute path, an empty one, and
/// one that would be too long for the system stay as they are. Local.
std::string absolute_path(const std::string& path);

/// The absolute path that an environment variable holds, by the working folder in which this value
/// was seen first; "" if it is not set. Local.
std::string environment_path(const char* name);

/// Where `path` counts from: 0 for an absolute path, else the number (inode) of the working folder,
/// which is the same on all nodes that mount this folder, wherever they mount it. Local.
std::uint64_t start_of_path(const std::string& path);

/// Throws `Errc::invalid_input` on all ranks if `path`, given alike, counts from different folders:
/// "WHO: the path must be the same on all ranks; it is /a/u.h5 on rank 0, /b/u.h5 on rank 1". One
/// allreduce. Collective, blocking.
void require_same_folder(const Comm& comm, std::string_view who, const std::string& path);

/// `absolute_path` of a path that counts from the same folder on all ranks, or throws as
/// `require_same_folder`. Collective, blocking.
std::string common_path(const Comm& comm, std::string_view who, const std::string& path);

}  // namespace tailrace
