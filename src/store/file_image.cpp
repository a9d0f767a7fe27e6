// SPDX-License-Identifier: BSD-3-Clause
// HDF5 writes the metadata into a sparse file in memory (/dev/shm). The datasets' space is
// allocated early but never written, so it stays a hole; what is not a hole is the metadata.
#include "store/file_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5_hl.h>
#include <xxhash.h>

#include "store/hdf5_handle.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

/// A file without a lasting name, in memory where /dev/shm exists.
class MemoryFile {
 public:
  MemoryFile() {
    for (const char* folder : {"/dev/shm", "/tmp", "."}) {
      path_ = fmt::format("{}/tailrace_metadata_XXXXXX", folder);
      fd_ = mkostemp(path_.data(), O_CLOEXEC);
      if (fd_ >= 0) return;
    }
    throw Error(Errc::io, "cannot make a file in /dev/shm, /tmp or the working folder", errno);
  }
  ~MemoryFile() {
    remove();
    close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  /// Takes the name away; what is open stays open.
  void remove() {
    if (!path_.empty()) unlink(path_.c_str());
    path_.clear();
  }

 private:
  std::string path_;
  int fd_ = -1;
};

// Orders of creation, as netCDF-4 wants them, and no times: equal contents give equal bytes.
void set_object_options(hid_t create) {
  const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  check_hdf5(H5Pset_attr_creation_order(create, order), "set attribute order");
  check_hdf5(H5Pset_obj_track_times(create, false), "set times");
}

Hdf5Handle create_file(const std::string& path, std::ptrdiff_t stripe_bytes) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file access list");
  const auto alignment = static_cast<hsize_t>(stripe_bytes > 0 ? stripe_bytes : 4096);
  check_hdf5(H5Pset_alignment(access.id(), alignment, alignment), "set alignment");
  // Version 1.8 of the format: headers carry checksums, and every reader of today knows it.
  check_hdf5(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_V18), "set version");
  const Hdf5Handle create(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "file creation list");
  set_object_options(create.id());
  const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  check_hdf5(H5Pset_link_creation_order(create.id(), order), "set link order");
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, create.id(), access.id()), H5Fclose,
          "create the file image"};
}

struct Space {
  std::vector<hsize_t> extents;
  hid_t type = H5T_NATIVE_DOUBLE;
};

// A contiguous dataset whose space exists from the start (`early`) and is never filled.
Hdf5Handle create_dataset(hid_t parent, const std::string& name, const Space& shape, bool early) {
  const Hdf5Handle space(
      H5Screate_simple(static_cast<int>(shape.extents.size()), shape.extents.data(), nullptr),
      H5Sclose, "space of " + name);
  const Hdf5Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "dataset creation list");
  check_hdf5(H5Pset_layout(create.id(), H5D_CONTIGUOUS), "set layout");
  check_hdf5(H5Pset_alloc_time(create.id(), early ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE),
             "set allocation time");
  check_hdf5(H5Pset_fill_time(create.id(), H5D_FILL_TIME_NEVER), "set fill time");
  set_object_options(create.id());
  return {H5Dcreate2(parent, name.c_str(), shape.type, space.id(), H5P_DEFAULT, create.id(),
                     H5P_DEFAULT),
          H5Dclose, "create dataset " + name};
}

std::ptrdiff_t data_offset(hid_t dataset) {
  const haddr_t offset = H5Dget_offset(dataset);
  return offset == HADDR_UNDEF ? -1 : static_cast<std::ptrdiff_t>(offset);
}

using Scales = std::map<std::string, Hdf5Handle>;

void add_coordinates(hid_t file, const FileContents& contents, Scales& scales) {
  for (const auto& coordinate : contents.coordinates) {
    auto dataset = create_dataset(file, coordinate.name, {{coordinate.values.size()}}, false);
    if (!coordinate.values.empty()) {
      check_hdf5(H5Dwrite(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                          coordinate.values.data()),
                 "write coordinate " + coordinate.name);
    }
    check_hdf5(H5DSset_scale(dataset.id(), coordinate.name.c_str()), "scale " + coordinate.name);
    write_attributes(dataset.id(), coordinate.attributes);
    scales.emplace(coordinate.name, std::move(dataset));
  }
}

// A dimension without a coordinate, as the netCDF-4 library writes it.
hid_t bare_scale(hid_t file, const std::string& name, hsize_t extent, Scales& scales) {
  auto dataset = create_dataset(file, name, {{extent}, H5T_IEEE_F32BE}, false);
  const auto text =
      fmt::format("This is a netCDF dimension but not a netCDF variable.{:10d}", extent);
  check_hdf5(H5DSset_scale(dataset.id(), text.c_str()), "scale " + name);
  return scales.emplace(name, std::move(dataset)).first->second.id();
}

std::ptrdiff_t add_variable(hid_t file, const Variable& variable, Scales& scales) {
  Space shape{{}, native_type(variable.type)};
  for (std::size_t d = 0; d < variable.dims.size(); ++d) {
    shape.extents.push_back(static_cast<hsize_t>(variable.layout->global_extents()[d]));
  }
  const auto dataset = create_dataset(file, variable.name, shape, true);
  for (std::size_t d = 0; d < variable.dims.size(); ++d) {
    const auto found = scales.find(variable.dims[d]);
    const hid_t scale = found != scales.end()
                            ? found->second.id()
                            : bare_scale(file, variable.dims[d], shape.extents[d], scales);
    check_hdf5(H5DSattach_scale(dataset.id(), scale, static_cast<unsigned>(d)),
               "attach dimension " + variable.dims[d]);
  }
  write_attributes(dataset.id(), variable.attributes);
  return data_offset(dataset.id());
}

// In a group of its own, as readers of netCDF files look at the root group.
std::ptrdiff_t add_table(hid_t file, const FileContents& contents, std::ptrdiff_t rows) {
  const Hdf5Handle create(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "group creation list");
  set_object_options(create.id());
  const Hdf5Handle group(H5Gcreate2(file, "tailrace", H5P_DEFAULT, create.id(), H5P_DEFAULT),
                         H5Gclose, "create group tailrace");
  const auto table = create_dataset(group.id(), "checksums",
                                    {{static_cast<hsize_t>(rows + 1), 4}, H5T_NATIVE_UINT64}, true);
  std::string names;
  for (const auto& variable : contents.variables) names += variable.name + "\n";
  write_attributes(table.id(),
                   {{"variables", names}, {"columns", "variable,offset_bytes,bytes,xxh3_64"}});
  return data_offset(table.id());
}

struct FileRange {
  std::ptrdiff_t start;
  std::ptrdiff_t end;
};

void take_range(int fd, FileRange range, FileImage& image) {
  if (range.start >= range.end) return;
  const auto count = range.end - range.start;
  const auto place = image.bytes.size();
  image.bytes.resize(place + static_cast<std::size_t>(count));
  if (pread(fd, image.bytes.data() + place, static_cast<std::size_t>(count), range.start) !=
      count) {
    throw Error(Errc::io, "cannot read the file image", errno);
  }
  image.extents.push_back({range.start, static_cast<std::ptrdiff_t>(place), count});
}

// Copies what is neither a hole nor in `data` (ascending): other ranks write there.
void take_metadata(int fd, std::span<const FileRange> data, FileImage& image) {
  struct stat status {};
  if (fstat(fd, &status) != 0) throw Error(Errc::io, "cannot stat the file image", errno);
  image.total_bytes = status.st_size;
  for (off_t at = 0; at < status.st_size;) {
    const off_t start = lseek(fd, at, SEEK_DATA);
    if (start < 0) break;  // ENXIO: only holes from here on
    const off_t end = std::min<off_t>(lseek(fd, start, SEEK_HOLE), status.st_size);
    std::ptrdiff_t from = start;
    for (const auto& range : data) {
      if (range.end <= from || range.start >= end) continue;
      take_range(fd, {from, range.start}, image);
      from = range.end;
    }
    take_range(fd, {from, end}, image);
    at = end;
  }
}

std::vector<FileRange> data_ranges(const FileContents& contents, std::ptrdiff_t table_rows,
                                   const FileImage& image) {
  std::vector<FileRange> ranges;
  for (std::size_t v = 0; v < contents.variables.size(); ++v) {
    const auto& variable = contents.variables[v];
    const Box whole{variable.layout->num_dims(), {}, variable.layout->global_extents()};
    const auto start = image.data_offsets[v];
    if (start >= 0) {
      ranges.push_back({start, start + whole.num_items() * item_bytes(variable.type)});
    }
  }
  if (image.table_offset >= 0) {
    const auto bytes = (table_rows + 1) * static_cast<std::ptrdiff_t>(sizeof(ChecksumRow));
    ranges.push_back({image.table_offset, image.table_offset + bytes});
  }
  std::ranges::sort(ranges, {}, &FileRange::start);
  return ranges;
}

/// XXH3 of bytes that come piece by piece.
class Hash {
 public:
  Hash() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~Hash() { XXH3_freeState(state_); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  void add(const std::byte* data, std::ptrdiff_t bytes) {
    XXH3_64bits_update(state_, data, static_cast<std::size_t>(bytes));
    bytes_ += bytes;
  }
  void add_zeros(std::ptrdiff_t bytes) {
    static const std::array<std::byte, 1 << 16> zeros{};
    for (; bytes > 0; bytes -= std::ssize(zeros))
      add(zeros.data(), std::min(bytes, std::ssize(zeros)));
  }
  std::ptrdiff_t bytes() const { return bytes_; }
  std::uint64_t value() const { return XXH3_64bits_digest(state_); }

 private:
  XXH3_state_t* state_;
  std::ptrdiff_t bytes_ = 0;
};

// The last row of the table stands for all that is not in `data` (ascending), holes included.
void add_header_row(std::span<const FileRange> data, std::ptrdiff_t table_rows,
                    std::size_t num_variables, FileImage& image) {
  Hash hash;
  auto extent = image.extents.begin();
  const auto add_until = [&](std::ptrdiff_t from, std::ptrdiff_t end) {
    for (; extent != image.extents.end() && extent->file_offset < end; ++extent) {
      hash.add_zeros(extent->file_offset - from);
      hash.add(image.bytes.data() + extent->start, extent->count);
      from = extent->file_offset + extent->count;
    }
    hash.add_zeros(end - from);
  };
  std::ptrdiff_t at = 0;
  for (const auto& range : data) {
    add_until(at, range.start);
    at = range.end;
  }
  add_until(at, image.total_bytes);
  const ChecksumRow row{num_variables, 0, static_cast<std::uint64_t>(hash.bytes()), hash.value()};
  const auto bytes = static_cast<std::ptrdiff_t>(sizeof(row));
  const auto place = image.bytes.size();
  image.bytes.resize(place + sizeof(row));
  std::memcpy(image.bytes.data() + place, &row, sizeof(row));
  image.extents.push_back(
      {image.table_offset + table_rows * bytes, static_cast<std::ptrdiff_t>(place), bytes});
}

}  // namespace

void build_image(const FileContents& contents, std::ptrdiff_t stripe_bytes,
                 std::ptrdiff_t table_rows, FileImage& image) {
  image.extents.clear();
  image.bytes.clear();
  image.data_offsets.clear();
  image.table_offset = -1;
  const QuietHdf5 quiet;
  MemoryFile memory;
  {
    const auto file = create_file(memory.path(), stripe_bytes);
    memory.remove();
    Scales scales;
    add_coordinates(file.id(), contents, scales);
    if (table_rows >= 0) image.table_offset = add_table(file.id(), contents, table_rows);
    for (const auto& variable : contents.variables) {
      image.data_offsets.push_back(add_variable(file.id(), variable, scales));
    }
    write_attributes(file.id(), contents.attributes);
    check_hdf5(H5Fflush(file.id(), H5F_SCOPE_LOCAL), "flush the file image");
  }
  const auto data = data_ranges(contents, table_rows, image);
  take_metadata(memory.fd(), data, image);
  if (image.table_offset >= 0) {
    add_header_row(data, table_rows, contents.variables.size(), image);
  }
}

}  // namespace tailrace::store
