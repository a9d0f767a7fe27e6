// SPDX-License-Identifier: BSD-3-Clause
#include "file_back_ends/ompio.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "file_back_ends/mpi_types.hpp"

namespace tailrace::file {

bool uses_ompio() {
#ifdef OPEN_MPI
  const char* chosen = std::getenv("OMPI_MCA_io");
  const std::string_view io = chosen != nullptr ? chosen : "";
  if (io.starts_with("^")) return io.find("ompio") == std::string_view::npos;
  return io.empty() || io.find("ompio") != std::string_view::npos;
#else
  return false;
#endif
}

void warn_of_ompio(Settings& settings) {
  if (!uses_ompio() || settings.file_system.kind != FileSystem::Kind::network) return;
  settings.warnings.push_back(fmt::format(
      "Open MPI's OMPIO may not report failed writes, which cannot be checked on {}; use ROMIO "
      "(OMPI_MCA_io=romio321) or back_end=posix",
      settings.file_system.name));
}

bool ReadBack::is_needed(const OpenRequest& request) {
  return uses_ompio() && request.access != FileAccess::read &&
         request.settings.file_system.kind != FileSystem::Kind::network;
}

bool ReadBack::is_needed_for_reads_of_hdf5(const OpenRequest& request) {
  return uses_ompio() && (request.access == FileAccess::read || is_needed(request));
}

ReadBack::ReadBack(const OpenRequest& request)
    : comm_(*request.openers), path_(request.path), settings_(request.settings) {
  settings_.direct_io = Switch::off;  // the page cache has what was just written
  file();                             // from now on it learns of errors of the disk
}

BackEnd& ReadBack::file() {
  if (!file_) file_ = open_posix({&comm_, path_, FileAccess::read, settings_, uncounted_});
  return *file_;
}

void ReadBack::check(std::span<const Segment> segments, const std::byte* memory, bool writing) {
  constexpr std::ptrdiff_t most_bytes = 4 << 20;
  std::ptrdiff_t bytes = 0;
  for (const auto& segment : segments) bytes += segment.bytes;
  buffer_.resize(static_cast<std::size_t>(std::min(bytes, most_bytes)));
  for (std::ptrdiff_t from = 0; from < bytes; from += most_bytes) {
    const auto wanted = slice(segments, from, std::min(bytes, from + most_bytes));
    auto dense = wanted;
    std::ptrdiff_t place = 0;
    for (auto& segment : dense) {
      segment.memory_offset = place;
      place += segment.bytes;
    }
    bool same = true;
    try {
      file().read(dense, buffer_.data(), true);
      for (std::size_t i = 0; same && i < dense.size(); ++i) {
        same =
            std::memcmp(buffer_.data() + dense[i].memory_offset, memory + wanted[i].memory_offset,
                        static_cast<std::size_t>(wanted[i].bytes)) == 0;
      }
    } catch (const Error& error) {
      if (error.code() != Errc::corrupt) throw;  // the file ends too early
      same = false;
    }
    if (same) continue;
    throw Error(Errc::io,
                fmt::format("cannot {} {}: MPI-IO (OMPIO) reported success, but of bytes {} to {} "
                            "some are {}",
                            writing ? "write" : "read", path_, wanted.front().file_offset,
                            wanted.back().file_end() - 1,
                            writing ? "not in the file; is the disk full?" : "others in the file"),
                EIO);
  }
}

void ReadBack::flush() { file().flush(); }

}  // namespace tailrace::file
