// SPDX-License-Identifier: BSD-3-Clause
#include "store/file_index.hpp"

#include <algorithm>
#include <sstream>
#include <type_traits>

#include <fmt/format.h>

#include "store/hdf5_handle.hpp"
#include "store/read_attributes.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

// A table of unsigned 64-bit numbers, and the names of the variables that its rows are about.
template <class Row>
struct ChecksumTable {
  ChecksumTable(hid_t file, const char* name) {
    if (H5Lexists(file, "tailrace", H5P_DEFAULT) <= 0 || H5Lexists(file, name, H5P_DEFAULT) <= 0) {
      return;
    }
    const Hdf5Handle table(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, name);
    const Hdf5Handle space(H5Dget_space(table.id()), H5Sclose, name);
    constexpr hsize_t columns = sizeof(Row) / sizeof(std::uint64_t);
    hsize_t extents[2] = {0, columns};
    if (H5Sget_simple_extent_ndims(space.id()) != 2) fail();
    H5Sget_simple_extent_dims(space.id(), extents, nullptr);
    if (extents[1] != columns) fail();
    rows.resize(static_cast<std::size_t>(extents[0]));
    const haddr_t offset = H5Dget_offset(table.id());
    if (offset == HADDR_UNDEF) fail();
    bytes_ = {static_cast<std::ptrdiff_t>(offset),
              static_cast<std::ptrdiff_t>(extents[0] * sizeof(Row))};
    if (!rows.empty()) {
      check_hdf5(H5Dread(table.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()),
                 std::string("read ") + name);
    }
    for (const auto& [key, value] : read_attributes(table.id()).values) {
      if (key != "variables" || !std::holds_alternative<std::string>(value)) continue;
      std::istringstream lines(std::get<std::string>(value));
      for (std::string line; std::getline(lines, line);) names.push_back(line);
    }
  }
  [[noreturn]] static void fail() { throw Error(Errc::corrupt, "its checksum table is damaged"); }
  /// Gives each entry its rows.
  void deal(FileIndex& index, std::vector<Row> FileIndex::Entry::*rows_of) const {
    if (bytes_.count > 0) index.data.push_back(bytes_);
    std::vector<FileIndex::Entry*> entries(names.size(), nullptr);
    for (std::size_t v = 0; v < names.size(); ++v) {
      for (auto& entry : index.entries) {
        if (entry.name == names[v]) entries[v] = &entry;
      }
      const bool known = entries[v] != nullptr ||
                         std::ranges::find(index.refused, names[v], &FileIndex::Refused::name) !=
                             index.refused.end();
      if (!known) {
        throw Error(
            Errc::corrupt,
            fmt::format("its checksum table names variable {}, which does not exist", names[v]));
      }
    }
    for (const auto& row : rows) {
      if constexpr (std::is_same_v<Row, ChecksumRow>) {
        if (row.variable == entries.size() && &row == &rows.back()) {
          index.header = row;
          continue;
        }
      }
      if (row.variable >= entries.size() || entries[row.variable] == nullptr) fail();
      (entries[row.variable]->*rows_of).push_back(row);
    }
  }
  std::vector<Row> rows;
  std::vector<std::string> names;

 private:
  Range bytes_{0, 0};  // of the file
};

[[noreturn]] void fail_table(const FileIndex::Entry& entry, std::uint64_t at) {
  throw Error(Errc::corrupt,
              fmt::format("its checksum table is damaged at byte {} of {}", at, entry.name));
}

// The pieces of each variable must cover it without gap, or the table cannot be trusted.
void check_pieces(FileIndex::Entry& entry) {
  std::ranges::sort(entry.pieces, {}, &ChecksumRow::offset);
  const auto item = static_cast<std::uint64_t>(item_bytes(entry.type));
  const auto bytes = item * static_cast<std::uint64_t>(whole_box(entry).num_items());
  std::uint64_t at = 0;
  for (const auto& piece : entry.pieces) {
    const bool whole_items = piece.bytes % item == 0 && piece.bytes <= bytes - at;
    if (piece.offset != at || piece.bytes == 0 || !whole_items) fail_table(entry, at);
    at += piece.bytes;
  }
  if (at != bytes) fail_table(entry, at);
}

bool disjoint(const FileIndex::Entry& entry, const std::vector<Box>& boxes) {
  const auto layout = from_boxes(entry.extents, {boxes});
  return std::ranges::all_of(boxes,
                             [&](const Box& box) { return layout.overlaps(box).size() == 1; });
}

[[noreturn]] void fail_boxes(const FileIndex::Entry& entry) {
  throw Error(
      Errc::corrupt,
      fmt::format("its checksum table is damaged: the boxes of {} do not cover it exactly once",
                  entry.name));
}

// Boxes must cover the variable without overlap: lie inside, be disjoint, and hold as many items.
void check_boxes(FileIndex::Entry& entry) {
  std::ranges::sort(entry.boxes, {}, &BoxRow::start);
  const auto whole = whole_box(entry);
  std::ptrdiff_t items = 0;
  for (const auto& row : entry.boxes) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(whole.num_dims); ++d) {
      const auto extent = static_cast<std::uint64_t>(whole.extents[d]);
      const bool inside = row.start[d] < extent && row.extents[d] <= extent - row.start[d];
      if (!inside || row.extents[d] == 0) fail_boxes(entry);
    }
    for (auto d = static_cast<std::size_t>(whole.num_dims); d < max_dims; ++d) {
      if (row.start[d] != 0 || row.extents[d] != 1) fail_boxes(entry);
    }
    items += box_of(row, whole.num_dims).num_items();
  }
  if (items != whole.num_items()) fail_boxes(entry);
  std::vector<Box> boxes;
  for (const auto& row : entry.boxes) boxes.push_back(box_of(row, whole.num_dims));
  if (!disjoint(entry, boxes)) fail_boxes(entry);
}

void check_parts(FileIndex::Entry& entry) {
  std::ptrdiff_t items = 0;
  std::vector<Box> boxes;
  for (const auto& part : entry.parts) {
    items += part.box.num_items();
    boxes.push_back(part.box);
  }
  if (items != whole_box(entry).num_items() || !disjoint(entry, boxes)) {
    throw Error(Errc::corrupt, fmt::format("its pieces do not cover {} exactly once", entry.name));
  }
}

}  // namespace

void add_checksums(std::int64_t file, FileIndex& index) {
  ChecksumTable<ChecksumRow>(file, "tailrace/checksums").deal(index, &FileIndex::Entry::pieces);
  ChecksumTable<BoxRow>(file, "tailrace/boxes").deal(index, &FileIndex::Entry::boxes);
  for (auto& entry : index.entries) {
    if (!entry.pieces.empty()) check_pieces(entry);
    if (!entry.boxes.empty()) check_boxes(entry);
    if (!entry.parts.empty()) check_parts(entry);
    const bool checked = !entry.pieces.empty() || !entry.boxes.empty();
    if (!checked || entry.offset < 0) continue;
    index.data.push_back({entry.offset, whole_box(entry).num_items() * item_bytes(entry.type)});
  }
  std::ranges::sort(index.data, {}, &Range::start);
}

}  // namespace tailrace::store
