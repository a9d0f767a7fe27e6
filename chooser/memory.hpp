// SPDX-License-Identifier: BSD-3-Clause
// The memory of winners: one JSON file for all jobs of a user, and for all that choose by times.
//   {"schema": "tailrace tune", "version": 1, "entries": [
//     {"operation", "key", "places", "winner", "why", "date", "null_spread",
//      "waited", "repeats", "timings": [{"name", "trouble", "median_s", "spread_s", "samples"}],
//      "machine": {"processor", "cores", "memory_domains", "kernel", "mpi", "tailrace"}}]}
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tailrace::chooser {

using Json = nlohmann::ordered_json;
using Entries = std::shared_ptr<const std::vector<Json>>;

/// Why a memory file cannot be read or written. `sys_errno`: of the system, or 0 if the file is no
/// memory file.
class MemoryError : public std::runtime_error {
 public:
  MemoryError(const std::string& text, int sys_errno)
      : std::runtime_error(text), sys_errno_(sys_errno) {}
  int sys_errno() const { return sys_errno_; }

 private:
  int sys_errno_;
};

/// TAILRACE_TUNE_FILE, else tune.json in the cache folder; "": none. Local.
std::string memory_file();

/// The entries of a file. It is read again only if it has changed: the same pointer until then.
/// Throws `MemoryError`. Local.
Entries read_entries(const std::string& file);

/// Adds entries in place of those of the same problem, under a lock that all jobs share. The file
/// is replaced when the new one is whole; mode, group, access list and links stay. Throws
/// `MemoryError`; what is no memory file stays as it is. Local.
void add_entries(const std::string& file, std::span<const Json> entries);

/// The date and time now, or a number of seconds ago, in UTC. Local.
std::string date_text(std::int64_t ago_s = 0);

/// The same number in every process, unlike std::hash.
std::uint64_t stable_hash(std::string_view text);

}  // namespace tailrace::chooser
