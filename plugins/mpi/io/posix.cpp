// SPDX-License-Identifier: BSD-3-Clause
// Calls of POSIX with a path, by which a program may come upon a file of its own that is not whole
// yet: to open it, or ask for its size, waits until it is; so does a program that starts another
// one. A file that is still open gets its name. Files whose names match TAILRACE_IO_FILES are
// hidden from here on (posix_files.hpp).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "io/hidden_file.hpp"
#include "io/next_call.hpp"
#include "io/posix_files.hpp"

namespace tailrace::plugins {
namespace {

bool is_watched() {
  return OwnCalls::depth() == 0 && watches_posix() && hidden_files().is_started();
}

// A name that does not depend on the folder `at`; null if the call names no file.
class WholeName {
 public:
  explicit WholeName(const char* path) : name_(path) {}
  WholeName(int at, const char* path) : name_(path) {
    if (path == nullptr || path[0] == '\0') name_ = nullptr;
    if (name_ == nullptr || at == AT_FDCWD || path[0] == '/') return;
    text_ = "/proc/self/fd/" + std::to_string(at) + '/' + path;
    name_ = text_.c_str();
  }
  WholeName(const WholeName&) = delete;
  WholeName& operator=(const WholeName&) = delete;
  operator const char*() const { return name_; }
  // The program's name for `found`.
  const char* chosen(const char* found, const char* path) const {
    return found == nullptr || name_ == nullptr || std::strcmp(found, name_) == 0 ? path : found;
  }

 private:
  std::string text_;
  const char* name_;
};

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
// Also for what other ranks have written to a file that this one has not open.
void await_written(const char* path) {
  await(path);
  if (path == nullptr || !is_watched()) return;
  const OwnCalls quiet;
  const int error = errno;
  struct stat facts {};
  if (::stat(path, &facts) == 0) {
    hidden_files().board().wait(
        {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)}, {},
        true);
  }
  errno = error;
}
bool is_folder(const char* path) {
  const OwnCalls quiet;
  struct stat facts {};
  return path != nullptr && ::lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}
void await_all() {
  if (OwnCalls::depth() != 0 || !watches_posix()) return;
  const int error = errno;
  if (hidden_files().is_started()) publish_posix();
  hidden_files().wait_for_closed();
  errno = error;
}

// A folder takes its files with it, also those that have no names yet.
void await_moved(const char* path) {
  if (!is_watched()) return;
  const int error = errno;
  if (is_folder(path)) {
    await_all();
  } else {
    await(path);
  }
  errno = error;
}

bool is_link(const char* path) {
  const OwnCalls quiet;
  struct stat facts {};
  return ::lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode);
}

// Where a file is that this process has open under a temporary name; else waits for it. A link
// leads to the final name.
std::string place_of(const char* path) {
  if (const auto own = posix_file(path)) {
    if (is_link(path)) own->publish();
    const std::string place = own->place();
    return place == own->path() ? path : place;
  }
  await(path);
  return path;
}

// The name for a call that asks for or changes a file's mode, times or attributes: a file that is
// open keeps its temporary name. What waits would change the times once more: it is written first.
class Place {
 public:
  Place(const char* path, const WholeName& whole, bool is_of_times) : name_(path) {
    if (whole == nullptr || !is_watched()) return;
    const int error = errno;
    if (const auto own = is_of_times ? posix_file(whole) : nullptr) own->settle();
    text_ = place_of(whole);
    name_ = whole.chosen(text_.c_str(), path);
    errno = error;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  operator const char*() const { return name_; }

 private:
  std::string text_;
  const char* name_;
};

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

template <class Pass>
char* real_name(const char* path, char* to, Pass&& pass) {
  if (path == nullptr || !is_watched()) return pass();
  const auto own = posix_file(path);
  if (own == nullptr || own->place() == own->path()) {
    await(path);
    return pass();
  }
  return to == nullptr ? ::strdup(own->path().c_str()) : std::strcpy(to, own->path().c_str());
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
    const WholeName whole(at, path);                                                         \
    return open_at(whole, flags, [&](const char* name, int how) {                            \
      return next(at, whole.chosen(name, path), how, mode);                                  \
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
// A call on the file with the WholeName `known`, maybe on its times; `given` has its name as
// `name`.
#define TAILRACE_ON_PLACE(result, symbol, declared, known, given) \
  TAILRACE_PLACED(result, symbol, declared, known, given, false)
#define TAILRACE_ON_TIMES(symbol, declared, known, given) \
  TAILRACE_PLACED(int, symbol, declared, known, given, true)
#define TAILRACE_PLACED(result, symbol, declared, known, given, is_of_times) \
  result own_##symbol declared TAILRACE_AS(symbol);                          \
  result own_##symbol declared {                                             \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                                 \
    const WholeName whole known;                                             \
    const Place name(path, whole, is_of_times);                              \
    return next given;                                                       \
  }
// A call that asks about the file with the WholeName `known`; `given` has its name as `name`.
#define TAILRACE_ASK(symbol, declared, known, given)      \
  int own_##symbol declared TAILRACE_AS(symbol);          \
  int own_##symbol declared {                             \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)              \
    const WholeName whole known;                          \
    return ask(whole, facts, [&](const char* found) {     \
      const char* const name = whole.chosen(found, path); \
      return next given;                                  \
    });                                                   \
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
#define TAILRACE_OPENAT_2(symbol)                                            \
  int own_##symbol(int at, const char* path, int flags) TAILRACE_AS(symbol); \
  int own_##symbol(int at, const char* path, int flags) {                    \
    TAILRACE_NEXT_CALL(own_##symbol, symbol)                                 \
    const WholeName whole(at, path);                                         \
    return open_at(whole, flags, [&](const char* name, int how) {            \
      return next(at, whole.chosen(name, path), how);                        \
    });                                                                      \
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

TAILRACE_ASK(stat, (const char* path, void* facts), (path), (name, facts))
TAILRACE_ASK(stat64, (const char* path, void* facts), (path), (name, facts))
TAILRACE_ASK(lstat, (const char* path, void* facts), (path), (name, facts))
TAILRACE_ASK(lstat64, (const char* path, void* facts), (path), (name, facts))
// Programs that are built for the C library before 2.33.
TAILRACE_ASK(__xstat, (int version, const char* path, void* facts), (path), (version, name, facts))
TAILRACE_ASK(__xstat64, (int version, const char* path, void* facts), (path),
             (version, name, facts))
TAILRACE_ASK(__lxstat, (int version, const char* path, void* facts), (path), (version, name, facts))
TAILRACE_ASK(__lxstat64, (int version, const char* path, void* facts), (path),
             (version, name, facts))
TAILRACE_ASK(fstatat, (int at, const char* path, void* facts, int flags), (at, path),
             (at, name, facts, flags))
TAILRACE_ASK(fstatat64, (int at, const char* path, void* facts, int flags), (at, path),
             (at, name, facts, flags))
TAILRACE_ASK(statx, (int at, const char* path, int flags, unsigned mask, struct statx* facts),
             (at, path), (at, name, flags, mask, facts))
TAILRACE_ASK(__fxstatat, (int version, int at, const char* path, void* facts, int flags),
             (at, path), (version, at, name, facts, flags))
TAILRACE_ASK(__fxstatat64, (int version, int at, const char* path, void* facts, int flags),
             (at, path), (version, at, name, facts, flags))
TAILRACE_ON_PLACE(int, access, (const char* path, int mode), (path), (name, mode))
TAILRACE_ON_PLACE(int, euidaccess, (const char* path, int mode), (path), (name, mode))
TAILRACE_ON_PLACE(int, eaccess, (const char* path, int mode), (path), (name, mode))
TAILRACE_ON_PLACE(int, faccessat, (int at, const char* path, int mode, int flags), (at, path),
                  (at, name, mode, flags))
TAILRACE_ON_PLACE(int, chmod, (const char* path, unsigned mode), (path), (name, mode))
TAILRACE_ON_PLACE(int, fchmodat, (int at, const char* path, unsigned mode, int flags), (at, path),
                  (at, name, mode, flags))
TAILRACE_ON_PLACE(int, chown, (const char* path, uid_t user, gid_t group), (path),
                  (name, user, group))
TAILRACE_ON_PLACE(int, lchown, (const char* path, uid_t user, gid_t group), (path),
                  (name, user, group))
TAILRACE_ON_PLACE(int, fchownat, (int at, const char* path, uid_t user, gid_t group, int flags),
                  (at, path), (at, name, user, group, flags))
TAILRACE_ON_TIMES(utime, (const char* path, const void* times), (path), (name, times))
TAILRACE_ON_TIMES(utimes, (const char* path, const void* times), (path), (name, times))
TAILRACE_ON_TIMES(lutimes, (const char* path, const void* times), (path), (name, times))
TAILRACE_ON_TIMES(futimesat, (int at, const char* path, const void* times), (at, path),
                  (at, name, times))
TAILRACE_ON_TIMES(utimensat, (int at, const char* path, const void* times, int flags), (at, path),
                  (at, name, times, flags))
#define TAILRACE_ATTRIBUTES(l)                                                                   \
  TAILRACE_ON_PLACE(                                                                             \
      int, l##setxattr,                                                                          \
      (const char* path, const char* key, const void* value, std::size_t bytes, int flags),      \
      (path), (name, key, value, bytes, flags))                                                  \
  TAILRACE_ON_PLACE(ssize_t, l##getxattr,                                                        \
                    (const char* path, const char* key, void* value, std::size_t bytes), (path), \
                    (name, key, value, bytes))                                                   \
  TAILRACE_ON_PLACE(ssize_t, l##listxattr, (const char* path, char* keys, std::size_t bytes),    \
                    (path), (name, keys, bytes))                                                 \
  TAILRACE_ON_PLACE(int, l##removexattr, (const char* path, const char* key), (path), (name, key))
TAILRACE_ATTRIBUTES()
TAILRACE_ATTRIBUTES(l)
TAILRACE_ON(char*, realpath, (const char* path, char* to), (path, to), real_name(path, to, pass))
TAILRACE_ON(char*, __realpath_chk, (const char* path, char* to, std::size_t most), (path, to, most),
            real_name(path, to, pass))
TAILRACE_ON(char*, canonicalize_file_name, (const char* path), (path),
            real_name(path, nullptr, pass))
TAILRACE_ON_PATH(int, unlink, (const char* path), (path), await(path))
TAILRACE_ON_PATH(int, unlinkat, (int at, const char* path, int flags), (at, path, flags),
                 await(WholeName(at, path)))
TAILRACE_ON_PATH(int, remove, (const char* path), (path), await(path))
TAILRACE_ON_PATH(int, truncate, (const char* path, off_t bytes), (path, bytes), await_written(path))
TAILRACE_ON_PATH(int, truncate64, (const char* path, off_t bytes), (path, bytes),
                 await_written(path))
TAILRACE_ON_PATH(int, link, (const char* path, const char* to), (path, to),
                 (await(path), await(to)))
TAILRACE_ON_PATH(int, linkat, (int at, const char* path, int there, const char* to, int flags),
                 (at, path, there, to, flags),
                 (await(WholeName(at, path)), await(WholeName(there, to))))
TAILRACE_ON_PATH(int, symlink, (const char* text, const char* to), (text, to), await(to))
TAILRACE_ON_PATH(int, symlinkat, (const char* text, int there, const char* to), (text, there, to),
                 await(WholeName(there, to)))
TAILRACE_ON_PATH(int, rename, (const char* path, const char* to), (path, to),
                 (await_moved(path), await_moved(to)))
TAILRACE_ON_PATH(int, renameat, (int at, const char* path, int there, const char* to),
                 (at, path, there, to),
                 (await_moved(WholeName(at, path)), await_moved(WholeName(there, to))))
TAILRACE_ON_PATH(int, renameat2,
                 (int at, const char* path, int there, const char* to, unsigned flags),
                 (at, path, there, to, flags),
                 (await_moved(WholeName(at, path)), await_moved(WholeName(there, to))))
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
#define TAILRACE_WALK(symbol)                                                                 \
  TAILRACE_ON_PATH(int, symbol, (const char* path, void* seen, int most), (path, seen, most), \
                   await_closed())                                                            \
  TAILRACE_ON_PATH(int, n##symbol, (const char* path, void* seen, int most, int flags),       \
                   (path, seen, most, flags), await_closed())
TAILRACE_WALK(ftw)
TAILRACE_WALK(ftw64)
TAILRACE_ON_PATH(void*, fts_open, (void* paths, int options, void* compare),
                 (paths, options, compare), await_closed())
TAILRACE_ON_PATH(void*, fts64_open, (void* paths, int options, void* compare),
                 (paths, options, compare), await_closed())
TAILRACE_ON_PATH(int, system, (const char* command), (command), await_all())
TAILRACE_ON_PATH(void*, popen, (const char* command, const char* mode), (command, mode),
                 await_all())
TAILRACE_ON_PATH(int, execve, (const char* path, void* arguments, void* environment),
                 (path, arguments, environment), await_all())
TAILRACE_ON_PATH(int, execv, (const char* path, void* arguments), (path, arguments), await_all())
TAILRACE_ON_PATH(int, execvp, (const char* path, void* arguments), (path, arguments), await_all())
TAILRACE_ON_PATH(int, execvpe, (const char* path, void* arguments, void* environment),
                 (path, arguments, environment), await_all())
TAILRACE_ON_PATH(int, fexecve, (int file, void* arguments, void* environment),
                 (file, arguments, environment), await_all())
TAILRACE_ON_PATH(int, execveat,
                 (int at, const char* path, void* arguments, void* environment, int flags),
                 (at, path, arguments, environment, flags), await_all())
// The arguments of a list end by a null pointer, which the environment may follow.
#define TAILRACE_EXEC_LIST(symbol, calls, has_environment)                                        \
  int own_##symbol(const char* path, char* first, ...) TAILRACE_AS(symbol);                       \
  int own_##symbol(const char* path, char* first, ...) {                                          \
    static const auto next = next_call<int (*)(const char*, char* const*, char* const*)>(#calls); \
    std::vector<char*> words{first};                                                              \
    va_list more;                                                                                 \
    va_start(more, first);                                                                        \
    while (words.back() != nullptr) words.push_back(va_arg(more, char*));                         \
    char* const* const variables = has_environment ? va_arg(more, char* const*) : ::environ;      \
    va_end(more);                                                                                 \
    await_all();                                                                                  \
    return next(path, words.data(), variables);                                                   \
  }
TAILRACE_EXEC_LIST(execl, execve, false)
TAILRACE_EXEC_LIST(execle, execve, true)
TAILRACE_EXEC_LIST(execlp, execvpe, false)
TAILRACE_ON_PATH(int, posix_spawn,
                 (void* made, const char* path, void* actions, void* attributes, void* arguments,
                  void* environment),
                 (made, path, actions, attributes, arguments, environment), await_all())
TAILRACE_ON_PATH(int, posix_spawnp,
                 (void* made, const char* path, void* actions, void* attributes, void* arguments,
                  void* environment),
                 (made, path, actions, attributes, arguments, environment), await_all())
}
