// SPDX-License-Identifier: BSD-3-Clause
#include "profile/files.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "profile/comms.hpp"

namespace tailrace::plugins {
namespace {

constexpr int max_descriptors = 4096;
constexpr std::int16_t unknown = 0;
constexpr std::int16_t no_file = -1;  // a socket, a pipe, a file of the system, or one too many

FileCounts files[max_files];
std::atomic<unsigned> count{0};
std::atomic<std::uint64_t> lost{0};
std::atomic_flag busy = ATOMIC_FLAG_INIT;
__thread bool is_busy_here;  // this thread holds `busy`: it was interrupted by a signal

struct Descriptor {
  std::atomic<std::int16_t> file{unknown};  // index + 1
  std::atomic<std::int64_t> last_end{-1};   // where the last read or write ended
  std::atomic<std::int64_t> place{0};       // where the descriptor stands
};
Descriptor descriptors[max_descriptors];

bool is_of_system(const char* path) {
  for (const char* folder : {"/proc/", "/sys/", "/dev/", "/memfd:"})
    if (std::strncmp(path, folder, std::strlen(folder)) == 0) return true;
  return false;
}

// Modules of Python count as one file: a program may import more of them than there is room for.
bool is_module(const char* path) {
  const char* const dot = std::strrchr(path, '.');
  return dot != nullptr && (std::strcmp(dot, ".pyc") == 0 || std::strcmp(dot, ".py") == 0);
}

// Index + 1 of a path, of which the end is kept if it is too long.
std::int16_t index_of(const char* path) {
  constexpr std::size_t room = sizeof files[0].path - 1;
  const std::size_t length = std::strlen(path);
  const char* const shown = length > room ? path + (length - room) : path;
  if (is_busy_here) return unknown;
  is_busy_here = true;
  while (busy.test_and_set(std::memory_order_acquire)) sched_yield();
  unsigned i = 0;
  while (i < count.load() && std::strcmp(files[i].path, shown) != 0) ++i;
  if (i == count.load() && i < max_files) {
    std::memcpy(files[i].path, shown, std::strlen(shown));
    count.store(i + 1);
  }
  busy.clear(std::memory_order_release);
  is_busy_here = false;
  if (i < max_files) return static_cast<std::int16_t>(i + 1);
  lost.fetch_add(1);
  return no_file;
}

std::int16_t look_up(int fd) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) return no_file;
  char link[32];
  char path[PATH_MAX] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0 || is_of_system(path)) return no_file;
  return index_of(is_module(path) ? "(modules of Python)" : path);
}

bool in_mpi() { return my_thread != nullptr && my_thread->depth > 0; }

template <class Number>
void add(Counter& counter, Number more) {
  counter.fetch_add(static_cast<std::uint64_t>(more), std::memory_order_relaxed);
}

void in_child() { state.on.store(false); }

}  // namespace

unsigned num_files() { return count.load(); }
const FileCounts& file_counts(unsigned i) { return files[i]; }
std::uint64_t lost_files() { return lost.load(); }

void leave_children_alone() { pthread_atfork(nullptr, nullptr, in_child); }

FileCounts* file_of(int fd) {
  if (fd < 0 || fd >= max_descriptors) return nullptr;
  std::int16_t file = descriptors[fd].file.load(std::memory_order_relaxed);
  if (file == unknown) {
    file = look_up(fd);
    descriptors[fd].file.store(file, std::memory_order_relaxed);
  }
  return file <= 0 ? nullptr : &files[file - 1];
}

void forget(int fd) {
  if (fd < 0 || fd >= max_descriptors) return;
  Descriptor& one = descriptors[fd];
  if (one.file.load(std::memory_order_relaxed) == unknown) return;
  one.file.store(unknown, std::memory_order_relaxed);
  one.last_end.store(-1, std::memory_order_relaxed);
  one.place.store(0, std::memory_order_relaxed);
}

void count_file(FileCounts& file, FileCall kind, std::int64_t bytes, Tick begin) {
  add(file.ticks, now() - begin);
  if (kind == FileCall::close) return;
  if (in_mpi()) add(file.in_mpi, 1);
  if (kind == FileCall::open) add(file.opens, 1);
  if (kind == FileCall::sync) add(file.syncs, 1);
  if (kind == FileCall::open || kind == FileCall::sync) return;
  add(kind == FileCall::read ? file.reads : file.writes, 1);
  if (bytes > 0) add(kind == FileCall::read ? file.read_bytes : file.written_bytes, bytes);
  if (bytes > 0 && bytes < small_bytes) add(file.small, 1);
}

void count_moved(int fd, FileCall kind, std::int64_t bytes, std::int64_t offset, Tick begin) {
  FileCounts* file = file_of(fd);
  if (file == nullptr) return;
  count_file(*file, kind, bytes, begin);
  Descriptor& one = descriptors[fd];
  const std::int64_t last_end = one.last_end.load(std::memory_order_relaxed);
  const std::int64_t from = offset >= 0 ? offset : one.place.load(std::memory_order_relaxed);
  if (last_end >= 0 && from != last_end) add(file->jumps, 1);
  const std::int64_t end = from + (bytes > 0 ? bytes : 0);
  one.last_end.store(end, std::memory_order_relaxed);
  if (offset < 0) one.place.store(end, std::memory_order_relaxed);
}

void count_seek(int fd, std::int64_t place) {
  if (place < 0 || file_of(fd) == nullptr) return;
  descriptors[fd].place.store(place, std::memory_order_relaxed);
}

namespace {
struct Opened {
  std::atomic<std::uint64_t> file{0};  // the handle; 0: free
  std::atomic<std::int16_t> index{unknown};
};
Opened opened[256];  // files that MPI has open; those beyond are not counted

FileCounts* counts_of(MPI_File file, bool closes) {
  for (Opened& one : opened) {
    if (one.file.load(std::memory_order_relaxed) != bits_of(file)) continue;
    const std::int16_t index = one.index.load(std::memory_order_relaxed);
    if (closes) one.file.store(0, std::memory_order_release);
    return index <= 0 ? nullptr : &files[index - 1];
  }
  return nullptr;
}

// The absolute path of what MPI calls PATH, or DRIVER:PATH.
std::int16_t index_of_mpi(const char* given, std::size_t length) {
  char path[PATH_MAX] = {};
  std::strncpy(path, given, length < sizeof path - 1 ? length : sizeof path - 1);
  for (std::size_t n = std::strlen(path); n > 0 && path[n - 1] == ' '; --n) path[n - 1] = '\0';
  const char* first = path;
  while (std::isalnum(static_cast<unsigned char>(*first)) != 0) ++first;
  const char* const name = *first == ':' && first > path + 1 ? first + 1 : path;
  char whole[PATH_MAX] = {};
  return index_of(realpath(name, whole) != nullptr ? whole : name);
}
}  // namespace

void mpi_file_opened(MPI_File file, const char* path, std::size_t length, Tick ticks) {
  for (Opened& one : opened) {
    std::uint64_t free = 0;
    if (!one.file.compare_exchange_strong(free, bits_of(file))) continue;
    one.index.store(index_of_mpi(path, length));
    return mpi_file_used(file, Moved::nothing, 0, ticks);
  }
}

void mpi_file_used(MPI_File file, Moved what, std::int64_t bytes, Tick ticks) {
  FileCounts* counts = counts_of(file, false);
  if (counts == nullptr) return;
  add(counts->mpi_ticks, ticks);
  if (what == Moved::nothing) return;
  add(what == Moved::read ? counts->mpi_reads : counts->mpi_writes, 1);
  if (bytes > 0)
    add(what == Moved::read ? counts->mpi_read_bytes : counts->mpi_written_bytes, bytes);
}

void mpi_file_closed(MPI_File file, Tick ticks) {
  if (FileCounts* counts = counts_of(file, true)) add(counts->mpi_ticks, ticks);
}

}  // namespace tailrace::plugins
