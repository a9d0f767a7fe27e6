// SPDX-License-Identifier: BSD-3-Clause
#include "file/back_ends/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "core/round_up.hpp"
#include "core/system_call.hpp"

namespace tailrace::file {
namespace {

// A direct call waits for the disk, a copy into the cache does not: short ones pay only if the user
// says so (2 writers, ext4: 64 KiB pieces 0.9 GB/s direct, 2.8 cached; 1 MiB 5.2 and 2.6).
constexpr std::ptrdiff_t direct_from_if_on = 64 << 10;
constexpr std::ptrdiff_t direct_from_automatic = 1 << 20;

bool writes_directly(const OpenRequest& request) {
  const auto& settings = request.settings;
  if (settings.direct_io != Switch::automatic) return settings.direct_io == Switch::on;
  return settings.file_system.kind == FileSystem::Kind::local;
}

int access_flags(FileAccess access, bool readable) {
  switch (access) {
    case FileAccess::read:
      return O_RDONLY;
    case FileAccess::write:
      // Opener 0 has made the file; only O_CREAT makes every network file system look for it.
      return (readable ? O_RDWR : O_WRONLY) | O_CREAT;
    case FileAccess::update:
      return O_RDWR | O_CREAT;
  }
  return O_RDONLY;
}

constexpr std::size_t max_pieces = IOV_MAX;

std::ptrdiff_t next_multiple(std::ptrdiff_t offset, std::ptrdiff_t unit) {
  return (offset / unit + 1) * unit;
}

}  // namespace

void Calls::skip_empty() {
  while (segment_ < segments_.size() && used_ >= segments_[segment_].bytes) {
    used_ -= segments_[segment_].bytes;
    ++segment_;
  }
}

void Calls::advance(std::ptrdiff_t bytes) {
  used_ += bytes;
  skip_empty();
}

// What lies contiguous in file and memory from here on, up to the limit.
Calls::Run Calls::run(std::ptrdiff_t limit_bytes) const {
  const auto& first = segments_[segment_];
  const auto shift = first.memory_offset - first.file_offset;
  auto end = first.file_end();
  const auto start = first.file_offset + used_;
  for (auto i = segment_ + 1; i < segments_.size() && end - start < limit_bytes; ++i) {
    const auto& next = segments_[i];
    if (next.bytes == 0) continue;
    if (next.file_offset != end || next.memory_offset - next.file_offset != shift) break;
    end = next.file_end();
  }
  // iovec has no const of its own; writing calls only read through it.
  auto* data = const_cast<std::byte*>(memory_) + start + shift;
  return {start, data, std::min(end - start, limit_bytes)};
}

std::ptrdiff_t Calls::bytes_to_direct() const {
  if (limits_.direct_from <= 0) return -1;
  const auto here = run(limits_.direct_from + page_bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(here.data);
  if ((address - static_cast<std::uintptr_t>(here.offset)) % page_bytes != 0) return -1;
  const auto head = round_up(here.offset, page_bytes) - here.offset;
  return (here.bytes - head) / page_bytes * page_bytes >= limits_.direct_from ? head : -1;
}

bool Calls::next_direct(Call& call) {
  if (bytes_to_direct() != 0) return false;
  const auto start = segments_[segment_].file_offset + used_;
  const auto here = run(next_multiple(start, limits_.direct_bytes) - start);
  const auto whole = here.bytes / page_bytes * page_bytes;
  pieces_.push_back({here.data, static_cast<std::size_t>(whole)});
  call = {here.offset, whole, true, pieces_};
  advance(whole);
  return true;
}

bool Calls::next(Call& call) {
  pieces_.clear();
  if (segment_ == segments_.size()) return false;
  if (next_direct(call)) return true;
  call = {segments_[segment_].file_offset + used_, 0, false, {}};
  const auto limit = next_multiple(call.offset, limits_.bytes);
  while (segment_ < segments_.size() && pieces_.size() < max_pieces) {
    const auto at = segments_[segment_].file_offset + used_;
    const auto head = bytes_to_direct();
    if (at != call.offset + call.bytes || at == limit || head == 0) break;
    const auto here = run(head > 0 ? std::min(head, limit - at) : limit - at);
    pieces_.push_back({here.data, static_cast<std::size_t>(here.bytes)});
    call.bytes += here.bytes;
    advance(here.bytes);
  }
  call.pieces = pieces_;
  return true;
}

void consume(Call& call, std::ptrdiff_t done) {
  call.offset += done;
  call.bytes -= done;
  auto left = static_cast<std::size_t>(done);
  while (left > 0 && left >= call.pieces.front().iov_len) {
    left -= call.pieces.front().iov_len;
    call.pieces = call.pieces.subspan(1);
  }
  if (left == 0) return;
  auto& first = call.pieces.front();
  first.iov_base = static_cast<std::byte*>(first.iov_base) + left;
  first.iov_len -= left;
}

Descriptor::Descriptor(const OpenRequest& request, bool readable)
    : path_(request.path),
      statistics_(request.statistics),
      direct_writes_(writes_directly(request)),
      direct_reads_(request.settings.direct_io == Switch::on),
      direct_from_(request.settings.direct_io == Switch::on ? direct_from_if_on
                                                            : direct_from_automatic) {
  const AddTime time(statistics_.io_s);
  fd_ = open_file(access_flags(request.access, readable));
  if (request.access != FileAccess::write || readable) reader_ = fd_;
  ++statistics_.opens;
}

Descriptor::~Descriptor() { shut(); }

int Descriptor::open_file(int flags) const {
  const int fd = uninterrupted([&] { return open(path_.c_str(), flags | O_CLOEXEC, 0666); });
  if (fd < 0) fail_io("open", path_, errno);
  return fd;
}

CallLimits Descriptor::limits(bool writing) const {
  CallLimits limits;
  limits.direct_from = (writing ? direct_writes_ : direct_reads_) ? direct_from_ : 0;
  return limits;
}

void Descriptor::refuse_direct() { direct_writes_ = direct_reads_ = false; }

int Descriptor::direct_or(int& direct, int flags, int ordinary, Call& call) {
  if (!call.direct) return ordinary;
  bool allowed = flags == O_WRONLY ? direct_writes_ : direct_reads_;
  if (allowed && direct < 0) {
    direct = uninterrupted([&] { return open(path_.c_str(), flags | O_DIRECT | O_CLOEXEC); });
    allowed = direct >= 0;
    if (!allowed) refuse_direct();
  }
  call.direct = allowed;
  return allowed ? direct : ordinary;
}

int Descriptor::for_writing(Call& call) { return direct_or(direct_writer_, O_WRONLY, fd_, call); }

int Descriptor::for_reading(Call& call) {
  if (reader_ < 0) reader_ = open_file(O_RDONLY);
  return direct_or(direct_reader_, O_RDONLY, reader_, call);
}

void Descriptor::write(Call& call) {
  while (call.bytes > 0) {
    const int fd = for_writing(call);
    ++statistics_.writes;
    const auto done = uninterrupted([&] {
      return call.pieces.size() == 1
                 ? pwrite(fd, call.pieces[0].iov_base, call.pieces[0].iov_len, call.offset)
                 : pwritev(fd, call.pieces.data(), to_int(std::ssize(call.pieces)), call.offset);
    });
    if (done < 0 && errno == EINVAL && call.direct) {
      refuse_direct();
      continue;
    }
    if (done <= 0) fail_io("write", path_, done < 0 ? errno : ENOSPC);
    statistics_.bytes_written += done;
    consume(call, done);
    call.direct = false;  // what a short call leaves is seldom aligned
  }
}

// One system call; false at the end of the file.
bool Descriptor::read_once(Call& call) {
  const int fd = for_reading(call);
  ++statistics_.reads;
  const auto done = uninterrupted([&] {
    return call.pieces.size() == 1
               ? pread(fd, call.pieces[0].iov_base, call.pieces[0].iov_len, call.offset)
               : preadv(fd, call.pieces.data(), to_int(std::ssize(call.pieces)), call.offset);
  });
  if (done < 0 && errno == EINVAL && call.direct) {
    refuse_direct();
    return true;
  }
  if (done < 0) fail_io("read", path_, errno);
  statistics_.bytes_read += done;
  consume(call, done);
  call.direct = false;
  return done > 0;
}

void Descriptor::read(Call& call) {
  const auto end = call.offset + call.bytes;
  while (call.bytes > 0) {
    if (!read_once(call)) fail_end(end);
  }
}

std::ptrdiff_t Descriptor::read_to_end(std::ptrdiff_t offset, std::byte* data,
                                       std::ptrdiff_t bytes) {
  iovec whole{data, static_cast<std::size_t>(bytes)};
  Call call{offset, bytes, false, {&whole, 1}};
  while (call.bytes > 0 && read_once(call)) {
  }
  return bytes - call.bytes;
}

void Descriptor::fail_end(std::ptrdiff_t offset) {
  throw Error(Errc::corrupt, fmt::format("{} ends at byte {}, before byte {} that is to be read",
                                         path_, size(), offset));
}

void Descriptor::lock(std::ptrdiff_t offset, std::ptrdiff_t bytes) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = bytes;
  ++statistics_.locks;
  if (uninterrupted([&] { return fcntl(fd_, F_OFD_SETLKW, &range); }) != 0) {
    fail_io("lock a part of", path_, errno);
  }
}

void Descriptor::unlock(std::ptrdiff_t offset, std::ptrdiff_t bytes) noexcept {
  struct flock range {};
  range.l_type = F_UNLCK;
  range.l_whence = SEEK_SET;
  range.l_start = offset;
  range.l_len = bytes;
  fcntl(fd_, F_OFD_SETLK, &range);  // if it fails, closing the file lets go
}

std::ptrdiff_t Descriptor::size() {
  struct stat status {};
  if (fstat(fd_, &status) != 0) fail_io("look at", path_, errno);
  return status.st_size;
}

void Descriptor::resize(std::ptrdiff_t bytes) {
  if (uninterrupted([&] { return ftruncate(fd_, bytes); }) != 0) fail_io("resize", path_, errno);
}

void Descriptor::flush() {
  const AddTime time(statistics_.io_s);
  if (uninterrupted([&] { return fdatasync(fd_); }) != 0) fail_io("flush", path_, errno);
}

void Descriptor::shut() noexcept {
  for (int* fd : {&direct_writer_, &direct_reader_}) {
    if (*fd >= 0) close_descriptor(std::exchange(*fd, -1));
  }
  if (reader_ >= 0 && reader_ != fd_) close_descriptor(reader_);
  reader_ = -1;
  if (fd_ >= 0) close_descriptor(std::exchange(fd_, -1));
}

void Descriptor::close() {
  const AddTime time(statistics_.io_s);
  const int fd = std::exchange(fd_, -1);
  if (reader_ == fd) reader_ = -1;
  shut();
  if (fd >= 0 && close_descriptor(fd) != 0) fail_io("close", path_, errno);
}

}  // namespace tailrace::file
