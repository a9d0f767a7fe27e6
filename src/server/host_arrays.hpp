// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "move/device_copies.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::server {

/// Copies of device arrays in the memory of the host, for what the processor reads in more ways
/// than one: exchanges between ranks, and items that become shorter. The memory is kept from step
/// to step.
class HostArrays {
 public:
  /// `contents` with all arrays of `rank` in the memory of the host, in the same form. `copies` has
  /// begun with them. Throws as `copies` does. Blocking. Local.
  const FileContents& of(const FileContents& contents, int rank, DeviceCopies& copies);

 private:
  FileContents contents_;
  std::vector<Buffer> buffers_;
};

}  // namespace tailrace::server
