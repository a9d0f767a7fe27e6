// SPDX-License-Identifier: BSD-3-Clause
#include "core/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

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
  void* base = mmap(nullptr, static_cast<std::size_t>(bytes), access, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) fail_errno(errno);
  memory_ = {static_cast<std::byte*>(base), Unmap{bytes}};
}

void Mapping::Unmap::operator()(std::byte* memory) const {
  munmap(memory, static_cast<std::size_t>(bytes));
}

}  // namespace tailrace
