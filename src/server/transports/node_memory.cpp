// SPDX-License-Identifier: BSD-3-Clause
#include "server/transports/node_memory.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tailrace/error.hpp"

namespace tailrace::server::on_node {

namespace {

constexpr int pidfd_open_number = 434;  // the same on all processors; not in older headers

[[noreturn]] void fail(const std::string& what) {
  const int reason = errno;
  throw Error(Errc::io, fmt::format("{}: {}", what, std::strerror(reason)), reason);
}

// What the node can still give [bytes], or -1 if the kernel does not say so.
std::int64_t available_bytes() {
  std::ifstream lines("/proc/meminfo");
  for (std::string line; std::getline(lines, line);) {
    long long kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lld kB", &kib) == 1) return kib * 1024;
  }
  return -1;
}

}  // namespace

Memory::Memory(std::ptrdiff_t bytes, std::ptrdiff_t provided) {
  // The kernel would take it page by page, until it ends programs for want of memory.
  const std::int64_t available = available_bytes();
  if (available >= 0 && bytes > available) {
    throw Error(Errc::io,
                fmt::format("cannot allocate {} bytes of shared memory for output: the node has "
                            "{} left; request less (memory_bytes, output.memory of a case)",
                            bytes, available),
                ENOMEM);
  }
  descriptor_ = make_memory_file(bytes);
  if (!descriptor_)
    fail(fmt::format("cannot allocate {} bytes of shared memory for output", bytes));
  mapping_ = Mapping(descriptor_.get(), bytes);
  provide(provided < 0 ? bytes : provided);
}

void Memory::provide(std::ptrdiff_t bytes) {
  if (bytes <= provided_) return;
  const int status = take_space(descriptor_.get(), provided_, bytes - provided_);
  if (status != 0) {
    errno = status;
    fail(fmt::format("cannot allocate {} bytes of shared memory for output", bytes));
  }
#ifdef MADV_POPULATE_WRITE
  // A hint, which older kernels do not take: no page faults when time counts.
  const auto first = provided_ / page_bytes * page_bytes;
  madvise(data() + first, static_cast<std::size_t>(bytes - first), MADV_POPULATE_WRITE);
#endif
  provided_ = bytes;
}

Memory::Memory(const Endpoint& endpoint) {
  mapping_ = Mapping(open_endpoint(endpoint).get(), static_cast<std::ptrdiff_t>(endpoint.bytes));
}

Endpoint Memory::endpoint(int client) const {
  return {.pid = static_cast<std::int32_t>(getpid()),
          .fd = descriptor_.get(),
          .bytes = static_cast<std::int64_t>(bytes()),
          .client = client};
}

Descriptor open_endpoint(const Endpoint& endpoint) {
  Descriptor opened = open_of_process(endpoint.pid, endpoint.fd);
  if (!opened) {
    fail(
        fmt::format("cannot open the shared memory of process {0} (/proc/{0}/fd/{1}); processes of "
                    "one user on one node can, unless they are in separate containers",
                    endpoint.pid, endpoint.fd));
  }
  return opened;
}

ProcessWatch::ProcessWatch(int pid) : pid_(pid) {
  descriptor_ = Descriptor(static_cast<int>(syscall(pidfd_open_number, pid, 0)));
}

bool ProcessWatch::alive() const {
  if (!descriptor_) return kill(pid_, 0) == 0 || errno == EPERM;
  pollfd ended{.fd = descriptor_.get(), .events = POLLIN, .revents = 0};
  return uninterrupted([&] { return poll(&ended, 1, 0); }) <= 0;
}

}  // namespace tailrace::server::on_node
