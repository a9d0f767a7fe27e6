// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tailrace/more/file.hpp"

namespace bench {

/// What the user asks for; sizes in bytes.
struct PatternRequest {
  std::string name = "segmented";
  std::ptrdiff_t block = 10'000;
  std::ptrdiff_t transfer = 0;  ///< bytes of a call where each piece is a call; 0 = a whole run
  std::ptrdiff_t total = 20'000'000;
  std::ptrdiff_t edge = 0;      ///< blocks3d: points along an edge; 0 = from `total`
  std::string grid = "blocks";  ///< blocks3d: slabs, pencils, blocks or AxBxC
};

/// A rank's part of a row-major array, where a pattern is one.
struct ArrayPart {
  std::vector<std::ptrdiff_t> extents, start, part;
  std::ptrdiff_t item_bytes = 1;
};

/// Which bytes of one shared file a rank holds. All ranks together hold each byte once, from 0 to
/// `total_bytes`. In memory the runs lie one after another.
struct Pattern {
  std::ptrdiff_t total_bytes = 0;
  std::vector<tailrace::FileRun> runs;       ///< ascending
  std::vector<tailrace::FileRun> transfers;  ///< the runs cut to `PatternRequest::transfer`
  std::optional<ArrayPart> array;
  std::ptrdiff_t bytes() const;  ///< of this rank
  tailrace::FilePart file_part() const;
};

/// The names that `make_pattern` knows, for messages.
std::string pattern_names();

/// The part of `rank` of `num_ranks`. Throws `Errc::invalid_input` for a name, size or grid that
/// makes no sense, with what would. Local.
Pattern make_pattern(const PatternRequest& request, int rank, int num_ranks);

/// The bytes that belong to `runs`, one after another: each byte depends on its place in the file
/// alone.
std::vector<std::byte> expected_bytes(const std::vector<tailrace::FileRun>& runs);

}  // namespace bench
