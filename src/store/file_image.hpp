// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/image_pages.hpp"
#include "store/writer_part.hpp"
#include "tailrace/box.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

/// Pieces of the checksum table are cut at multiples of this within each dataset.
inline constexpr std::ptrdiff_t piece_bytes = 1 << 20;

/// A row of the checksum table `/tailrace/checksums` (unsigned 64-bit numbers in the file). The
/// last row is about the rest of the file: `variable` is the number of variables, `offset` 0,
/// `bytes` how many bytes lie neither in the data of a variable nor in a table, and `xxh3` is that
/// of all these.
struct ChecksumRow {
  std::uint64_t variable = 0;  ///< place in the table's attribute `variables`
  std::uint64_t offset = 0;    ///< first byte, counted from the dataset's start
  std::uint64_t bytes = 0;
  std::uint64_t xxh3 = 0;  ///< XXH3_64bits of these bytes
};
static_assert(sizeof(ChecksumRow) == 32);

/// A row of the table `/tailrace/boxes` (unsigned 64-bit numbers in the file): the checksum of a
/// box of a variable, for data that was written in short rows. A variable has rows in one of the
/// two tables; its boxes are disjoint, cover it and hold about `piece_bytes` each; in any order.
struct BoxRow {
  std::uint64_t variable = 0;  ///< place in the table's attribute `variables`
  std::array<std::uint64_t, max_dims> start{};
  std::array<std::uint64_t, max_dims> extents{};  ///< axes that the variable has not: start 0, 1
  std::uint64_t xxh3 = 0;  ///< XXH3_64bits of the box's items in row-major order, no gaps
};
static_assert(sizeof(BoxRow) == 8 * (2 + 2 * max_dims));

/// Everything of an HDF5 file but the variables' data: its bytes, and where the data goes.
struct FileImage {
  struct Extent {
    std::ptrdiff_t file_offset = 0;
    std::ptrdiff_t start = 0;  ///< place in `bytes`
    std::ptrdiff_t count = 0;
  };
  std::vector<Extent> extents;
  std::vector<std::byte> bytes;
  std::vector<std::ptrdiff_t> data_offsets;  ///< of each dataset; -1 if it has no items
  /// Of each dataset, where its chunks lie, in their order; none of those without chunks.
  std::vector<std::vector<std::ptrdiff_t>> chunk_offsets;
  std::ptrdiff_t table_offset = -1;
  std::ptrdiff_t box_table_offset = -1;
  std::ptrdiff_t total_bytes = 0;
  ImagePages pages;  ///< in which HDF5 lays the file out

  /// Adds `count` bytes of the file, from `file_offset` on; the caller fills them. Local.
  std::byte* add(std::ptrdiff_t file_offset, std::ptrdiff_t count) {
    extents.push_back({file_offset, std::ssize(bytes), count});
    bytes.resize(bytes.size() + static_cast<std::size_t>(count));
    return &bytes.back() + 1 - count;
  }
};

/// Where a box of a virtual dataset comes from.
struct PieceSource {
  Box box;
  int writer = 0;       ///< names the piece file
  std::string dataset;  ///< of the piece file, as large as the box
};

/// A step of packing a chunk that readers undo: the number of a filter of HDF5 and its settings.
struct ChunkFilter {
  int number = 0;
  std::vector<unsigned> settings = {};
};

/// A dataset that is cut into chunks, each packed by itself.
struct ChunkedDataset {
  /// A packed chunk; where items begin in the dataset, and its size.
  struct Chunk {
    Index start{};
    std::ptrdiff_t bytes = 0;
    /// A bit for each filter that was not applied.
    std::uint32_t skipped_filters = 0;
  };
  Index extents{};  ///< of a chunk
  std::vector<ChunkFilter> filters = {};
  /// In the order in which they are to lie in the file. Chunks that are not among them read as the
  /// fill value.
  std::vector<Chunk> chunks = {};
};

/// How to lay a file out.
struct ImageSetting {
  std::ptrdiff_t alignment = 0;  ///< datasets of at least a stripe start at multiples of it
  std::ptrdiff_t stripe_bytes = 0;
  std::ptrdiff_t table_rows = -1;  ///< of the checksum table; -1: there is none
  std::ptrdiff_t box_rows = -1;    ///< of the table of boxes; -1: there is none
  /// Of each variable; null: the data lies in this file.
  const std::vector<std::vector<PieceSource>>* sources = nullptr;
  /// Of each variable; null: the data is contiguous.
  const std::vector<ChunkedDataset>* chunked = nullptr;
  std::string path = {};  ///< of the file, which names its pieces
  int generation = 0;     ///< of the pieces
};

/// Lays out a file with the HDF5 library in memory: no disk is touched, so that it takes the same
/// short time however busy the disk is. All metadata and small datasets come first, then the large
/// datasets, so that nothing shares a stripe with them. Chunks follow each other without gaps but
/// for HDF5's index of them. Local.
void build_image(const FileContents& contents, const ImageSetting& setting, FileImage& image);

/// The same for a piece file: plain datasets and their checksums. Local.
void build_piece_image(const std::vector<DatasetShape>& datasets, const ImageSetting& setting,
                       FileImage& image);

/// Adds a seal behind the end of the HDF5 file: which bytes are headers, attributes, coordinates,
/// and their checksum. It is found without HDF5, which crashes on some damaged headers. HDF5 and
/// netCDF ignore what lies behind the end that the file names, and cut it off when they change the
/// file: then there is no seal any more, which is no damage. Call it when all of `image.extents`
/// but the tables of checksums is there. The seal begins a stripe of its own if data does. Local.
void add_header_seal(std::ptrdiff_t stripe_bytes, FileImage& image);

/// Compares the headers of `path` with its seal. Throws `Errc::corrupt` if they do not match, and
/// `Errc::io` if they cannot be read. Does nothing without a seal, or if the file cannot be opened.
/// Local.
void check_header_seal(const std::string& path);

}  // namespace tailrace::store
