// SPDX-License-Identifier: BSD-3-Clause
// MPI-IO, the standard to compare with: the hints go to it as they are, a part is a file view.
// Its errors seldom name an errno, and OMPIO (Open MPI 4) returns success on a full disk: hence the
// checks of counts and of the size, and what is read back. See ompio.hpp.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "chooser/environment.hpp"
#include "core/say.hpp"
#include "file/back_end.hpp"
#include "file/back_ends/posix.hpp"
#include "file_back_ends/mpi_types.hpp"
#include "file_back_ends/ompio.hpp"

namespace tailrace::file {
namespace {

constexpr std::ptrdiff_t call_bytes = 1 << 30;  // of one call: counts are ints

int errno_of(int status) {
  int kind = MPI_SUCCESS;
  MPI_Error_class(status, &kind);
  switch (kind) {
    case MPI_ERR_NO_SPACE:
      return ENOSPC;
    case MPI_ERR_QUOTA:
      return EDQUOT;
    case MPI_ERR_NO_SUCH_FILE:
      return ENOENT;
    case MPI_ERR_ACCESS:
      return EACCES;
    case MPI_ERR_READ_ONLY:
      return EROFS;
    case MPI_ERR_FILE_EXISTS:
      return EEXIST;
    case MPI_ERR_BAD_FILE:
      return EINVAL;
    default:
      return EIO;
  }
}

[[noreturn]] void fail_mpi(std::string_view doing, const std::string& path, int status) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  const int error = errno_of(status);
  throw Error(Errc::io,
              fmt::format("cannot {} {}: MPI-IO says \"{}\" (errno {}, {})", doing, path,
                          std::string_view(text.data(), static_cast<std::size_t>(length)), error,
                          std::strerror(error)),
              error);
}

// What MPI-IO did with the hints, for those who ask.
void report_hints(MPI_File file, const OpenRequest& request) {
  const char* display = environment("TAILRACE_REPORT", "TAILRACE_HINTS_DISPLAY");
  if (request.openers->rank() != 0 || display == nullptr || std::strcmp(display, "1") != 0) return;
  MPI_Info used = MPI_INFO_NULL;
  if (MPI_File_get_info(file, &used) != MPI_SUCCESS || used == MPI_INFO_NULL) return;
  std::string others;
  for (const auto& [name, value] : request.settings.mpi_hints) {
    std::array<char, MPI_MAX_INFO_VAL + 1> text{};
    int found = 0;
    MPI_Info_get(used, name.c_str(), MPI_MAX_INFO_VAL, text.data(), &found);
    if (found != 0 && value == text.data()) continue;
    others += fmt::format("{}{}={} ({})", others.empty() ? "" : ", ", name, value,
                          found != 0 ? fmt::format("it uses {}", text.data()) : "not known to it");
  }
  MPI_Info_free(&used);
  if (others.empty()) return;
  say(LogLevel::warning,
      fmt::format("{}: hints that MPI-IO did not take: {}", request.path, others));
}

struct Kind {
  bool writing;
  bool collective;
};

class MpiFile final : public BackEnd {
 public:
  explicit MpiFile(const OpenRequest& request);
  ~MpiFile() override;
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;

  void write(std::span<const Segment> segments, const std::byte* memory, bool sieve) override;
  void read(std::span<const Segment> segments, std::byte* memory, bool sieve) override;
  void write_all(const FilePart& part, const std::byte* data) override {
    transfer_part(part, const_cast<std::byte*>(data), {true, true});
  }
  void read_all(const FilePart& part, std::byte* data) override {
    transfer_part(part, data, {false, true});
  }
  void write_part(const FilePart& part, const std::byte* data) override {
    transfer_part(part, const_cast<std::byte*>(data), {true, false});
  }
  void read_part(const FilePart& part, std::byte* data) override {
    transfer_part(part, data, {false, false});
  }
  std::ptrdiff_t size() override;
  void flush() override;
  void close() override;
  bool opens_alone() const override { return uses_ompio(); }

 private:
  void transfer_part(const FilePart& part, std::byte* data, Kind kind);
  void extend_for_holes(const FilePart& part);
  void write_in_pieces(const FilePart& part, std::byte* data, bool collective);
  void transfer_plain(std::span<const Segment> segments, std::byte* memory, Kind kind);
  void transfer(MPI_Offset offset, std::span<const Segment> segments, std::byte* data, Kind kind);
  void set_view(const FilePart& part);
  void set_plain_view();
  void check_size(std::ptrdiff_t end, bool writing);

  MPI_Comm openers_;
  std::string path_;
  FileStatistics& statistics_;
  MPI_File file_ = MPI_FILE_NULL;
  bool has_view_ = false;
  std::ptrdiff_t written_end_ = 0;
  std::optional<ReadBack> read_back_;
};

MpiFile::MpiFile(const OpenRequest& request)
    : openers_(request.openers->raw()), path_(request.path), statistics_(request.statistics) {
  const AddTime time(statistics_.io_s);
  const MpiInfo info(request.settings.mpi_hints);
  const int mode =
      request.access == FileAccess::read ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_RDWR;
  if (ReadBack::is_needed(request)) read_back_.emplace(request);
  // A file that OMPIO opens on some ranks only, it never does: they wait for each other. As nothing
  // is collective there, each rank opens alone.
  const MPI_Comm together = opens_alone() ? MPI_COMM_SELF : openers_;
  const int status = MPI_File_open(together, path_.c_str(), mode, info.raw(), &file_);
  if (status != MPI_SUCCESS) {
    file_ = MPI_FILE_NULL;
    fail_mpi("open", path_, status);
  }
  MPI_File_set_errhandler(file_, MPI_ERRORS_RETURN);
  detail::count_handles(1);
  ++statistics_.opens;
  report_hints(file_, request);
}

MpiFile::~MpiFile() {
  if (file_ == MPI_FILE_NULL) return;
  detail::count_handles(-1);
  if (!detail::mpi_is_finalized()) MPI_File_close(&file_);
}

// The same calls on all openers, whether they have data or not.
void MpiFile::set_view(const FilePart& part) {
  if (part.bytes() == 0) {
    set_plain_view();
  } else {
    const auto view = file_type(part);
    const int status = MPI_File_set_view(file_, view.displacement, MPI_BYTE, view.type.raw(),
                                         "native", MPI_INFO_NULL);
    if (status != MPI_SUCCESS) fail_mpi("set a view of", path_, status);
  }
  has_view_ = true;
}

void MpiFile::set_plain_view() {
  const int status = MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  if (status != MPI_SUCCESS) fail_mpi("set a view of", path_, status);
  has_view_ = false;
}

int call_mpi(MPI_File file, MPI_Offset offset, void* memory, int count, MPI_Datatype type,
             Kind kind, MPI_Status& result) {
  if (kind.writing) {
    return kind.collective ? MPI_File_write_at_all(file, offset, memory, count, type, &result)
                           : MPI_File_write_at(file, offset, memory, count, type, &result);
  }
  return kind.collective && !uses_ompio()
             ? MPI_File_read_at_all(file, offset, memory, count, type, &result)
             : MPI_File_read_at(file, offset, memory, count, type, &result);
}

// One call. `offset` counts the bytes of the view; the segments say where they are in memory.
void MpiFile::transfer(MPI_Offset offset, std::span<const Segment> segments, std::byte* data,
                       Kind kind) {
  const bool dense = dense_in_memory(segments);
  std::ptrdiff_t bytes = 0;
  for (const auto& segment : segments) bytes += segment.bytes;
  const OwnedType own = dense ? OwnedType() : memory_type(segments);
  const MPI_Datatype type = dense ? MPI_BYTE : own.raw();
  std::byte* memory = dense && !segments.empty() ? data + segments[0].memory_offset : data;
  MPI_Status result{};
  (kind.writing ? statistics_.writes : statistics_.reads) += 1;
  const int status = call_mpi(file_, offset, memory, dense ? to_int(bytes) : 1, type, kind, result);
  if (status != MPI_SUCCESS) fail_mpi(kind.writing ? "write" : "read", path_, status);
  MPI_Count done = 0;
  check_mpi(MPI_Get_elements_x(&result, type, &done));
  if (kind.writing && done < bytes) {
    throw Error(Errc::io,
                fmt::format("cannot write {}: MPI-IO wrote {} of {} bytes", path_, done, bytes),
                EIO);
  }
  (kind.writing ? statistics_.bytes_written : statistics_.bytes_read) += bytes;
  if (!segments.empty()) check_size(segments.back().file_end(), kind.writing);
  if (done < bytes) {  // though the file is long enough: OMPIO gives no error
    throw Error(Errc::io,
                fmt::format("cannot read {}: MPI-IO read {} of {} bytes", path_, done, bytes), EIO);
  }
}

void MpiFile::check_size(std::ptrdiff_t end, bool writing) {
  if (writing) {
    written_end_ = std::max(written_end_, end);
  } else if (const auto there = size(); there < end) {
    throw Error(Errc::corrupt, fmt::format("{} ends at byte {}, before byte {} that is to be read",
                                           path_, there, end));
  }
}

void MpiFile::write(std::span<const Segment> segments, const std::byte* memory, bool) {
  const AddTime time(statistics_.io_s);
  if (has_view_) set_plain_view();
  transfer_plain(segments, const_cast<std::byte*>(memory), {true, false});
  if (read_back_) read_back_->check(segments, memory);
}

void MpiFile::read(std::span<const Segment> segments, std::byte* memory, bool) {
  const AddTime time(statistics_.io_s);
  if (has_view_) set_plain_view();
  transfer_plain(segments, memory, {false, false});
}

void MpiFile::transfer_plain(std::span<const Segment> segments, std::byte* memory, Kind kind) {
  Calls calls(segments, memory, {call_bytes, call_bytes, 0});
  for (Call call; calls.next(call);) {
    auto offset = call.offset;
    for (const auto& piece : call.pieces) {
      const auto bytes = static_cast<std::ptrdiff_t>(piece.iov_len);
      const Segment segment{offset, 0, bytes};
      transfer(offset, {&segment, 1}, static_cast<std::byte*>(piece.iov_base), kind);
      offset += bytes;
    }
  }
}

// Where the openers leave holes, ROMIO reads what is there and writes it back, but beyond the end
// of the file it writes what its memory happened to hold. In a file that is long enough it reads
// zeros.
void MpiFile::extend_for_holes(const FilePart& part) {
  const auto segments = FilePart::Data::of(part).segments();
  std::int64_t bytes = part.bytes();
  std::array<std::int64_t, 2> bounds{std::numeric_limits<std::int64_t>::min(), 0};
  if (!segments.empty()) bounds = {-segments.front().file_offset, segments.back().file_end()};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, openers_));
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, bounds.data(), 2, MPI_INT64_T, MPI_MAX, openers_));
  if (bytes == 0 || bounds[1] + bounds[0] == bytes) return;
  std::int64_t there = size();
  check_mpi(MPI_Bcast(&there, 1, MPI_INT64_T, 0, openers_));
  if (there >= bounds[1]) return;
  const int status = MPI_File_set_size(file_, bounds[1]);
  if (status != MPI_SUCCESS) fail_mpi("extend", path_, status);
}

// On OMPIO, where writers through views undo each other's bytes: it reads stretches with holes and
// writes them back without a lock.
void MpiFile::write_in_pieces(const FilePart& part, std::byte* data, bool collective) {
  if (has_view_) set_plain_view();
  const auto write = [&] {
    transfer_plain(FilePart::Data::of(part).segments(), data, {true, false});
  };
  collective ? run_agreed(openers_, write) : write();
  if (read_back_) read_back_->check(FilePart::Data::of(part).segments(), data);
}

void MpiFile::transfer_part(const FilePart& part, std::byte* data, Kind kind) {
  const AddTime time(statistics_.io_s);
  if (kind.writing && uses_ompio()) return write_in_pieces(part, data, kind.collective);
  set_view(part);
  const auto bytes = part.bytes();
  auto rounds = (bytes + call_bytes - 1) / call_bytes;
  if (kind.collective) {
    if (kind.writing) extend_for_holes(part);
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &rounds, 1, MPI_INT64_T, MPI_MAX, openers_));
  }
  const auto once = [&](std::ptrdiff_t from, std::span<const Segment> segments) {
    if (kind.collective && rounds > 1) {
      run_agreed(openers_, [&] { transfer(from, segments, data, kind); });
    } else {
      transfer(from, segments, data, kind);
    }
  };
  if (rounds == 1) once(0, FilePart::Data::of(part).segments());
  for (std::ptrdiff_t round = 0; rounds > 1 && round < rounds; ++round) {
    const auto from = std::min(bytes, round * call_bytes);
    const auto to = std::min(bytes, from + call_bytes);
    once(from, slice(FilePart::Data::of(part).segments(), from, to));
  }
}

std::ptrdiff_t MpiFile::size() {
  MPI_Offset bytes = 0;
  const int status = MPI_File_get_size(file_, &bytes);
  if (status != MPI_SUCCESS) fail_mpi("look at", path_, status);
  return bytes;
}

void MpiFile::flush() {
  const AddTime time(statistics_.io_s);
  const int status = MPI_File_sync(file_);
  if (status != MPI_SUCCESS) fail_mpi("flush", path_, status);
  if (read_back_) read_back_->flush();
  if (const auto there = size(); there < written_end_) {
    throw Error(Errc::io,
                fmt::format("cannot write {}: MPI-IO reported success, but the file has {} bytes "
                            "where {} were written; is the disk full?",
                            path_, there, written_end_),
                EIO);
  }
}

void MpiFile::close() {
  if (file_ == MPI_FILE_NULL) return;
  const AddTime time(statistics_.io_s);
  detail::count_handles(-1);
  const int status = MPI_File_close(&file_);
  file_ = MPI_FILE_NULL;
  if (status != MPI_SUCCESS) fail_mpi("close", path_, status);
}

}  // namespace

std::unique_ptr<BackEnd> open_mpiio(const OpenRequest& request) {
  return std::make_unique<MpiFile>(request);
}

}  // namespace tailrace::file
