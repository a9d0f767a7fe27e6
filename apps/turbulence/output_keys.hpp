// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "case.hpp"

namespace tailrace::turbulence {

/// The part of the table of keys that is about field files and I/O servers.
std::vector<CaseKey> output_keys();

}  // namespace tailrace::turbulence
