// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse/stored.hpp"

namespace tailrace::sparse {

/// Stores the matrix as options say. `trials` gets what was timed.
std::shared_ptr<Stored> choose(const CsrView& a, const MatrixOptions& options,
                               std::vector<Trial>& trials);

}  // namespace tailrace::sparse
