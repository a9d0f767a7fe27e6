// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "file/segment.hpp"
#include "file/settings.hpp"
#include "tailrace/more/file.hpp"

namespace tailrace::file {

/// Which writer is responsible for which bytes of a stretch of a file, in which round, and where
/// they lie in its buffer. Plain data, the same on all ranks.
///
/// Rounds of a writer are windows of the file that its buffer holds one after another. Windows
/// start at stripes, so that a page of the file is a page of the buffer.
class Domains {
 public:
  Domains() = default;
  /// `range` is the stretch that is read or written; `stripe_bytes` >= 1 and `buffer_bytes` are
  /// multiples of 4096.
  Domains(FileRun range, int num_writers, Alignment alignment, std::ptrdiff_t stripe_bytes,
          std::ptrdiff_t buffer_bytes);

  struct Place {
    int writer = 0;
    std::ptrdiff_t round = 0;
    std::ptrdiff_t buffer_offset = 0;
    std::ptrdiff_t bytes = 0;  ///< that follow in the same place
  };
  /// `offset` must lie in the range.
  Place locate(std::ptrdiff_t offset) const;
  std::ptrdiff_t num_rounds() const { return num_rounds_; }
  int num_writers() const { return num_writers_; }
  /// What `writer` holds in `round`: pieces of the file with their places in its buffer.
  std::vector<Segment> window(int writer, std::ptrdiff_t round) const;
  const FileRun& range() const { return range_; }

 private:
  std::ptrdiff_t stripe_of(std::ptrdiff_t offset) const { return offset / stripe_; }

  FileRun range_;
  int num_writers_ = 1;
  Alignment alignment_ = Alignment::even;
  std::ptrdiff_t stripe_ = 1;
  std::ptrdiff_t window_ = 1;        // bytes of a round of a writer
  std::ptrdiff_t first_stripe_ = 0;  // owner: of the first round, a multiple of the writers
  std::ptrdiff_t num_rounds_ = 0;
  std::vector<std::ptrdiff_t> bounds_;  // even, stripe: where the writers' shares begin and end
  std::vector<std::ptrdiff_t> bases_;   // even, stripe: where their first windows begin
};

/// Bytes of a buffer that holds at least one stripe where a stripe has one owner.
std::ptrdiff_t buffer_for(std::ptrdiff_t wanted_bytes, Alignment alignment,
                          std::ptrdiff_t stripe_bytes);

}  // namespace tailrace::file
