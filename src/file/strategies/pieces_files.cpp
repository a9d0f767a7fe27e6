// SPDX-License-Identifier: BSD-3-Clause
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/whole_file.hpp"
#include "file/back_end.hpp"
#include "file/strategies/pieces.hpp"

namespace tailrace::file {
namespace {

constexpr std::string_view magic = "tailrace pieces index 1\n";
constexpr std::size_t header_bytes = magic.size() + sizeof(std::int64_t);

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
  return read_whole_file(path, magic.size()) == magic;
}

std::vector<PieceRow> read_pieces_index(const std::string& path) {
  if (!is_pieces_index(path)) {
    throw Error(
        Errc::corrupt,
        fmt::format("{} is not an index of pieces as strategy file_per_rank writes it; read "
                    "it by another strategy",
                    path));
  }
  const auto text = read_whole_file(path);
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
  write_whole_file(path, text, flush);
}

}  // namespace tailrace::file
