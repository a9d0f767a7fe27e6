// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "file/part.hpp"
#include "file/segment.hpp"
#include "tailrace/comm.hpp"

namespace tailrace::file {

/// Hints as MPI takes them.
class MpiInfo {
 public:
  explicit MpiInfo(std::span<const std::pair<std::string, std::string>> hints);
  ~MpiInfo() { MPI_Info_free(&raw_); }
  MpiInfo(const MpiInfo&) = delete;
  MpiInfo& operator=(const MpiInfo&) = delete;
  MPI_Info raw() const { return raw_; }

 private:
  MPI_Info raw_ = MPI_INFO_NULL;
};

/// The segments' bytes from number `from` to number `to`, counted in the order of the file.
std::vector<Segment> slice(std::span<const Segment> segments, std::ptrdiff_t from,
                           std::ptrdiff_t to);

/// Do the segments lie in memory one after another without gaps?
bool dense_in_memory(std::span<const Segment> segments);

/// Where the data is in the file: the box of the array as a subarray where it is one, else a list
/// of byte ranges. `displacement` is where the type begins.
struct FileType {
  OwnedType type;
  std::ptrdiff_t displacement = 0;
};
FileType file_type(const FilePart& part);

/// Where the data is in memory, in the order of the file.
OwnedType memory_type(std::span<const Segment> segments);

}  // namespace tailrace::file
