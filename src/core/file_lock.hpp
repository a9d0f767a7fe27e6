// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

namespace tailrace {

/// Sets (F_WRLCK) or ends (F_UNLCK) a lock of an open file on a range of it; `bytes` 0: to its end.
/// `command` is F_OFD_SETLK, or F_OFD_SETLKW to wait. -1 with errno set on failure. Local.
int set_lock(int descriptor, short kind, int command, off_t start = 0, off_t bytes = 0) noexcept;

}  // namespace tailrace
