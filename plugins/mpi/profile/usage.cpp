// SPDX-License-Identifier: BSD-3-Clause
#include "profile/usage.hpp"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace tailrace::plugins {
namespace {

constexpr int most_threads = 256;

// Reads a small file into `text`; false if there is none.
template <std::size_t Size>
bool read_text(const char* path, char (&text)[Size]) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, Size - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

// The processors that a thread may use, "0-3,8".
void print_allowed(Writer& out, pid_t thread) {
  cpu_set_t may[8];  // 8192 processors
  const std::size_t size = sizeof may;
  std::memset(may, 0, size);
  sched_getaffinity(thread, size, may);
  out.print("\"");
  const char* comma = "";
  for (std::size_t i = 0; i < 8 * size; ++i) {
    if (!CPU_ISSET_S(i, size, may)) continue;
    const std::size_t first = i;
    while (i + 1 < 8 * size && CPU_ISSET_S(i + 1, size, may)) ++i;
    out.print(first == i ? "%s%zu" : "%s%zu-%zu", comma, first, i);
    comma = ",";
  }
  out.print("\"");
}

// Field `number` of a line of /proc/PID/stat, counted from 1; those after the name in brackets.
long long field(const char* after_name, int number) {
  const char* at = after_name;
  for (int i = 3; i < number && at != nullptr; ++i) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at != nullptr ? std::atoll(at) : 0;
}

bool print_thread(Writer& out, const char* number, bool is_first) {
  char path[64];
  char stat[1024] = {};
  std::snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", number);
  if (!read_text(path, stat)) return false;
  char* name = std::strchr(stat, '(');
  char* end = std::strrchr(stat, ')');
  if (name == nullptr || end == nullptr) return false;
  *end = '\0';
  const char* after = end + 2;
  const double seconds = static_cast<double>(field(after, 14) + field(after, 15)) /
                         static_cast<double>(sysconf(_SC_CLK_TCK));
  out.print("%s\n  {\"thread\": ", is_first ? "" : ",");
  out.text(name + 1);
  out.print(", \"cpu\": %lld, \"cpu_s\": %.2f, \"allowed\": ", field(after, 39), seconds);
  print_allowed(out, static_cast<pid_t>(std::atol(number)));
  out.print("}");
  return true;
}

}  // namespace

void print_usage(Writer& out) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  out.print(
      "\"usage\": {\"user_s\": %.6f, \"system_s\": %.6f, \"max_memory_kib\": %ld, "
      "\"minor_faults\": %ld, \"major_faults\": %ld, \"waits\": %ld, \"preemptions\": %ld},\n",
      seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt,
      usage.ru_majflt, usage.ru_nvcsw, usage.ru_nivcsw);
}

void print_node(Writer& out) {
  char host[256] = {};
  char boot[128] = {};
  gethostname(host, sizeof host - 1);
  const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t n = read(fd, boot, 36);
    const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
    boot[length] = ' ';
    if (readlink("/proc/self/ns/time", boot + length + 1, sizeof boot - length - 2) < 0)
      boot[length] = '\0';
    close(fd);
  }
  out.print("\"host\": ");
  out.text(host);
  out.print(", \"boot\": ");
  out.text(boot);
  out.print(",\n");
}

void print_placement(Writer& out) {
  out.print("\"placement\": [");
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(8) char entries[2048];
  int threads = 0;
  for (long size = 1; folder >= 0 && size > 0;) {
    size = syscall(SYS_getdents64, folder, entries, sizeof entries);
    for (long at = 0; at < size && threads < most_threads;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const bool is_thread = std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0;
      if (is_thread && print_thread(out, entry->d_name, threads == 0)) ++threads;
    }
  }
  if (folder >= 0) close(folder);
  out.print("],\n");
}

}  // namespace tailrace::plugins
