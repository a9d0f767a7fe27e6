// SPDX-License-Identifier: BSD-3-Clause
#include "shared_memory.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/system_call.hpp"
#include "store/open_file.hpp"

namespace tailrace::server {

SharedMemory::SharedMemory(std::ptrdiff_t bytes)
    : bytes_(static_cast<std::size_t>(std::max<std::ptrdiff_t>(bytes, 1))) {
  descriptor_ = ::memfd_create("tailrace-stage", MFD_CLOEXEC);
  if (descriptor_ < 0) store::fail_errno(errno);
  // Taken now, so that a lack of memory is an error here and no signal later.
  int failed = take_space(descriptor_, 0, static_cast<off_t>(bytes_));
  if (failed == 0) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    failed = memory == MAP_FAILED ? errno : 0;
    if (failed == 0) data_ = static_cast<std::byte*>(memory);
  }
  if (failed == 0) return;
  close_descriptor();
  store::fail_errno(failed);
}

SharedMemory::~SharedMemory() {
  close_descriptor();
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void SharedMemory::close_descriptor() {
  if (descriptor_ >= 0) tailrace::close_descriptor(descriptor_);
  descriptor_ = -1;
}

}  // namespace tailrace::server
