// SPDX-License-Identifier: BSD-3-Clause
#include "core/device.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "core/say.hpp"
#include "tailrace/more/device_driver.hpp"

namespace tailrace::device {
namespace {

constexpr std::array table{DriverLine{"cuda", "libcuda.so.1", make_cuda_driver}};

/// The number of libraries that this process has loaded so far.
unsigned long long num_loaded() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

/// A library, and the path by which the process has loaded it.
struct Search {
  std::string_view library;
  std::string path = {};
};

std::string path_of_loaded(const char* library) {
  Search search{library};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name;
        if (path.substr(path.rfind('/') + 1) != wanted.library) return 0;
        wanted.path = path;
        return 1;
      },
      &search);
  return search.path;
}

struct Found {
  std::string_view name;
  std::unique_ptr<const Driver> driver;
};

std::unique_ptr<const Found> find_driver() {
  for (const auto& line : table) {
    const auto path = path_of_loaded(line.library);
    if (path.empty()) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    auto driver = line.make(library);
    if (driver) return std::make_unique<const Found>(Found{line.name, std::move(driver)});
    say(LogLevel::warning, fmt::format("{} lacks functions that arrays in device memory need: {}",
                                       path, "do not pass such arrays"));
  }
  return nullptr;
}

// Looked for again only after the process has loaded more libraries. Never freed: outputs may
// outlive static objects.
const Found* find_once() {
  static std::atomic<const Found*> found = nullptr;
  static std::mutex mutex;
  static unsigned long long searched = 0;
  if (const auto* known = found.load()) return known;
  const std::lock_guard lock(mutex);
  if (found.load() == nullptr && searched != num_loaded()) {
    found = find_driver().release();
    searched = num_loaded();
  }
  return found;
}

}  // namespace

std::span<const DriverLine> driver_table() { return table; }

const Driver* loaded_driver() {
  const auto* found = find_once();
  return found != nullptr ? found->driver.get() : nullptr;
}

}  // namespace tailrace::device

namespace tailrace {

std::string_view device_driver() {
  const auto* found = device::find_once();
  return found != nullptr ? found->name : "";
}

}  // namespace tailrace
