// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/descriptor.hpp"

namespace tailrace::server {

/// Opens a new file in `folder` that has no name, for reading and writing: it is gone when the
/// descriptor is closed, however the process ends. Nothing, with errno set, on failure. Local.
Descriptor open_nameless(const std::string& folder);

}  // namespace tailrace::server
