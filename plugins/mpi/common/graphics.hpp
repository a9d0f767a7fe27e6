// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace tailrace::plugins {

// True if the process has a library of graphics processors, whose memory we cannot copy. Local.
bool uses_graphics_processors();

}  // namespace tailrace::plugins
