// SPDX-License-Identifier: BSD-3-Clause
#include "store/file_index.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <hdf5_hl.h>

#include "core/bytes.hpp"
#include "core/replaced.hpp"
#include "core/same_on_all.hpp"
#include "store/file_image.hpp"
#include "store/hdf5_handle.hpp"
#include "store/link_walk.hpp"
#include "store/piece_folder.hpp"
#include "store/series_paths.hpp"
#include "store/stored_type.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

// HDF5 takes '%' in the names of sources for a pattern, and "%%" for the letter.
std::string plain(std::string name) {
  for (auto at = name.find("%%"); at != std::string::npos; at = name.find("%%", at + 1)) {
    name.erase(at, 1);
  }
  return name;
}

// The box that is selected in a space, or none if more or less is selected than a box.
std::optional<Box> selected_box(hid_t space) {
  hsize_t first[H5S_MAX_RANK] = {}, last[H5S_MAX_RANK] = {};
  const int dims = H5Sget_simple_extent_ndims(space);
  if (dims < 1 || dims > max_dims || H5Sget_select_bounds(space, first, last) < 0) return {};
  Box box{dims, {}, {}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(dims); ++d) {
    box.start[d] = static_cast<std::ptrdiff_t>(first[d]);
    box.extents[d] = static_cast<std::ptrdiff_t>(last[d] - first[d]) + 1;
  }
  if (box.num_items() != H5Sget_select_npoints(space)) return {};
  return box;
}

// The files of a virtual dataset. HDF5 fills what a missing one would give; a reader wants to know.
// Those of our own pieces become parts, which are read without HDF5.
void add_sources(hid_t create, const std::string& path, FileIndex& index, FileIndex::Entry& entry) {
  std::size_t count = 0;
  check_hdf5(H5Pget_virtual_count(create, &count), "count the sources of " + entry.name);
  const auto target = followed_links(path);  // whose folder its sources are in
  const auto name_start = target.find_last_of('/') + 1;
  const auto folder = target.substr(0, name_start);
  const auto pieces = pieces_folder(target.substr(name_start)) + "/";
  for (std::size_t i = 0; i < count; ++i) {
    const auto escaped = text_of([&](char* text, std::size_t bytes) {
      return H5Pget_virtual_filename(create, i, text, bytes);
    });
    const auto name = plain(escaped);
    if (name == ".") continue;  // this file
    const auto beside = name.starts_with('/') ? name : folder + name;
    const bool found = leads_to_file(beside) || leads_to_file(name);
    if (found) {
      index.sources.push_back(leads_to_file(beside) ? beside : name);
    } else if (!name.empty() && escaped.find('%') == std::string::npos) {
      if (entry.missing.empty()) entry.missing = name;
    }
    const Hdf5Handle space(H5Pget_virtual_vspace(create, i), H5Sclose, "space of a source");
    const auto box = selected_box(space.id());
    if (!box || !name.ends_with(".h5") || !name.starts_with(pieces)) continue;
    const auto dataset = text_of([&](char* text, std::size_t bytes) {
      return H5Pget_virtual_dsetname(create, i, text, bytes);
    });
    entry.parts.push_back({*box, beside, plain(dataset)});
  }
  if (entry.parts.size() != count) entry.parts.clear();  // others' work: HDF5 reads it
}

std::string missing_external(hid_t create) {
  const int count =
      std::getenv("HDF5_EXTFILE_PREFIX") == nullptr ? H5Pget_external_count(create) : 0;
  for (int i = 0; i < count; ++i) {
    std::string name(4096, '\0');
    H5Pget_external(create, static_cast<unsigned>(i), name.size(), name.data(), nullptr, nullptr);
    name.resize(std::min(name.find('\0'), name.size()));
    if (!leads_to_file(name)) return name;
  }
  return {};
}

// Where the data lies: directly readable if contiguous, in this file, in this machine's form.
void add_storage(hid_t dataset, hid_t type, const std::string& path, FileIndex& index,
                 FileIndex::Entry& entry) {
  const Hdf5Handle create(H5Dget_create_plist(dataset), H5Pclose, "dataset creation list");
  switch (H5Pget_layout(create.id())) {
    case H5D_VIRTUAL:
      return add_sources(create.id(), path, index, entry);
    case H5D_CHUNKED: {
      hsize_t chunk[max_dims] = {};
      const int dims = H5Pget_chunk(create.id(), max_dims, chunk);
      entry.chunk.assign(chunk, chunk + std::max(dims, 0));
      return;
    }
    case H5D_CONTIGUOUS:
      break;
    default:
      return;
  }
  entry.missing = missing_external(create.id());
  if (H5Pget_external_count(create.id()) != 0) return;
  if (!is_native(type, entry.type)) return;
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset != HADDR_UNDEF) entry.offset = static_cast<std::ptrdiff_t>(offset);
}

// The netCDF-4 library writes a dimension without a coordinate as a scale that says so.
bool is_only_dimension(hid_t scale) {
  std::string name(64, '\0');
  H5DSget_scale_name(scale, name.data(), name.size());
  return name.starts_with("This is a netCDF dimension but not a netCDF variable");
}

// Whether all headers carry checksums of HDF5, as in files of 1.10 and later: then a version that
// the library does not know is no damage.
bool has_checked_headers(hid_t file) {
  H5F_info2_t info{};
  return H5Fget_info2(file, &info) >= 0 && info.super.version >= 3;
}

class Datasets {
 public:
  Datasets(hid_t file, const std::string& path, FileIndex& index)
      : file_(file), path_(path), index_(index) {
    auto linked = walk_links(file, path);
    for (const auto& dataset : linked.datasets) add(dataset);
    for (const auto& dead : linked.dead) refuse(dead.name, dead.why);
    index.aliases = std::move(linked.aliases);
  }

 private:
  void add(const LinkedObjects::Dataset& dataset) {
    try {
      add_entry(dataset.name, dataset.in_this_file);
    } catch (const Error& error) {
      // The others may be good. If it is one of ours, the checksum tables miss it.
      const bool damaged = error.code() != Errc::invalid_input || !has_checked_headers(file_);
      index_.refused.push_back(
          {dataset.name,
           damaged ? fmt::format("is damaged, or of a format that this HDF5 library does not know "
                                 "({})",
                                 error.what())
                   : fmt::format("cannot be read ({})", error.what()),
           damaged});
    }
  }
  void refuse(const std::string& name, const std::string& why) {
    index_.refused.push_back({name, why, false});
  }
  void add_entry(const std::string& name, bool in_this_file) {
    const Hdf5Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose, "open " + name);
    const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose, "type of " + name);
    const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, "space of " + name);
    const auto item = item_type_of(type.id());
    const int num_dims = H5Sget_simple_extent_ndims(space.id());
    if (!item) {
      return refuse(
          name, fmt::format("holds {}; only integers, floating-point and complex numbers are read",
                            describe_items(type.id())));
    }
    if (num_dims > max_dims) {
      return refuse(name,
                    fmt::format("has {} dimensions; at most {} are supported", num_dims, max_dims));
    }
    if (H5Sget_simple_extent_type(space.id()) == H5S_NULL) return refuse(name, "holds nothing");
    hsize_t extents[max_dims] = {1};
    H5Sget_simple_extent_dims(space.id(), extents, nullptr);
    FileIndex::Entry entry;
    entry.name = name;
    entry.type = *item;
    entry.extents.assign(extents, extents + std::max(num_dims, 1));
    add_storage(dataset.id(), type.id(), path_, index_, entry);
    if (!in_this_file) entry.offset = -1;
    entry.scale = H5DSis_scale(dataset.id()) > 0;
    entry.only_dimension = entry.scale && is_only_dimension(dataset.id());
    index_.entries.push_back(std::move(entry));
  }

  hid_t file_;
  const std::string& path_;
  FileIndex& index_;
};

}  // namespace

Box whole_box(const FileIndex::Entry& entry) {
  Box box{static_cast<int>(entry.extents.size()), {}, {}};
  std::ranges::copy(entry.extents, box.extents.begin());
  return box;
}

Box box_of(const BoxRow& row, int num_dims) {
  Box box{num_dims, {}, {}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(num_dims); ++d) {
    box.start[d] = static_cast<std::ptrdiff_t>(row.start[d]);
    box.extents[d] = static_cast<std::ptrdiff_t>(row.extents[d]);
  }
  return box;
}

FileIndex index_file(const std::string& path) {
  require_unlocked(path);   // what a writer holds open need not be whole
  check_header_seal(path);  // before HDF5 meets what may be damaged
  const QuietHdf5 quiet;
  const auto file = open_hdf5_file(path);
  FileIndex index;
  try {
    const Datasets datasets(file.id(), path, index);
    index.attributes = read_attributes(file.id());
    add_checksums(file.id(), index);
    std::ranges::sort(index.sources);
    const auto repeated = std::ranges::unique(index.sources);
    index.sources.erase(repeated.begin(), repeated.end());
  } catch (const Error& error) {
    if (error.code() == Errc::invalid_input && has_checked_headers(file.id())) {
      throw Error(error.code(), fmt::format("{}: {}", path, error.what()));
    }
    throw Error(Errc::corrupt, fmt::format("{} is damaged: {}", path, error.what()));
  } catch (const std::exception& error) {  // more items than fit the memory
    throw Error(Errc::corrupt, fmt::format("{} is damaged: {}", path, error.what()));
  }
  return index;
}

template <class Bytes>
static void travel(Bytes& bytes, FileIndex::Part& part) {
  bytes(part.box, part.file, part.dataset);
}

template <class Bytes>
static void travel(Bytes& bytes, FileIndex::Entry& entry) {
  bytes(entry.name, entry.type, entry.extents, entry.offset, entry.chunk, entry.scale,
        entry.only_dimension, entry.missing, entry.parts, entry.pieces, entry.boxes);
}

template <class Bytes>
static void travel(Bytes& bytes, FileIndex::Refused& refused) {
  bytes(refused.name, refused.why, refused.damaged);
}

FileIndex agreed_index(const Comm& comm, const std::string& path) {
  FileIndex index;
  run_agreed(comm.raw(), [&] {
    if (comm.rank() == 0) index = index_file(path);
  });
  broadcast_values(comm, index.entries, index.refused, index.aliases, index.attributes.values,
                   index.attributes.refused);
  return index;
}

}  // namespace tailrace::store
