// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "tailrace/error.hpp"
#include "tailrace/output.hpp"

namespace tailrace::store {

/// Contents in which dims and memory that a `Variable` leaves open are filled in, where they can
/// be. A copy is made only if there are any; refers to the contents given. Local.
class WithDefaults {
 public:
  WithDefaults(const FileContents& given, int rank, int num_ranks);
  const FileContents& contents() const { return made_ ? *made_ : given_; }

 private:
  const FileContents& given_;
  std::optional<FileContents> made_;
};

/// Bytes of the variables that `rank` gives. `contents` must be right. Local.
std::ptrdiff_t given_bytes(const FileContents& contents, int rank);

/// What is wrong with `contents` on this rank (names, dimensions, layouts, memory), if anything.
/// Local.
std::optional<Error> check_contents(const FileContents& contents, int rank, int num_ranks);

}  // namespace tailrace::store
