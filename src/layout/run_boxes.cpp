// SPDX-License-Identifier: BSD-3-Clause
#include "layout/run_boxes.hpp"

#include <algorithm>

namespace tailrace {

std::vector<Box> boxes_of_run(int num_dims, const Index& extents, Range run) {
  std::vector<Box> found;
  const auto dims = static_cast<std::size_t>(num_dims);
  for (auto item = run.start; item < run.end();) {
    Index place{};
    auto rest = item;
    for (auto d = dims; d-- > 0; rest /= extents[d]) place[d] = rest % extents[d];
    std::size_t axis = dims - 1;
    std::ptrdiff_t step = 1;  // items of one index along `axis`
    while (axis > 0 && place[axis] == 0 && item + step * extents[axis] <= run.end()) {
      step *= extents[axis];
      --axis;
    }
    Box box{num_dims, place, {}};
    for (std::size_t d = 0; d < axis; ++d) box.extents[d] = 1;
    box.extents[axis] = std::min(extents[axis] - place[axis], (run.end() - item) / step);
    for (std::size_t d = axis + 1; d < dims; ++d) box.extents[d] = extents[d];
    item += box.extents[axis] * step;
    found.push_back(box);
  }
  return found;
}

}  // namespace tailrace
