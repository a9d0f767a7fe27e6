// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/file_image.hpp"
#include "store/read_attributes.hpp"
#include "tailrace/box.hpp"
#include "tailrace/comm.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::store {

/// What a file holds and where: enough to read it without HDF5.
struct FileIndex {
  /// A box of a variable that is a whole dataset of another file of ours.
  struct Part {
    Box box;
    std::string file;
    std::string dataset;
  };
  struct Entry {
    std::string name;  ///< path from the root group, "group/var"
    ItemType type = ItemType::float64;
    std::vector<std::ptrdiff_t> extents;  ///< of a scalar: {1}
    std::ptrdiff_t offset = -1;           ///< of the data in the file; -1: only HDF5 can read it
    std::vector<std::ptrdiff_t> chunk;    ///< of chunked data; else empty
    bool scale = false;                   ///< a coordinate, or
    bool only_dimension = false;          ///< a dimension of netCDF without one: it has no values
    std::string missing;                  ///< a file that holds a part of the data and is not there
    std::vector<Part> parts;              ///< of `file_per_rank`; disjoint, they cover the variable
    std::vector<ChecksumRow> pieces;      ///< by offset; if the file has such checksums
    std::vector<BoxRow> boxes;            ///< by start; if the file has such checksums
  };
  std::vector<Entry> entries;
  struct Refused {
    std::string name;
    std::string why;       ///< "has 6 dimensions; at most 5 are supported"
    bool damaged = false;  ///< or of a format that this HDF5 library does not know
  };
  std::vector<Refused> refused;  ///< datasets that cannot be read, and links that lead nowhere
  std::vector<std::pair<std::string, std::string>> aliases;  ///< `LinkedObjects::aliases`
  FoundAttributes attributes;                                ///< of the file
  /// Only on the rank that looked: the checksum of the rest of the file, and what it leaves out,
  /// bytes of the file in ascending order.
  std::optional<ChecksumRow> header;
  std::vector<Range> data;
  std::vector<std::string>
      sources;  ///< files that virtual datasets lie in, as this rank finds them
};

/// The global extents as a box.
Box whole_box(const FileIndex::Entry& entry);

/// The box of a row, of which the first `num_dims` numbers count.
Box box_of(const BoxRow& row, int num_dims);

/// Looks into `path` on this rank. Throws `Errc::io` (errno) if it cannot be opened,
/// `Errc::corrupt` if it is not a whole HDF5 file. Local.
FileIndex index_file(const std::string& path);

/// The same on all ranks, as rank 0 finds it; throws on all of them. Collective, blocking.
FileIndex agreed_index(const Comm& comm, const std::string& path);
/// Gives the entries of `index` their checksums from the tables of an open HDF5 file. Throws
/// `Errc::corrupt` if tables, or the pieces of a variable, do not cover it exactly once. Local.
void add_checksums(std::int64_t file, FileIndex& index);

}  // namespace tailrace::store
