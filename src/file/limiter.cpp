// SPDX-License-Identifier: BSD-3-Clause
// The clock is a file of 8 bytes in /dev/shm, named after the user and the device of the file
// system. Each process that uses it holds a shared lock on it; the last one removes it. It holds
// the time up to which the file system is busy, so that a process that is killed leaves nothing
// that others wait for longer than for its last write.
#include "file/limiter.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "tailrace/error.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t clock_bytes = sizeof(std::int64_t);
constexpr std::ptrdiff_t least_rate = 1 << 10;
constexpr double longest_latency_s = 10;

double parse_latency(std::string_view text) {
  double number = -1;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double unit_s = unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "s" ? 1 : -1;
  if (error != std::errc() || unit_s < 0 ||
      !(number >= 0 && number * unit_s <= longest_latency_s)) {
    refuse_input("\"{}\" is not a latency such as 500us, 2ms or 0.1s, of at most {:g} s", text,
                 longest_latency_s);
  }
  return number * unit_s;
}

std::string clock_name(const std::string& path) {
  struct stat status {};
  if (stat(folder_of(path).c_str(), &status) != 0) fail_io("inspect the folder of", path, errno);
  return fmt::format("/dev/shm/tailrace-limited-{}-{:x}", geteuid(), status.st_dev);
}

// Opens the clock, which the last process that used it may be removing just now.
Descriptor open_clock(const std::string& name) {
  while (true) {
    Descriptor file = open_descriptor(name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    struct stat status {};
    if (!file || uninterrupted([&] { return flock(file.get(), LOCK_SH); }) != 0 ||
        fstat(file.get(), &status) != 0) {
      fail_io("open the clock of back end limited,", name, errno);
    }
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
      fail_io("open the clock of back end limited,", name, EEXIST);
    }
    if (status.st_nlink == 0) continue;
    if (uninterrupted([&] { return ftruncate(file.get(), clock_bytes); }) != 0) {
      fail_io("open the clock of back end limited,", name, errno);
    }
    return file;
  }
}

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

bool names_limited(std::string_view back_end) {
  return back_end.substr(0, back_end.find(':')) == limited_name;
}

Limit parse_limit(std::string_view back_end) {
  const auto colon = back_end.find(':');
  if (!names_limited(back_end) || colon == std::string_view::npos) return {};
  const auto text = back_end.substr(colon + 1);
  const auto comma = text.find(',');
  Limit limit;
  limit.bytes_per_s = parse_bytes(std::string(text.substr(0, comma)), "RATE");
  if (limit.bytes_per_s < least_rate) {
    refuse_input("RATE: {} bytes per second is below the minimum of {}; 200M is 200 MiB per second",
                 limit.bytes_per_s, least_rate);
  }
  if (comma != std::string_view::npos) limit.latency_s = parse_latency(text.substr(comma + 1));
  return limit;
}

Limiter::Limiter(std::string_view back_end, const std::string& path)
    : limit_(parse_limit(back_end)) {
  if (limit_.bytes_per_s == 0) return;
  name_ = clock_name(path);
  file_ = open_clock(name_);
  clock_ = Mapping(file_.get(), clock_bytes);
}

// Of several that end at once, the last gets the lock; nobody can open what is removed meanwhile.
Limiter::~Limiter() {
  if (!file_) return;
  if (uninterrupted([&] { return flock(file_.get(), LOCK_EX | LOCK_NB); }) == 0) {
    uninterrupted([&] { return unlink(name_.c_str()); });
  }
}

void Limiter::wait(double start_s, std::ptrdiff_t bytes, std::int64_t calls) {
  if (limit_.bytes_per_s == 0) return;
  const std::atomic_ref<std::int64_t> busy_until(*reinterpret_cast<std::int64_t*>(clock_.data()));
  static_assert(std::atomic_ref<std::int64_t>::is_always_lock_free);
  const auto needed =
      nanoseconds(static_cast<double>(bytes) / static_cast<double>(limit_.bytes_per_s));
  auto before = busy_until.load();
  auto end = before;
  if (bytes > 0) {
    do {
      end = std::max(before, nanoseconds(start_s)) + needed;
    } while (!busy_until.compare_exchange_weak(before, end));
  } else {
    end = nanoseconds(start_s);
  }
  const auto due_s =
      static_cast<double>(end) * 1e-9 + static_cast<double>(calls) * limit_.latency_s;
  for (double left_s = due_s - now_s(); left_s > 0; left_s = due_s - now_s()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(left_s));
  }
}

LimitedFile::LimitedFile(const std::string& path, int flags, std::string_view back_end)
    : start_s_(now_s()), limiter_(back_end, path), file_(path, flags) {
  limiter_.wait(start_s_, 0, 1);
}

void LimitedFile::write(const void* data, std::ptrdiff_t bytes, std::ptrdiff_t offset) {
  start_s_ = now_s();
  file_.write(data, bytes, offset);
  limiter_.wait(start_s_, bytes, 1);
}

void LimitedFile::flush() {
  start_s_ = now_s();
  file_.flush();
  limiter_.wait(start_s_, 0, 1);
}

}  // namespace tailrace::file
