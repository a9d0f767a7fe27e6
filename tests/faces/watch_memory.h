/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TAILRACE_TESTS_WATCH_MEMORY_H
#define TAILRACE_TESTS_WATCH_MEMORY_H

#include <stdlib.h>

/* Bytes of all allocations of at least 1 MiB so far. */
long long watched_bytes(void);

#endif
