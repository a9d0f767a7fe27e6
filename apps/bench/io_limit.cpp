// SPDX-License-Identifier: BSD-3-Clause
#include "io_limit.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <thread>
#include <utility>

#include "driver.hpp"
#include "io_variant.hpp"

namespace bench {

namespace {

constexpr std::ptrdiff_t page = 4096;

bool can_be_direct(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_DIRECT, 0644);
  if (file < 0) return false;
  ::close(file);
  ::unlink(path.c_str());
  return true;
}

void flush_and_close(int file, bool flush, const std::string& path) {
  if (flush && ::fsync(file) != 0) fail_errno("flush", path);
  if (::close(file) != 0) fail_errno("close", path);
}

}  // namespace

std::string LimitSetting::name() const {
  return "limit: " + std::to_string(threads) + (threads == 1 ? " thread, " : " threads, ") +
         std::to_string(call_bytes >> 20) + " MiB, " + (direct ? "O_DIRECT" : "page cache");
}

std::vector<LimitSetting> limit_settings(const std::string& path) {
  std::vector<LimitSetting> settings;
  const bool direct_works = can_be_direct(path);
  for (const bool direct : {true, false}) {
    if (direct && !direct_works) continue;
    for (const int threads : {1, 2, 4}) {
      for (const int mebibytes : {1, 4, 8}) {
        settings.push_back({threads, std::ptrdiff_t{mebibytes} << 20, direct});
      }
    }
  }
  return settings;
}

Limit::Limit(std::string path, std::ptrdiff_t bytes)
    : path_(std::move(path)),
      bytes_((bytes + page - 1) / page * page),
      data_(static_cast<std::byte*>(std::aligned_alloc(page, static_cast<std::size_t>(bytes_)))) {
  if (data_ == nullptr) throw std::bad_alloc();
  const auto whole = expected_bytes({{0, std::min<std::ptrdiff_t>(bytes_, 1 << 20)}});
  const auto step = static_cast<std::ptrdiff_t>(whole.size());
  for (std::ptrdiff_t at = 0; at < bytes_; at += step) {
    std::copy_n(whole.begin(), std::min(step, bytes_ - at), data_ + at);
  }
}

Limit::~Limit() {
  ::unlink(path_.c_str());
  std::free(data_);
}

double Limit::write_s(const LimitSetting& setting) {
  ::unlink(path_.c_str());
  const double start = now_s();
  const int flags = O_CREAT | O_RDWR | (setting.direct ? O_DIRECT : 0);
  const int file = ::open(path_.c_str(), flags, 0644);
  if (file < 0) fail_errno("open", path_);
  each_part(setting, file, true);
  flush_and_close(file, true, path_);
  return now_s() - start;
}

double Limit::read_s(const LimitSetting& setting) {
  drop_from_cache(path_);
  const double start = now_s();
  const int file = ::open(path_.c_str(), O_RDONLY | (setting.direct ? O_DIRECT : 0));
  if (file < 0) fail_errno("open", path_);
  each_part(setting, file, false);
  flush_and_close(file, false, path_);
  return now_s() - start;
}

void Limit::each_part(const LimitSetting& setting, int file, bool writes) {
  const std::ptrdiff_t pages = bytes_ / page;
  std::atomic<bool> failed{false};
  const auto run = [&](int part) {
    const auto start = pages * part / setting.threads * page;
    const auto end = pages * (part + 1) / setting.threads * page;
    try {
      one_part(start, end, setting.call_bytes, file, writes);
    } catch (const tailrace::Error&) {
      failed = true;
    }
  };
  std::vector<std::thread> others;
  for (int part = 1; part < setting.threads; ++part) others.emplace_back(run, part);
  run(0);
  for (auto& other : others) other.join();
  if (failed) fail_errno(writes ? "write" : "read", path_);
}

void Limit::one_part(std::ptrdiff_t start, std::ptrdiff_t end, std::ptrdiff_t call, int file,
                     bool writes) {
  while (start < end) {
    const auto bytes = static_cast<std::size_t>(std::min(call, end - start));
    const auto done = writes ? ::pwrite(file, data_ + start, bytes, start)
                             : ::pread(file, data_ + start, bytes, start);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail_errno(writes ? "write" : "read", path_);
    start += done;
  }
}

void drop_from_cache(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
      drop_from_cache(entry.path().string());
    }
    return;
  }
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) return;
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

}  // namespace bench
