// SPDX-License-Identifier: BSD-3-Clause
#include "core/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/round_up.hpp"
#include "tailrace/more/huge_pages.hpp"

namespace tailrace {

Descriptor make_memory_file(std::ptrdiff_t bytes) {
  Descriptor file(memfd_create("tailrace", MFD_CLOEXEC));
  if (!file || uninterrupted([&] { return ftruncate(file.get(), bytes); }) != 0) return {};
  return file;
}

Descriptor open_of_process(int pid, int descriptor) {
  return open_descriptor(fmt::format("/proc/{}/fd/{}", pid, descriptor), O_RDWR);
}

Mapping::Mapping(int descriptor, std::ptrdiff_t bytes, bool writable) {
  const int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  const auto map = [&](void* place, int flags) {
    return mmap(place, static_cast<std::size_t>(bytes), access, MAP_SHARED | flags, descriptor, 0);
  };
  // Room for it wherever it begins; the rest is given back.
  const auto page = static_cast<std::ptrdiff_t>(sysconf(_SC_PAGESIZE));
  const auto room_bytes = round_up(bytes, page) + huge_page;
  void* room = bytes < 2 * huge_page
                   ? MAP_FAILED
                   : mmap(nullptr, static_cast<std::size_t>(room_bytes), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    void* base = map(nullptr, 0);
    if (base == MAP_FAILED) fail_errno(errno);
    memory_ = {static_cast<std::byte*>(base), Unmap{bytes}};
    return;
  }
  auto* const first = static_cast<std::byte*>(room);
  auto* const place = round_up(first, huge_page);
  if (map(place, MAP_FIXED) == MAP_FAILED) {
    const int reason = errno;
    munmap(room, static_cast<std::size_t>(room_bytes));
    fail_errno(reason);
  }
  memory_ = {place, Unmap{bytes}};
  auto* const end = place + (room_bytes - huge_page);
  if (place > first) munmap(first, static_cast<std::size_t>(place - first));
  if (end < first + room_bytes) {
    munmap(end, static_cast<std::size_t>(first + room_bytes - end));
  }
}

void Mapping::Unmap::operator()(std::byte* memory) const {
  munmap(memory, static_cast<std::size_t>(bytes));
}

}  // namespace tailrace
