// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tailrace/box.hpp"
#include "tailrace/comm.hpp"

namespace tailrace {

/// A part of a dataset that does not match its checksum.
struct Damage {
  Box box;                          ///< smallest box that contains it
  Range bytes{0, 0};                ///< bytes of the dataset if contiguous, otherwise empty
  std::ptrdiff_t file_offset = -1;  ///< offset of its first byte; -1 if only HDF5 knows it
  int part = -1;  ///< part of the dataset, with its own file; -1: the dataset's file
  /// A text such as "dataset u, box [0:1, 0:9], bytes 0 to 71 (file offset 4096)". `file` is the
  /// file of the part, if any.
  std::string describe(const std::string& dataset, const std::string& file) const;
};

/// The result for one dataset.
struct VerifiedDataset {
  enum class Check {
    pieces,     ///< compared with the checksums of its pieces
    boxes,      ///< compared with the checksums of its boxes
    read,       ///< read whole through HDF5, which checks and unpacks chunks
    structure,  ///< checked only that the file is long enough to contain it
    header,     ///< everything except data: headers, attributes, coordinates
  };
  std::string name;
  Check check = Check::structure;
  std::ptrdiff_t checked = 0;  ///< number of pieces, boxes, or reads
  std::ptrdiff_t bytes = 0;
  std::vector<Damage> damages;     ///< the first 100
  std::vector<std::string> files;  ///< for each damage: the file of its part, or ""
  std::ptrdiff_t num_damages = 0;
  std::string problem;      ///< why it cannot be read, or ""
  bool unreadable = false;  ///< not damaged: filter not installed, or file cannot be read
  bool damaged() const { return num_damages > 0 || (!problem.empty() && !unreadable); }
};

/// The result for one file.
struct VerifiedFile {
  std::string path;
  bool checksums = false;
  std::vector<VerifiedDataset> datasets;
  std::vector<std::string> sources;  ///< files that contain data of its virtual datasets
  bool pieces_checked = false;       ///< the data in these files has been checked
  std::string problem;               ///< reason why it cannot be read at all, or ""
  bool unreadable = false;           ///< not damaged: locked, not permitted, or of a newer format
  bool damaged() const;
  /// True if the file or a dataset of it could not be checked.
  bool unchecked() const;
};

/// Compares everything in `path` with its checksums; pieces and boxes are distributed over the
/// ranks. Uses at most a few MiB per rank. The result is complete on rank 0; `damaged()` is valid
/// on all ranks. With `data` false, datasets are skipped and the rest is checked. Never throws
/// because of errors in the file. Collective, blocking.
VerifiedFile verify_file(const Comm& comm, const std::string& path, bool data = true);

}  // namespace tailrace
