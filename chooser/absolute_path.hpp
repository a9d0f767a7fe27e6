// SPDX-License-Identifier: BSD-3-Clause
// A program may change its working folder at any time, and files are opened later, by other
// threads: each call makes its paths absolute when it takes them. No MPI.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace tailrace
