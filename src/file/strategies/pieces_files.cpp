// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/system_call.hpp"
#include "file/back_end.hpp"
#include "file/strategies/pieces.hpp"

namespace tailrace::file {
namespace {

constexpr std::string_view magic = "tailrace pieces index 1\n";
constexpr std::size_t header_bytes = magic.size() + sizeof(std::int64_t);

/// A descriptor that closes itself.
class Opened {
 public:
  Opened(const char* doing, const std::string& path, int flags)
      : path_(path),
        fd_(uninterrupted([&] { return open(path.c_str(), flags | O_CLOEXEC, 0666); })) {
    if (fd_ < 0) fail_io(doing, path_, errno);
  }
  ~Opened() {
    if (fd_ >= 0) close_descriptor(fd_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::string read_up_to(std::size_t bytes) const {
    std::string text(bytes, '\0');
    std::size_t used = 0;
    while (used < bytes) {
      const auto done = uninterrupted([&] { return read(fd_, text.data() + used, bytes - used); });
      if (done < 0) fail_io("read", path_, errno);
      if (done == 0) break;
      used += static_cast<std::size_t>(done);
    }
    text.resize(used);
    return text;
  }
  void write_all(std::string_view text) const {
    while (!text.empty()) {
      const auto done = uninterrupted([&] { return write(fd_, text.data(), text.size()); });
      if (done <= 0) fail_io("write", path_, done < 0 ? errno : ENOSPC);
      text.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  std::size_t size() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0) fail_io("look at", path_, errno);
    return static_cast<std::size_t>(status.st_size);
  }
  // Some file systems refuse to flush folders (EINVAL) and need no flush of them.
  void flush(bool folder = false) const {
    const int flushed = uninterrupted([&] { return fsync(fd_); });
    if (flushed != 0 && !(folder && errno == EINVAL)) fail_io("flush", path_, errno);
  }
  void close() {
    const int fd = std::exchange(fd_, -1);
    if (close_descriptor(fd) != 0) fail_io("close", path_, errno);
  }

 private:
  std::string path_;
  int fd_;
};

[[noreturn]] void fail_damaged(const std::string& path, const std::string& what) {
  throw Error(Errc::corrupt, fmt::format("{} is a damaged index of pieces: {}", path, what));
}

std::string pieces_folder(const std::string& path) { return path + ".pieces"; }

bool is_piece_name(const std::string& name) {
  return name.size() >= 5 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

void remove_file(const std::string& path) {
  if (uninterrupted([&] { return unlink(path.c_str()); }) != 0 && errno != ENOENT)
    fail_io("remove", path, errno);
}

}  // namespace

std::string piece_path(const std::string& path, std::int64_t piece) {
  return fmt::format("{}/{:05d}", pieces_folder(path), piece);
}

void make_pieces_folder(const std::string& path, bool empty) {
  const auto folder = pieces_folder(path);
  if (empty) remove_file(path);  // first, so that no index names pieces that are gone
  const int made = uninterrupted([&] { return mkdir(folder.c_str(), 0777); });
  if (made != 0 && errno != EEXIST) fail_io("create", folder, errno);
  if (!empty) return;
  std::error_code error;
  std::filesystem::directory_iterator entries;
  do {
    entries = std::filesystem::directory_iterator(folder, error);
  } while (error.value() == EINTR);
  for (const auto& entry : entries) {
    if (is_piece_name(entry.path().filename().string())) remove_file(entry.path().string());
  }
  if (error) fail_io("read", folder, error.value());
}

bool is_pieces_index(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) fail_io("open", path, errno);
  if (!S_ISREG(status.st_mode)) return false;
  return Opened("open", path, O_RDONLY).read_up_to(magic.size()) == magic;
}

std::vector<PieceRow> read_pieces_index(const std::string& path) {
  if (!is_pieces_index(path)) {
    throw Error(
        Errc::corrupt,
        fmt::format("{} is not an index of pieces as strategy file_per_rank writes it; read "
                    "it by another strategy",
                    path));
  }
  const Opened file("open", path, O_RDONLY);
  const auto text = file.read_up_to(file.size());
  if (text.size() < header_bytes) fail_damaged(path, "it is cut short");
  std::int64_t count = 0;
  std::memcpy(&count, text.data() + magic.size(), sizeof count);
  const auto body = text.size() - header_bytes;
  if (body % sizeof(PieceRow) != sizeof(std::uint64_t) ||
      count != static_cast<std::int64_t>(body / sizeof(PieceRow))) {
    fail_damaged(
        path, fmt::format("it has {} bytes, which is not right for {} rows", text.size(), count));
  }
  std::uint64_t hash = 0;
  std::memcpy(&hash, text.data() + text.size() - sizeof hash, sizeof hash);
  if (hash != XXH3_64bits(text.data(), text.size() - sizeof hash)) {
    fail_damaged(path, "its checksum differs");
  }
  std::vector<PieceRow> rows(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(rows.data(), text.data() + header_bytes, rows.size() * sizeof rows[0]);
  return rows;
}

void write_pieces_index(const std::string& path, std::span<const PieceRow> rows, bool flush) {
  std::string text(magic);
  const auto count = static_cast<std::int64_t>(rows.size());
  text.append(reinterpret_cast<const char*>(&count), sizeof count);
  text.append(reinterpret_cast<const char*>(rows.data()), rows.size_bytes());
  const std::uint64_t hash = XXH3_64bits(text.data(), text.size());
  text.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  const auto partial = path + ".partial";
  try {
    Opened file("create", partial, O_WRONLY | O_CREAT | O_TRUNC);
    file.write_all(text);
    if (flush) file.flush();
    file.close();
    if (uninterrupted([&] { return std::rename(partial.c_str(), path.c_str()); }) != 0) {
      fail_io("rename to", path, errno);
    }
  } catch (const Error&) {
    uninterrupted([&] { return unlink(partial.c_str()); });
    throw;
  }
  if (!flush) return;
  const auto slash = path.find_last_of('/');
  const auto folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  try {
    Opened("open", folder, O_RDONLY | O_DIRECTORY).flush(true);
  } catch (const Error& error) {
    throw Error(Errc::io, fmt::format("{}: {}", path, error.what()), error.sys_errno());
  }
}

}  // namespace tailrace::file
