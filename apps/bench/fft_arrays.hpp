// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "driver.hpp"
#include "tailrace/comm.hpp"

namespace bench {

/// What `tailrace-bench fft --extents ...` prints. Collective.
void measure_arrays(const tailrace::Comm& comm, const Arguments& args);

}  // namespace bench
