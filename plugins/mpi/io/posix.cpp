// SPDX-License-Identifier: BSD-3-Clause
// Calls of POSIX by which a program may come upon a file of its own that is not whole yet: to open
// it, or ask for its size, waits until it is; so does a program that starts another one. A file
// that is still open gets its name.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "io/hidden_file.hpp"

namespace tailrace::plugins {
namespace {

// The C library's function, found at the first call.
template <class Function>
Function next_call(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_watched() {
  return OwnCalls::depth() == 0 && watches_posix() && hidden_files().is_started();
}

void await(const char* path) {
  if (path == nullptr || !is_watched()) return;
  const int error = errno;
  if (hidden_files().board().has_unfinished()) hidden_files().wait_for(path);
  errno = error;
}
// Only names that do not depend on the folder `at`.
void await(int at, const char* path) {
  if (path != nullptr && (at == AT_FDCWD || path[0] == '/')) await(path);
}
void await_all() {
  if (OwnCalls::depth() != 0 || !watches_posix()) return;
  const int error = errno;
  hidden_files().wait_for_closed();
  errno = error;
}

}  // namespace
}  // namespace tailrace::plugins

using namespace tailrace::plugins;

// Defined under other names, as headers declare them in several ways.
#define TAILRACE_AS(symbol) asm(#symbol)
#define TAILRACE_NEXT_CALL(own, symbol) static const auto next = next_call<decltype(&own)>(#symbol);

extern "C" {
#pragma GCC visibility push(default)

// The permissions are there only if a file may be made; to pass them on otherwise does no harm.
#define TAILRACE_OPEN(symbol)                                                                \
  int own_##symbol(const char* path, int flags, ...) TAILRACE_AS(symbol);                    \
  int own_##symbol(const char* path, int flags, ...) {                                       \
    static const auto next = next_call<int (*)(const char*, int, ...)>(#symbol);             \
    va_list more;                                                                            \
    va_start(more, flags);                                                                   \
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0; \
    va_end(more);                                                                            \
    await(path);                                                                             \
    return next(path, flags, mode);                                                          \
  }
#define TAILRACE_OPENAT(symbol)                                                              \
  int own_##symbol(int at, const char* path, int flags, ...) TAILRACE_AS(symbol);            \
  int own_##symbol(int at, const char* path, int flags, ...) {                               \
    static const auto next = next_call<int (*)(int, const char*, int, ...)>(#symbol);        \
    va_list more;                                                                            \
    va_start(more, flags);                                                                   \
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0; \
    va_end(more);                                                                            \
    await(at, path);                                                                         \
    return next(at, path, flags, mode);                                                      \
  }
// A call with these arguments, of which `path` names the file.
#define TAILRACE_ON_PATH(result, symbol, declared, given, waits) \
  result own_##symbol declared TAILRACE_AS(symbol);              \
  result own_##symbol declared {                                 \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                     \
    waits;                                                       \
    return next given;                                           \
  }

TAILRACE_OPEN(open)
TAILRACE_OPEN(open64)
TAILRACE_OPENAT(openat)
TAILRACE_OPENAT(openat64)
TAILRACE_ON_PATH(int, __open_2, (const char* path, int flags), (path, flags), await(path))
TAILRACE_ON_PATH(int, __open64_2, (const char* path, int flags), (path, flags), await(path))
TAILRACE_ON_PATH(int, __openat_2, (int at, const char* path, int flags), (at, path, flags),
                 await(at, path))
TAILRACE_ON_PATH(int, __openat64_2, (int at, const char* path, int flags), (at, path, flags),
                 await(at, path))
TAILRACE_ON_PATH(void*, fopen, (const char* path, const char* mode), (path, mode), await(path))
TAILRACE_ON_PATH(void*, fopen64, (const char* path, const char* mode), (path, mode), await(path))
TAILRACE_ON_PATH(int, stat, (const char* path, void* facts), (path, facts), await(path))
TAILRACE_ON_PATH(int, stat64, (const char* path, void* facts), (path, facts), await(path))
TAILRACE_ON_PATH(int, lstat, (const char* path, void* facts), (path, facts), await(path))
TAILRACE_ON_PATH(int, lstat64, (const char* path, void* facts), (path, facts), await(path))
TAILRACE_ON_PATH(int, fstatat, (int at, const char* path, void* facts, int flags),
                 (at, path, facts, flags), await(at, path))
TAILRACE_ON_PATH(int, fstatat64, (int at, const char* path, void* facts, int flags),
                 (at, path, facts, flags), await(at, path))
TAILRACE_ON_PATH(int, statx, (int at, const char* path, int flags, unsigned mask, void* facts),
                 (at, path, flags, mask, facts), await(at, path))
TAILRACE_ON_PATH(int, access, (const char* path, int mode), (path, mode), await(path))
TAILRACE_ON_PATH(int, unlink, (const char* path), (path), await(path))
TAILRACE_ON_PATH(int, remove, (const char* path), (path), await(path))
TAILRACE_ON_PATH(int, truncate, (const char* path, off_t bytes), (path, bytes), await(path))
TAILRACE_ON_PATH(int, rename, (const char* path, const char* to), (path, to),
                 (await(path), await(to)))
TAILRACE_ON_PATH(int, system, (const char* command), (command), await_all())
TAILRACE_ON_PATH(void*, popen, (const char* command, const char* mode), (command, mode),
                 await_all())
TAILRACE_ON_PATH(int, execve, (const char* path, void* arguments, void* environment),
                 (path, arguments, environment), await_all())
TAILRACE_ON_PATH(int, execv, (const char* path, void* arguments), (path, arguments), await_all())
TAILRACE_ON_PATH(int, execvp, (const char* path, void* arguments), (path, arguments), await_all())
TAILRACE_ON_PATH(int, posix_spawn,
                 (void* made, const char* path, void* actions, void* attributes, void* arguments,
                  void* environment),
                 (made, path, actions, attributes, arguments, environment), await_all())
TAILRACE_ON_PATH(int, posix_spawnp,
                 (void* made, const char* path, void* actions, void* attributes, void* arguments,
                  void* environment),
                 (made, path, actions, attributes, arguments, environment), await_all())
}
