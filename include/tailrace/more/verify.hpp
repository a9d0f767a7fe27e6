// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tailrace/box.hpp"
#include "tailrace/comm.hpp"

namespace tailrace {

/// What of a dataset does not match its checksum.
struct Damage {
  Box box;                          ///< the smallest that holds it
  Range bytes{0, 0};                ///< of the dataset, if it is one run of it; else empty
  std::ptrdiff_t file_offset = -1;  ///< of its first byte; -1 if only HDF5 knows
  int part = -1;                    ///< of the dataset, whose file this is; -1: the dataset's own
  /// "dataset u, box [0:1, 0:9], bytes 0 to 71 (file offset 4096)"; `file`: if it is a part's.
  std::string describe(const std::string& dataset, const std::string& file) const;
};

/// What was found out about one dataset.
struct VerifiedDataset {
  enum class Check {
    pieces,     ///< compared with the checksums of its pieces
    boxes,      ///< compared with the checksums of its boxes
    read,       ///< read whole through HDF5, which checks and unpacks chunks
    structure,  ///< only that the file is long enough to hold it
    header,     ///< all that is not data: headers, attributes, coordinates
  };
  std::string name;
  Check check = Check::structure;
  std::ptrdiff_t checked = 0;  ///< pieces, boxes, or reads
  std::ptrdiff_t bytes = 0;
  std::vector<Damage> damages;     ///< the first 100
  std::vector<std::string> files;  ///< of each damage: the file of its part, or ""
  std::ptrdiff_t num_damages = 0;
  std::string problem;      ///< why it cannot be read, or ""
  bool unreadable = false;  ///< not damaged: its filter is not installed, its file cannot be read
  bool damaged() const { return num_damages > 0 || (!problem.empty() && !unreadable); }
};

/// What was found out about one file.
struct VerifiedFile {
  std::string path;
  bool checksums = false;
  std::vector<VerifiedDataset> datasets;
  std::vector<std::string> sources;  ///< files that virtual datasets of it lie in
  bool pieces_checked = false;       ///< the data in these files has been checked
  std::string problem;               ///< why it cannot be read at all, or ""
  bool unreadable = false;           ///< not damaged: locked, not permitted, or of a newer format
  bool damaged() const;
  /// True if the file or a dataset of it could not be checked.
  bool unchecked() const;
};

/// Compares everything in `path` with its checksums, pieces and boxes distributed over the ranks;
/// holds at most a few MiB a rank. The result is complete on rank 0, and `damaged()` on all ranks.
/// `data` false leaves the datasets out and checks the rest. Never throws for what is wrong with
/// the file. Collective, blocking.
VerifiedFile verify_file(const Comm& comm, const std::string& path, bool data = true);

}  // namespace tailrace
