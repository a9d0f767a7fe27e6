// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "file/back_end.hpp"

namespace tailrace::file {

/// Whether MPI-IO may be OMPIO, Open MPI's own, and not ROMIO (OMPI_MCA_io=romio321 or ^ompio).
/// OMPIO 4.1 has two defects: a collective read gives wrong bytes where parts of ranks overlap
/// (tests/file_back_ends/mpi_io_test.cpp shows it), and a failed call is reported as success (a
/// read with the number of bytes that it got, which HDF5 makes zeros of). Local.
bool uses_ompio();

/// Adds a warning to `settings` if failed writes of MPI-IO may go unseen. Local.
void warn_of_ompio(Settings& settings);

/// Finds what OMPIO has lost without an error: reads once more by plain system calls. What was
/// written not on network file systems, where a rank may see older bytes than another has written.
class ReadBack {
 public:
  static bool is_needed(const OpenRequest& request);
  /// What HDF5 reads cannot be told from what it could not read.
  static bool is_needed_for_reads_of_hdf5(const OpenRequest& request);
  /// The request's file, settings and communicator outlive it.
  explicit ReadBack(const OpenRequest& request);
  /// Throws `Errc::io` if `segments` of the file are not what they are in `memory`. Local.
  void check(std::span<const Segment> segments, const std::byte* memory, bool writing = true);
  /// Flushes by a system call, whose error is told. Local.
  void flush();

 private:
  BackEnd& file();

  const Comm& comm_;
  std::string path_;
  Settings settings_;
  FileStatistics uncounted_;
  std::unique_ptr<BackEnd> file_;
  std::vector<std::byte> buffer_;
};

}  // namespace tailrace::file
