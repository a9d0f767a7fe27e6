// SPDX-License-Identifier: BSD-3-Clause
// The index of `file_per_rank`: a line of text, the number of rows, the rows (four 64-bit integers
// each), XXH3_64bits of all that, in the byte order of the machine (little-endian wherever we run).
#include "file/strategies/pieces.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

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

}  // namespace tailrace::file
