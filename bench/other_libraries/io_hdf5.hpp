// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "io_variant.hpp"

namespace bench {

/// Parallel HDF5 as a program calls it; empty if the build has none.
std::vector<WriteMethod> hdf5_variants();

}  // namespace bench
