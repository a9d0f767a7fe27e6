// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "file/segment.hpp"

namespace tailrace::file {

/// Bytes of the whole file and where they are: from byte `place` of piece file number `piece` on.
struct PieceRow {
  std::int64_t file_offset = 0;
  std::int64_t bytes = 0;
  std::int64_t piece = 0;
  std::int64_t place = 0;
  std::int64_t file_end() const { return file_offset + bytes; }
  bool operator==(const PieceRow&) const = default;
};

/// Rows that are neighbours in the file and in their piece become one.
void join_rows(std::vector<PieceRow>& rows);

/// Puts `later` rows, in the order of writing, over `rows` (sorted, disjoint), which stay so.
void overlay_rows(std::vector<PieceRow>& rows, std::span<const PieceRow> later);

/// What a rank has to read from one piece.
struct PieceReads {
  std::int64_t piece = 0;
  std::vector<Segment> segments;  ///< ascending; `file_offset` counts in the piece
};
/// Where `segments` of the whole file are, by pieces; bytes that nobody wrote, between others, are
/// in `holes`. Throws `Errc::corrupt` naming `path` if the file ends before them.
struct PiecePlan {
  std::vector<PieceReads> pieces;
  std::vector<Segment> holes;
};
PiecePlan find_pieces(std::span<const PieceRow> rows, std::span<const Segment> segments,
                      const std::string& path);

/// "PATH.pieces/00012"
std::string piece_path(const std::string& path, std::int64_t piece);
/// Makes the folder of the pieces; `empty`: removes the index and the pieces of an older file.
/// Throws `Errc::io`. Local.
void make_pieces_folder(const std::string& path, bool empty);

/// Is the file an index of `file_per_rank`? Throws `Errc::io` (errno) if it cannot be opened.
/// Local.
bool is_pieces_index(const std::string& path);
/// Reads the index `path`. Throws `Errc::io` if it cannot be read, `Errc::corrupt` if it is another
/// kind of file or damaged. Local.
std::vector<PieceRow> read_pieces_index(const std::string& path);
/// Writes `path` by way of `PATH.partial`; flushed if asked to. Throws `Errc::io`. Local.
void write_pieces_index(const std::string& path, std::span<const PieceRow> rows, bool flush);

}  // namespace tailrace::file
