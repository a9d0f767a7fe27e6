// SPDX-License-Identifier: BSD-3-Clause
// The plain reference: pwrite and pread, vectored where neighbours in the file are not neighbours
// in memory. One writer with large calls reaches what the file system can on one machine.
#include "file/back_ends/posix.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>

#include <fmt/format.h>

#include "core/file_lock.hpp"
#include "core/round_up.hpp"
#include "file/back_ends/sieve.hpp"

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

PosixFile::PosixFile(const OpenRequest& request, bool readable)
    : path_(request.path),
      statistics_(request.statistics),
      direct_writes_(writes_directly(request)),
      direct_reads_(request.settings.direct_io == Switch::on),
      readable_(readable || request.access != FileAccess::write),
      direct_from_(request.settings.direct_io == Switch::on ? direct_from_if_on
                                                            : direct_from_automatic) {
  const AddTime time(statistics_.io_s);
  file_ = open_file(access_flags(request.access, readable));
  ++statistics_.opens;
}

Descriptor PosixFile::open_file(int flags) const {
  Descriptor opened = open_descriptor(path_, flags);
  if (!opened) fail_io("open", path_, errno);
  return opened;
}

CallLimits PosixFile::limits(bool writing) const {
  CallLimits limits;
  limits.direct_from = (writing ? direct_writes_ : direct_reads_) ? direct_from_ : 0;
  return limits;
}

void PosixFile::refuse_direct() { direct_writes_ = direct_reads_ = false; }

int PosixFile::direct_or(Descriptor& direct, int flags, int ordinary, Call& call) {
  if (!call.direct) return ordinary;
  bool allowed = flags == O_WRONLY ? direct_writes_ : direct_reads_;
  if (allowed && !direct) {
    direct = open_descriptor(path_, flags | O_DIRECT);
    allowed = static_cast<bool>(direct);
    if (!allowed) refuse_direct();
  }
  call.direct = allowed;
  return allowed ? direct.get() : ordinary;
}

int PosixFile::for_writing(Call& call) {
  return direct_or(direct_writer_, O_WRONLY, file_.get(), call);
}

int PosixFile::for_reading(Call& call) {
  if (!readable_ && !reader_) reader_ = open_file(O_RDONLY);
  const int ordinary = readable_ ? file_.get() : reader_.get();
  return direct_or(direct_reader_, O_RDONLY, ordinary, call);
}

// One system call, made again if a direct one is refused; the bytes that it moved.
std::ptrdiff_t PosixFile::move_once(Call& call, bool writing) {
  while (true) {
    const int fd = writing ? for_writing(call) : for_reading(call);
    const int count = to_int(std::ssize(call.pieces));
    const iovec first = call.pieces[0];
    ++(writing ? statistics_.writes : statistics_.reads);
    const auto done = uninterrupted([&] {
      if (writing) {
        return count == 1 ? pwrite(fd, first.iov_base, first.iov_len, call.offset)
                          : pwritev(fd, call.pieces.data(), count, call.offset);
      }
      return count == 1 ? pread(fd, first.iov_base, first.iov_len, call.offset)
                        : preadv(fd, call.pieces.data(), count, call.offset);
    });
    if (done < 0 && errno == EINVAL && call.direct) {
      refuse_direct();
      continue;
    }
    if (done < 0) fail_io(writing ? "write" : "read", path_, errno);
    (writing ? statistics_.bytes_written : statistics_.bytes_read) += done;
    consume(call, done);
    call.direct = false;  // what a short call leaves is seldom aligned
    return done;
  }
}

void PosixFile::write(Call& call) {
  while (call.bytes > 0) {
    if (move_once(call, true) == 0) fail_io("write", path_, ENOSPC);
  }
}

void PosixFile::read(Call& call) {
  const auto end = call.offset + call.bytes;
  while (call.bytes > 0) {
    if (move_once(call, false) == 0) fail_end(end);
  }
}

void PosixFile::write(std::span<const Segment> segments, const std::byte* memory) {
  Calls calls(segments, memory, limits(true));
  for (Call call; calls.next(call);) write(call);
}

void PosixFile::read(std::span<const Segment> segments, std::byte* memory) {
  Calls calls(segments, memory, limits(false));
  for (Call call; calls.next(call);) read(call);
}

std::ptrdiff_t PosixFile::read_to_end(std::ptrdiff_t offset, std::byte* data,
                                      std::ptrdiff_t bytes) {
  iovec whole{data, static_cast<std::size_t>(bytes)};
  Call call{offset, bytes, false, {&whole, 1}};
  while (call.bytes > 0 && move_once(call, false) > 0) {
  }
  return bytes - call.bytes;
}

void PosixFile::fail_end(std::ptrdiff_t offset) {
  throw Error(Errc::corrupt, fmt::format("{} ends at byte {}, before byte {} that is to be read",
                                         path_, size(), offset));
}

void PosixFile::lock(std::ptrdiff_t offset, std::ptrdiff_t bytes) {
  ++statistics_.locks;
  if (set_lock(file_.get(), F_WRLCK, F_OFD_SETLKW, offset, bytes) != 0) {
    fail_io("lock a part of", path_, errno);
  }
}

void PosixFile::unlock(std::ptrdiff_t offset, std::ptrdiff_t bytes) noexcept {
  // If it fails, closing the file lets go.
  set_lock(file_.get(), F_UNLCK, F_OFD_SETLK, offset, bytes);
}

std::ptrdiff_t PosixFile::size() {
  struct stat status {};
  if (fstat(file_.get(), &status) != 0) fail_io("look at", path_, errno);
  return status.st_size;
}

void PosixFile::resize(std::ptrdiff_t bytes) {
  if (uninterrupted([&] { return ftruncate(file_.get(), bytes); }) != 0) {
    fail_io("resize", path_, errno);
  }
}

void PosixFile::flush() {
  const AddTime time(statistics_.io_s);
  if (uninterrupted([&] { return fdatasync(file_.get()); }) != 0) fail_io("flush", path_, errno);
}

void PosixFile::close() {
  const AddTime time(statistics_.io_s);
  for (auto* opened : {&direct_writer_, &direct_reader_, &reader_}) opened->close();
  if (file_.close() != 0) fail_io("close", path_, errno);
}

namespace {

class Posix final : public BackEnd {
 public:
  explicit Posix(const OpenRequest& request)
      : file_(request, Sieve::writes(request.settings)),
        settings_(request.settings),
        sieve_(file_, settings_) {}

  void write(std::span<const Segment> segments, const std::byte* memory, bool sieve) override {
    const AddTime time(file_.statistics().io_s);
    if (sieve && Sieve::writes(settings_)) {
      sieve_.write(segments, memory);
      return;
    }
    file_.write(segments, memory);
  }

  void read(std::span<const Segment> segments, std::byte* memory, bool sieve) override {
    const AddTime time(file_.statistics().io_s);
    if (sieve && Sieve::reads(settings_)) {
      sieve_.read(segments, memory);
      return;
    }
    file_.read(segments, memory);
  }

  std::ptrdiff_t size() override { return file_.size(); }
  void resize(std::ptrdiff_t bytes) override { file_.resize(bytes); }
  void flush() override { file_.flush(); }
  void close() override { file_.close(); }

 private:
  PosixFile file_;
  const Settings& settings_;
  Sieve sieve_;
};

}  // namespace

std::unique_ptr<BackEnd> open_posix(const OpenRequest& request) {
  return std::make_unique<Posix>(request);
}

}  // namespace tailrace::file
