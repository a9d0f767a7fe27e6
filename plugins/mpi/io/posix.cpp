// SPDX-License-Identifier: BSD-3-Clause
// Calls of POSIX with a path, by which a program may come upon a file of its own that is not whole
// yet: to open it, or ask for its size, waits until it is; so does a program that starts another
// one. A file that is still open gets its name. Files whose names match TAILRACE_IO_FILES are
// hidden from here on (posix_files.hpp).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>

#include "io/hidden_file.hpp"
#include "io/next_call.hpp"
#include "io/posix_files.hpp"

namespace tailrace::plugins {
namespace {

bool is_watched() {
  return OwnCalls::depth() == 0 && watches_posix() && hidden_files().is_started();
}

// A name that does not depend on the folder `at`.
const char* whole_name(int at, const char* path) {
  return path != nullptr && (at == AT_FDCWD || path[0] == '/') ? path : nullptr;
}

enum class Use { name, stdio };

void await(const char* path, Use use = Use::name) {
  if (path == nullptr || !is_watched()) return;
  const int error = errno;
  if (const auto own = posix_file(path)) {
    if (use == Use::stdio) own->expose(PosixRefusal::shared_use);
    own->publish();
  } else if (hidden_files().board().has_unfinished()) {
    hidden_files().wait_for(path);
  }
  errno = error;
}
void await_closed() {
  if (!is_watched()) return;
  const int error = errno;
  hidden_files().wait_for_closed();
  errno = error;
}
void await_all() {
  if (OwnCalls::depth() != 0 || !watches_posix()) return;
  const int error = errno;
  if (hidden_files().is_started()) publish_posix();
  hidden_files().wait_for_closed();
  errno = error;
}

// Where a file is that this process has open under a temporary name; else waits for it.
std::string place_of(const char* path) {
  if (const auto own = posix_file(path)) {
    const std::string place = own->place();
    return place == own->path() ? path : place;
  }
  await(path);
  return path;
}

struct stat* of_kind(void* facts) {
  return static_cast<struct stat*>(facts);
}
struct statx* of_kind(struct statx* facts) {
  return facts;
}

template <class Ask, class Facts>
int ask(const char* path, Facts* facts, Ask&& of) {
  if (path == nullptr) return ask_facts(of_kind(facts), [&] { return of(nullptr); });
  const std::string place = place_of(path);
  return ask_facts(of_kind(facts), [&] { return of(place.c_str()); });
}

template <class Open>
int open_at(const char* path, int flags, Open&& open) {
  constexpr int others = O_PATH | O_DIRECTORY | (O_TMPFILE & ~O_DIRECTORY);
  if (path != nullptr && (flags & others) == 0 && (is_posix_pattern(path) || posix_file(path)))
    return open_posix(path, flags, open);
  await(path);
  return open(path, flags);
}

}  // namespace

void await_stream(const char* path) {
  await(path, Use::stdio);
  if (is_posix_pattern(path)) refuse_posix(path, PosixRefusal::stream);
}

}  // namespace tailrace::plugins

using namespace tailrace::plugins;

extern "C" {
#pragma GCC visibility push(default)

// The permissions are there only if a file may be made; to pass them on otherwise does no harm.
#define TAILRACE_OPEN(symbol)                                                                      \
  int own_##symbol(const char* path, int flags, ...) TAILRACE_AS(symbol);                          \
  int own_##symbol(const char* path, int flags, ...) {                                             \
    static const auto next = next_call<int (*)(const char*, int, ...)>(#symbol);                   \
    va_list more;                                                                                  \
    va_start(more, flags);                                                                         \
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;       \
    va_end(more);                                                                                  \
    return open_at(path, flags, [&](const char* name, int how) { return next(name, how, mode); }); \
  }
#define TAILRACE_OPENAT(symbol)                                                              \
  int own_##symbol(int at, const char* path, int flags, ...) TAILRACE_AS(symbol);            \
  int own_##symbol(int at, const char* path, int flags, ...) {                               \
    static const auto next = next_call<int (*)(int, const char*, int, ...)>(#symbol);        \
    va_list more;                                                                            \
    va_start(more, flags);                                                                   \
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0; \
    va_end(more);                                                                            \
    return open_at(whole_name(at, path), flags, [&](const char* name, int how) {             \
      return next(at, name == nullptr ? path : name, how, mode);                             \
    });                                                                                      \
  }
// A call with these arguments, of which `path` names the file.
#define TAILRACE_ON_PATH(result, symbol, declared, given, waits) \
  result own_##symbol declared TAILRACE_AS(symbol);              \
  result own_##symbol declared {                                 \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                     \
    waits;                                                       \
    return next given;                                           \
  }
// A call that asks about the file `known`; `given` has its name as `name`.
#define TAILRACE_ASK(symbol, declared, known, given)            \
  int own_##symbol declared TAILRACE_AS(symbol);                \
  int own_##symbol declared {                                   \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                    \
    return ask(known, facts, [&](const char* found) {           \
      const char* const name = found == nullptr ? path : found; \
      return next given;                                        \
    });                                                         \
  }

TAILRACE_OPEN(open)
TAILRACE_OPEN(open64)
TAILRACE_OPENAT(openat)
TAILRACE_OPENAT(openat64)

// Without permissions: such a call makes no file.
#define TAILRACE_OPEN_2(symbol)                                                              \
  int own_##symbol(const char* path, int flags) TAILRACE_AS(symbol);                         \
  int own_##symbol(const char* path, int flags) {                                            \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                                                 \
    return open_at(path, flags, [&](const char* name, int how) { return next(name, how); }); \
  }
#define TAILRACE_OPENAT_2(symbol)                                                \
  int own_##symbol(int at, const char* path, int flags) TAILRACE_AS(symbol);     \
  int own_##symbol(int at, const char* path, int flags) {                        \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                                     \
    return open_at(whole_name(at, path), flags, [&](const char* name, int how) { \
      return next(at, name == nullptr ? path : name, how);                       \
    });                                                                          \
  }
TAILRACE_OPEN_2(__open_2)
TAILRACE_OPEN_2(__open64_2)
TAILRACE_OPENAT_2(__openat_2)
TAILRACE_OPENAT_2(__openat64_2)

#define TAILRACE_CREAT(symbol, opens)                                                 \
  int own_##symbol(const char* path, unsigned mode) TAILRACE_AS(symbol);              \
  int own_##symbol(const char* path, unsigned mode) {                                 \
    static const auto next = next_call<int (*)(const char*, int, ...)>(#opens);       \
    return open_at(path, O_CREAT | O_WRONLY | O_TRUNC,                                \
                   [&](const char* name, int how) { return next(name, how, mode); }); \
  }
TAILRACE_CREAT(creat, open)
TAILRACE_CREAT(creat64, open64)

TAILRACE_ASK(stat, (const char* path, void* facts), path, (name, facts))
TAILRACE_ASK(stat64, (const char* path, void* facts), path, (name, facts))
TAILRACE_ASK(lstat, (const char* path, void* facts), path, (name, facts))
TAILRACE_ASK(lstat64, (const char* path, void* facts), path, (name, facts))
// Programs that are built for the C library before 2.33.
TAILRACE_ASK(__xstat, (int version, const char* path, void* facts), path, (version, name, facts))
TAILRACE_ASK(__xstat64, (int version, const char* path, void* facts), path, (version, name, facts))
TAILRACE_ASK(__lxstat, (int version, const char* path, void* facts), path, (version, name, facts))
TAILRACE_ASK(__lxstat64, (int version, const char* path, void* facts), path, (version, name, facts))
TAILRACE_ASK(fstatat, (int at, const char* path, void* facts, int flags), whole_name(at, path),
             (at, name, facts, flags))
TAILRACE_ASK(fstatat64, (int at, const char* path, void* facts, int flags), whole_name(at, path),
             (at, name, facts, flags))
TAILRACE_ASK(statx, (int at, const char* path, int flags, unsigned mask, struct statx* facts),
             whole_name(at, path), (at, name, flags, mask, facts))
TAILRACE_ON_PATH(int, access, (const char* path, int mode), (place.c_str(), mode),
                 const std::string place = path == nullptr ? "" : place_of(path))
TAILRACE_ON_PATH(int, faccessat, (int at, const char* path, int mode, int flags),
                 (at, place.c_str(), mode, flags),
                 const std::string place = whole_name(at, path) == nullptr ? path : place_of(path))
TAILRACE_ON_PATH(int, unlink, (const char* path), (path), await(path))
TAILRACE_ON_PATH(int, unlinkat, (int at, const char* path, int flags), (at, path, flags),
                 await(whole_name(at, path)))
TAILRACE_ON_PATH(int, remove, (const char* path), (path), await(path))
TAILRACE_ON_PATH(int, chmod, (const char* path, unsigned mode), (path, mode), await(path))
TAILRACE_ON_PATH(int, truncate, (const char* path, off_t bytes), (path, bytes), await(path))
TAILRACE_ON_PATH(int, truncate64, (const char* path, off_t bytes), (path, bytes), await(path))
TAILRACE_ON_PATH(int, link, (const char* path, const char* to), (path, to),
                 (await(path), await(to)))
TAILRACE_ON_PATH(int, rename, (const char* path, const char* to), (path, to),
                 (await(path), await(to)))
TAILRACE_ON_PATH(int, renameat, (int at, const char* path, int there, const char* to),
                 (at, path, there, to), (await(whole_name(at, path)), await(whole_name(there, to))))
TAILRACE_ON_PATH(int, renameat2,
                 (int at, const char* path, int there, const char* to, unsigned flags),
                 (at, path, there, to, flags),
                 (await(whole_name(at, path)), await(whole_name(there, to))))
// A list of names has those of files that are closed.
TAILRACE_ON_PATH(void*, opendir, (const char* path), (path), await_closed())
TAILRACE_ON_PATH(void*, fdopendir, (int file), (file), await_closed())
TAILRACE_ON_PATH(int, scandir, (const char* path, void* names, void* choose, void* compare),
                 (path, names, choose, compare), await_closed())
TAILRACE_ON_PATH(int, scandir64, (const char* path, void* names, void* choose, void* compare),
                 (path, names, choose, compare), await_closed())
TAILRACE_ON_PATH(int, glob, (const char* pattern, int flags, void* failed, void* found),
                 (pattern, flags, failed, found), await_closed())
TAILRACE_ON_PATH(int, glob64, (const char* pattern, int flags, void* failed, void* found),
                 (pattern, flags, failed, found), await_closed())
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
