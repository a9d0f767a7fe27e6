// SPDX-License-Identifier: BSD-3-Clause
#include "store/file_index.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <hdf5_hl.h>

#include "store/hdf5_handle.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

Hdf5Handle open_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    throw Error(Errc::io,
                fmt::format("cannot open {}: {} (errno {})", path, std::strerror(errno), errno),
                errno);
  }
  close(fd);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) {
    throw Error(Errc::corrupt, fmt::format("{} is not a whole HDF5 file (damaged, cut short, or of "
                                           "another format)",
                                           path));
  }
  return {file, H5Fclose, path};
}

std::optional<ItemType> item_type(hid_t type) {
  const auto kind = H5Tget_class(type);
  const auto size = H5Tget_size(type);
  if (kind == H5T_FLOAT && size == 4) return ItemType::float32;
  if (kind == H5T_FLOAT && size == 8) return ItemType::float64;
  if (kind == H5T_INTEGER && size == 4) return ItemType::int32;
  if (kind == H5T_INTEGER && size == 8) return ItemType::int64;
  return std::nullopt;
}

// Where the bytes can be read without HDF5: contiguous, in this file, in this machine's form.
std::ptrdiff_t plain_offset(hid_t dataset, hid_t type, ItemType item) {
  const Hdf5Handle create(H5Dget_create_plist(dataset), H5Pclose, "dataset creation list");
  if (H5Pget_layout(create.id()) != H5D_CONTIGUOUS || H5Pget_external_count(create.id()) != 0 ||
      H5Tequal(type, native_type(item)) <= 0) {
    return -1;
  }
  const haddr_t offset = H5Dget_offset(dataset);
  return offset == HADDR_UNDEF ? -1 : static_cast<std::ptrdiff_t>(offset);
}

void add_entry(hid_t file, const std::string& name, FileIndex& index) {
  const Hdf5Handle dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "open " + name);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose, "type of " + name);
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, "space of " + name);
  const auto item = item_type(type.id());
  const int num_dims = H5Sget_simple_extent_ndims(space.id());
  if (!item || num_dims < 1 || num_dims > max_dims) return;
  hsize_t extents[max_dims] = {};
  H5Sget_simple_extent_dims(space.id(), extents, nullptr);
  FileIndex::Entry entry;
  entry.name = name;
  entry.type = *item;
  entry.extents.assign(extents, extents + num_dims);
  entry.offset = plain_offset(dataset.id(), type.id(), *item);
  entry.scale = H5DSis_scale(dataset.id()) > 0;
  if (entry.scale && num_dims == 1) {
    entry.values.resize(static_cast<std::size_t>(extents[0]));
    check_hdf5(H5Dread(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                       entry.values.data()),
               "read " + name);
  }
  index.entries.push_back(std::move(entry));
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t* info, void* names) {
  if (info->type == H5L_TYPE_HARD)
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

void add_entries(hid_t file, FileIndex& index) {
  std::vector<std::string> names;
  check_hdf5(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names), "list");
  for (const auto& name : names) {
    H5O_info_t info{};
    check_hdf5(H5Oget_info_by_name2(file, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT),
               "look at " + name);
    if (info.type == H5O_TYPE_DATASET) add_entry(file, name, index);
  }
}

void add_pieces(hid_t file, FileIndex& index) {
  if (H5Lexists(file, "tailrace", H5P_DEFAULT) <= 0 ||
      H5Lexists(file, "tailrace/checksums", H5P_DEFAULT) <= 0) {
    return;
  }
  const Hdf5Handle table(H5Dopen2(file, "tailrace/checksums", H5P_DEFAULT), H5Dclose, "checksums");
  const Hdf5Handle space(H5Dget_space(table.id()), H5Sclose, "space of checksums");
  std::vector<ChecksumRow> rows(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id())) /
                                4);
  if (rows.empty()) return;
  check_hdf5(H5Dread(table.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()),
             "read checksums");
  std::vector<std::string> names;
  for (const auto& [name, value] : read_attributes(table.id())) {
    if (name != "variables") continue;
    std::istringstream lines(std::get<std::string>(value));
    for (std::string line; std::getline(lines, line);) names.push_back(line);
  }
  for (const auto& row : rows) {
    if (row.variable >= names.size()) throw Error(Errc::corrupt, "its checksum table is damaged");
    for (auto& entry : index.entries) {
      if (entry.name == names[row.variable]) entry.pieces.push_back(row);
    }
  }
}

// The pieces of each variable must cover it without gap, or the table cannot be trusted.
void check_pieces(const FileIndex& index) {
  for (const auto& entry : index.entries) {
    if (entry.pieces.empty()) continue;
    auto bytes = static_cast<std::uint64_t>(item_bytes(entry.type));
    for (const auto extent : entry.extents) bytes *= static_cast<std::uint64_t>(extent);
    std::uint64_t at = 0;
    for (const auto& piece : entry.pieces) {
      if (piece.offset != at || piece.bytes == 0) break;
      at += piece.bytes;
    }
    if (at != bytes) {
      throw Error(Errc::corrupt,
                  fmt::format("its checksum table is damaged at byte {} of {}", at, entry.name));
    }
  }
}

/// Plain values to bytes and back, in one order for both: `visit` names each value once.
class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void operator()(T& value) { raw(&value, sizeof(T)); }
  void operator()(std::string& text) { items(text); }
  template <class T>
  void operator()(std::vector<T>& values) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      items(values);
    } else {
      auto count = values.size();
      (*this)(count);
      values.resize(count);
      for (auto& value : values) visit(value);
    }
  }
  void visit(FileIndex::Entry& entry) {
    (*this)(entry.name);
    (*this)(entry.type);
    (*this)(entry.extents);
    (*this)(entry.offset);
    (*this)(entry.scale);
    (*this)(entry.values);
    (*this)(entry.pieces);
  }
  void visit(std::pair<std::string, AttributeValue>& attribute) {
    (*this)(attribute.first);
    auto kind = attribute.second.index();
    (*this)(kind);
    if (unpacking) {
      if (kind == 0) attribute.second = std::int64_t{};
      if (kind == 1) attribute.second = double{};
      if (kind == 2) attribute.second = std::string{};
      if (kind == 3) attribute.second = std::vector<double>{};
    }
    std::visit([this](auto& value) { (*this)(value); }, attribute.second);
  }
  std::vector<char> bytes;
  bool unpacking = false;

 private:
  template <class Container>
  void items(Container& values) {
    auto count = values.size();
    (*this)(count);
    values.resize(count);
    raw(values.data(), count * sizeof(values[0]));
  }
  void raw(void* value, std::size_t count) {
    if (count == 0) return;
    if (unpacking) {
      std::memcpy(value, bytes.data() + at_, count);
      at_ += count;
    } else {
      const auto* from = static_cast<const char*>(value);
      bytes.insert(bytes.end(), from, from + count);
    }
  }
  std::size_t at_ = 0;
};

}  // namespace

FileIndex index_file(const std::string& path) {
  const QuietHdf5 quiet;
  const auto file = open_file(path);
  FileIndex index;
  try {
    add_entries(file.id(), index);
    index.attributes = read_attributes(file.id());
    add_pieces(file.id(), index);
    check_pieces(index);
  } catch (const Error& error) {
    throw Error(Errc::corrupt, fmt::format("{} is damaged: {}", path, error.what()));
  }
  return index;
}

void share_index(const Comm& comm, FileIndex& index) {
  Packer packer;
  if (comm.rank() == 0) {
    packer(index.entries);
    packer(index.attributes);
  }
  auto count = static_cast<std::ptrdiff_t>(packer.bytes.size());
  check_mpi(MPI_Bcast(&count, 1, MPI_AINT, 0, comm.raw()));
  packer.bytes.resize(static_cast<std::size_t>(count));
  check_mpi(MPI_Bcast(packer.bytes.data(), to_int(count), MPI_CHAR, 0, comm.raw()));
  if (comm.rank() == 0) return;
  packer.unpacking = true;
  packer(index.entries);
  packer(index.attributes);
}

void read_dataset(const std::string& path, const std::string& name, ItemType type, void* data) {
  const QuietHdf5 quiet;
  const auto file = open_file(path);
  const Hdf5Handle dataset(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose,
                           "open " + name);
  if (H5Dread(dataset.id(), native_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
    throw Error(Errc::corrupt, fmt::format("{}: dataset {} cannot be read", path, name));
  }
}

}  // namespace tailrace::store
