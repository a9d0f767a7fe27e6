/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts what a program and its libraries take from malloc and mmap in large pieces. Linked before
 * libc, or preloaded: its functions come before libc's, and pass on to them. */
#define _GNU_SOURCE
#include "watch_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { large = 1 << 20 };

static _Atomic long long taken = 0;

long long watched_bytes(void) { return atomic_load(&taken); }

static void count(size_t size) {
  if (size >= large) atomic_fetch_add(&taken, (long long)size);
}

/* glibc's own functions under the names that it exports for this: no dlsym before malloc works. */
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  count(size);
  return __libc_malloc(size);
}
void* calloc(size_t number, size_t size) {
  count(number * size);
  return __libc_calloc(number, size);
}
void* realloc(void* memory, size_t size) {
  count(size);
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  count(size);
  *memory = __libc_memalign(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  static void* (*next)(void*, size_t, int, int, int, off_t);
  if (next == NULL) {
    void* found = dlsym(RTLD_NEXT, "mmap");
    memcpy(&next, &found, sizeof next);
  }
  count(size);
  return next(address, size, protection, flags, file, offset);
}
