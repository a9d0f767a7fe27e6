// SPDX-License-Identifier: BSD-3-Clause
// The index of `file_per_rank`: a line of text, the number of rows, the rows (four 64-bit integers
// each), XXH3_64bits of all that, in the byte order of the machine (little-endian wherever we run).

#include "file/strategies/pieces.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include <fmt/format.h>
#include <xxhash.h>

#include "core/whole_file.hpp"
#include "file/back_end.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {

void join_rows(std::vector<PieceRow>& rows) {
  std::size_t kept = 0;
  for (const auto& row : rows) {
    if (kept > 0) {
      auto& last = rows[kept - 1];
      if (row.piece == last.piece && row.file_offset == last.file_end() &&
          row.place == last.place + last.bytes) {
        last.bytes += row.bytes;
        continue;
      }
    }
    rows[kept++] = row;
  }
  rows.resize(kept);
}

namespace {

bool disjoint(std::span<const PieceRow> rows) {
  return std::ranges::adjacent_find(rows, [](const auto& a, const auto& b) {
           return a.file_end() > b.file_offset;
         }) == rows.end();
}

// Takes [start, end) out of the rows of the map.
void cut_out(std::map<std::int64_t, PieceRow>& rows, std::int64_t start, std::int64_t end) {
  auto at = rows.lower_bound(start);
  if (at != rows.begin() && std::prev(at)->second.file_end() > start) --at;
  while (at != rows.end() && at->second.file_offset < end) {
    const auto row = at->second;
    at = rows.erase(at);
    if (row.file_offset < start) {
      rows[row.file_offset] = {row.file_offset, start - row.file_offset, row.piece, row.place};
    }
    if (row.file_end() > end) {
      rows[end] = {end, row.file_end() - end, row.piece, row.place + (end - row.file_offset)};
    }
  }
}

}  // namespace

void overlay_rows(std::vector<PieceRow>& rows, std::span<const PieceRow> later) {
  std::vector<PieceRow> all(rows);
  all.insert(all.end(), later.begin(), later.end());
  std::ranges::stable_sort(all, {}, &PieceRow::file_offset);
  if (!disjoint(all)) {
    std::map<std::int64_t, PieceRow> by_offset;
    for (const auto& row : rows) by_offset[row.file_offset] = row;
    for (const auto& row : later) {
      cut_out(by_offset, row.file_offset, row.file_end());
      by_offset[row.file_offset] = row;
    }
    all.clear();
    for (const auto& [offset, row] : by_offset) all.push_back(row);
  }
  rows = std::move(all);
  join_rows(rows);
}

PiecePlan find_pieces(std::span<const PieceRow> rows, std::span<const Segment> segments,
                      const std::string& path) {
  const auto file_end = rows.empty() ? 0 : rows.back().file_end();
  if (!segments.empty() && segments.back().file_end() > file_end) {
    throw Error(Errc::corrupt, fmt::format("{} ends at byte {}, before byte {} that is to be read",
                                           path, file_end, segments.back().file_end()));
  }
  PiecePlan plan;
  std::map<std::int64_t, std::vector<Segment>> by_piece;
  for (const auto& segment : segments) {
    auto at = segment.file_offset;
    const auto in_memory = [&] { return segment.memory_offset + (at - segment.file_offset); };
    auto row = std::ranges::upper_bound(rows, at, {}, &PieceRow::file_end);
    while (at < segment.file_end()) {
      if (row->file_offset > at) {
        const auto bytes = std::min<std::ptrdiff_t>(row->file_offset, segment.file_end()) - at;
        plan.holes.push_back({at, in_memory(), bytes});
        at += bytes;
        continue;
      }
      const auto bytes = std::min<std::ptrdiff_t>(row->file_end(), segment.file_end()) - at;
      by_piece[row->piece].push_back({row->place + (at - row->file_offset), in_memory(), bytes});
      at += bytes;
      ++row;
    }
  }
  for (auto& [piece, reads] : by_piece) {
    std::ranges::sort(reads, {}, &Segment::file_offset);
    plan.pieces.push_back({piece, std::move(reads)});
  }
  return plan;
}

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
