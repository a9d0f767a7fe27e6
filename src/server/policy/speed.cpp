// SPDX-License-Identifier: BSD-3-Clause
#include "server/policy/roles.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "core/round_up.hpp"
#include "core/system_call.hpp"
#include "core/worker.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::server {
namespace {

constexpr std::ptrdiff_t first_chunk_bytes = 1 << 20;
constexpr std::ptrdiff_t chunk_bytes = 16 << 20;
constexpr std::ptrdiff_t most_bytes = 128 << 20;
constexpr double most_s = 0.25;

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

std::string existing_folder(const std::string& folder) {
  std::error_code failed;
  auto path = std::filesystem::absolute(folder.empty() ? "." : folder, failed);
  while (!std::filesystem::is_directory(path, failed) && path.has_relative_path()) {
    path = path.parent_path();
  }
  return path.string();
}

/// The same file once more, around the page cache; nothing if its file system cannot.
Descriptor open_around_cache(int descriptor) {
  const auto path = "/proc/self/fd/" + std::to_string(descriptor);
  return open_descriptor(path, O_WRONLY | O_DIRECT);
}

/// Writes `bytes` at `offset` and flushes them. Returns false on failure.
bool put(int descriptor, int direct, const std::byte* data, std::ptrdiff_t bytes,
         std::ptrdiff_t offset) {
  if ((direct < 0 || write_at(direct, data, bytes, offset) != 0) &&
      write_at(descriptor, data, bytes, offset) != 0) {
    return false;
  }
  return uninterrupted([&] { return fdatasync(descriptor); }) == 0;
}

DiskSpeed write_for_a_while(int descriptor, int direct, const std::byte* data) {
  // The first chunk is small, so that a slow disk does not hold the program up, and also makes the
  // file: it does not count unless it is all that there is time for.
  double start = now_s();
  double busy = cpu_s_of_thread();
  if (!put(descriptor, direct, data, first_chunk_bytes, 0)) return {};
  double spent = now_s() - start;
  std::ptrdiff_t written = first_chunk_bytes;
  if (spent * 8 < most_s) {
    start = now_s();
    busy = cpu_s_of_thread();
    std::ptrdiff_t offset = first_chunk_bytes;
    auto bytes = first_chunk_bytes * 4;
    written = 0;
    do {
      if (!put(descriptor, direct, data, bytes, offset)) return {};
      offset += bytes;
      written += bytes;
      spent = now_s() - start;
      const double whole_s = spent / static_cast<double>(written) * chunk_bytes;
      bytes = spent + whole_s < most_s ? chunk_bytes : first_chunk_bytes * 4;
    } while (spent < most_s && written + bytes <= most_bytes);
  }
  if (spent <= 0) return {};
  return {static_cast<double>(written) / spent, std::min(1.0, (cpu_s_of_thread() - busy) / spent)};
}

}  // namespace

DiskSpeed measure_disk(const std::string& folder) {
  const Descriptor file = open_nameless(existing_folder(folder));
  if (!file) return {};
  const std::unique_ptr<void, Freed> memory(std::aligned_alloc(page_bytes, chunk_bytes));
  DiskSpeed speed;
  if (memory) {
    // Not zeros: file systems that compress or leave holes would make little of them.
    auto* numbers = static_cast<std::uint64_t*>(memory.get());
    std::uint64_t number = 88172645463325252u;
    for (std::size_t i = 0; i < chunk_bytes / sizeof(number); ++i) {
      number ^= number << 13;
      number ^= number >> 7;
      number ^= number << 17;
      numbers[i] = number;
    }
    const Descriptor direct = open_around_cache(file.get());
    speed =
        write_for_a_while(file.get(), direct.get(), static_cast<const std::byte*>(memory.get()));
  }
  return speed;
}

double measure_copying() {
  constexpr std::size_t bytes = 64 << 20;
  constexpr int rounds = 4;
  std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes, std::byte{2});
  double best_s = 0;  // others may disturb a round, but never help
  for (int round = 0; round < rounds; ++round) {
    from[bytes / 2] = static_cast<std::byte>(round);
    const double start = now_s();
    std::memcpy(to.data(), from.data(), bytes);
    const double spent = now_s() - start;
    if (to[bytes / 2] != from[bytes / 2]) return 0;  // looked at, so that the copy is made
    best_s = round == 0 ? spent : std::min(best_s, spent);
  }
  return best_s > 0 ? static_cast<double>(bytes) / best_s : 0;
}

}  // namespace tailrace::server
