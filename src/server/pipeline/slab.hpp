// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/buffer.hpp"
#include "server/group.hpp"
#include "server/step.hpp"

namespace tailrace::server {

/// A server's share of a whole field, however its boxes lay before: the rows of axis 0 that
/// `split_evenly` gives it, row-major without gaps.
struct Slab {
  Box box;
  Buffer data;
  std::ptrdiff_t given = 0;  ///< items that some server had; the others are zero
};

/// Exchanges `field` (one axis or more) into slabs. Collective over the servers.
Slab to_slab(const Field& field, Group& group);

/// The rows of axis 0 of `server`.
Box slab_box(int num_dims, const Index& extents, int server, int num_servers);

}  // namespace tailrace::server
