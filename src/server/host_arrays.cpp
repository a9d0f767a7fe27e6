// SPDX-License-Identifier: BSD-3-Clause
#include "server/host_arrays.hpp"

namespace tailrace::server {

const FileContents& HostArrays::of(const FileContents& contents, int rank, DeviceCopies& copies) {
  contents_ = contents;
  buffers_.resize(contents.variables.size());
  for (std::size_t v = 0; v < contents.variables.size(); ++v) {
    const auto& given = contents.variables[v];
    if (!copies.on_device(given.data)) continue;
    const auto item = item_bytes(given.type);
    if (buffers_[v].bytes() < given.memory.num_items * item) {
      buffers_[v] = Buffer(given.memory.num_items * item, false);
    }
    const auto boxes = given.layout->boxes(rank);
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      const auto side = side_of(boxes[b], boxes[b], given.memory.boxes[b]);
      copies.run(StridedCopy(boxes[b], side, side, item), given.data, buffers_[v].data());
    }
    contents_.variables[v].data = buffers_[v].data();
  }
  copies.finish();
  return contents_;
}

}  // namespace tailrace::server
