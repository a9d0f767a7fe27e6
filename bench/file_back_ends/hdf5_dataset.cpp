// SPDX-License-Identifier: BSD-3-Clause
#include "file_back_ends/hdf5_dataset.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>

#include <fmt/format.h>

#include "layout/run_boxes.hpp"
#include "tailrace/error.hpp"

namespace tailrace::file {
namespace {

constexpr const char* place_attribute = "first_byte";

// The name of the array's items is not known here, only their width.
Hdf5Id item_type(std::ptrdiff_t bytes, const std::string& path) {
  const auto copy = [&](hid_t type) { return Hdf5Id(H5Tcopy(type), H5Tclose, "type", path); };
  switch (bytes) {
    case 1:
      return copy(H5T_NATIVE_UINT8);
    case 2:
      return copy(H5T_NATIVE_UINT16);
    case 4:
      return copy(H5T_NATIVE_FLOAT);
    case 8:
      return copy(H5T_NATIVE_DOUBLE);
    default:
      return {H5Tcreate(H5T_OPAQUE, static_cast<std::size_t>(bytes)), H5Tclose, "type", path};
  }
}

// Equal pieces at equal distances.
struct Comb {
  std::ptrdiff_t start = 0, length = 0, step = 0, count = 1;
  bool takes(std::ptrdiff_t next, std::ptrdiff_t next_length) {
    if (next_length != length || (count > 1 && next != start + count * step)) return false;
    step = next - start - (count - 1) * step;
    ++count;
    return true;
  }
};

void add_comb(hid_t space, const Comb& comb, bool first) {
  const auto start = static_cast<hsize_t>(comb.start);
  const auto step = static_cast<hsize_t>(comb.count > 1 ? comb.step : comb.length);
  const auto count = static_cast<hsize_t>(comb.count);
  const auto length = static_cast<hsize_t>(comb.length);
  H5Sselect_hyperslab(space, first ? H5S_SELECT_SET : H5S_SELECT_OR, &start, &step, &count,
                      &length);
}

void add_box(hid_t space, const Box& box, bool first) {
  std::array<hsize_t, max_dims> start{}, extents{};
  std::ranges::copy(box.start, start.begin());
  std::ranges::copy(box.extents, extents.begin());
  H5Sselect_hyperslab(space, first ? H5S_SELECT_SET : H5S_SELECT_OR, start.data(), nullptr,
                      extents.data(), nullptr);
}

herr_t last_cause(unsigned, const H5E_error2_t* error, void* text) {
  auto& cause = *static_cast<std::string*>(text);
  cause = fmt::format("{} (in {})", error->desc != nullptr ? error->desc : "?", error->func_name);
  return 0;
}

}  // namespace

void fail_hdf5(const char* doing, const std::string& path) {
  std::string cause = "no reason given";
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* text) {
        return n == 0 ? last_cause(n, error, text) : 0;
      },
      &cause);
  const int error = errno != 0 ? errno : EIO;
  throw Error(Errc::io, fmt::format("cannot {} {}: HDF5 says \"{}\"", doing, path, cause), error);
}

Hdf5Id::Hdf5Id(hid_t id, Close close, const char* doing, const std::string& path)
    : id_(id), close_(close) {
  if (id_ < 0) fail_hdf5(doing, path);
}

Hdf5Dataset::Hdf5Dataset(Hdf5Id set, Hdf5Id type, FileArray array, std::string path)
    : set_(std::move(set)),
      type_(std::move(type)),
      array_(std::move(array)),
      path_(std::move(path)) {
  bytes_ = std::accumulate(array_.extents.begin(), array_.extents.end(), array_.item_bytes,
                           std::multiplies<>());
}

Hdf5Dataset Hdf5Dataset::create(hid_t file, const std::string& path, const FileArray& array,
                                bool first_of_file) {
  const std::vector<hsize_t> extents(array.extents.begin(), array.extents.end());
  const Hdf5Id space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                     H5Sclose, "shape a dataset of", path);
  const Hdf5Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "write", path);
  H5Pset_alloc_time(list.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(list.id(), H5D_FILL_TIME_NEVER);
  auto type = item_type(array.item_bytes, path);
  const auto name = first_of_file ? std::string("data") : fmt::format("data_{}", array.offset);
  Hdf5Id set(
      H5Dcreate2(file, name.c_str(), type.id(), space.id(), H5P_DEFAULT, list.id(), H5P_DEFAULT),
      H5Dclose, "make a dataset in", path);
  const Hdf5Id scalar(H5Screate(H5S_SCALAR), H5Sclose, "write", path);
  const Hdf5Id place(H5Acreate2(set.id(), place_attribute, H5T_NATIVE_INT64, scalar.id(),
                                H5P_DEFAULT, H5P_DEFAULT),
                     H5Aclose, "write", path);
  const auto first_byte = static_cast<std::int64_t>(array.offset);
  if (H5Awrite(place.id(), H5T_NATIVE_INT64, &first_byte) < 0) fail_hdf5("write", path);
  return {std::move(set), std::move(type), array, path};
}

Hdf5Dataset Hdf5Dataset::open(hid_t file, const std::string& path, const std::string& name) {
  Hdf5Id set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "read", path);
  Hdf5Id type(H5Dget_type(set.id()), H5Tclose, "read", path);
  const Hdf5Id space(H5Dget_space(set.id()), H5Sclose, "read", path);
  FileArray array;
  array.item_bytes = static_cast<std::ptrdiff_t>(H5Tget_size(type.id()));
  const int num_dims = H5Sget_simple_extent_ndims(space.id());
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(num_dims, 0)));
  H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr);
  array.extents.assign(extents.begin(), extents.end());
  if (H5Aexists(set.id(), place_attribute) > 0) {
    const Hdf5Id place(H5Aopen(set.id(), place_attribute, H5P_DEFAULT), H5Aclose, "read", path);
    std::int64_t first_byte = 0;
    if (H5Aread(place.id(), H5T_NATIVE_INT64, &first_byte) < 0) fail_hdf5("read", path);
    array.offset = first_byte;
  }
  return {std::move(set), std::move(type), std::move(array), path};
}

std::ptrdiff_t Hdf5Dataset::select_boxes(hid_t space, std::span<const Box> boxes) const {
  std::ptrdiff_t items = 0;
  for (const auto& box : boxes) {
    if (box.empty()) continue;
    add_box(space, box, items == 0);
    items += box.num_items();
  }
  return items * array_.item_bytes;
}

// Runs of bytes. In a one-dimensional dataset, equal ones at equal distances are one hyperslab:
// HDF5's own joining of many takes time that grows with their square.
std::ptrdiff_t Hdf5Dataset::select_runs(hid_t space, std::span<const Segment> segments) const {
  Index extents{};
  std::ranges::copy(array_.extents, extents.begin());
  const auto num_dims = static_cast<int>(array_.extents.size());
  std::ptrdiff_t bytes = 0;
  Comb comb;
  bool first = true;
  for (const auto& segment : segments) {
    const auto from = std::max(segment.file_offset, first_byte()) - first_byte();
    const auto to = std::min(segment.file_end(), end()) - first_byte();
    if (from >= to) continue;
    if (from % array_.item_bytes != 0 || to % array_.item_bytes != 0) {
      throw Error(Errc::invalid_input,
                  fmt::format("{}: bytes {} to {} cut items of {} bytes; with back end hdf5 access "
                              "whole items",
                              path_, first_byte() + from, first_byte() + to, array_.item_bytes));
    }
    bytes += to - from;
    const Range items{from / array_.item_bytes, (to - from) / array_.item_bytes};
    if (num_dims > 1) {
      for (const auto& box : boxes_of_run(num_dims, extents, items)) {
        add_box(space, box, first);
        first = false;
      }
    } else if (comb.length == 0) {
      comb = {items.start, items.count, 0, 1};
    } else if (!comb.takes(items.start, items.count)) {
      add_comb(space, comb, first);
      first = false;
      comb = {items.start, items.count, 0, 1};
    }
  }
  if (comb.length > 0) add_comb(space, comb, first);
  return bytes;
}

Hdf5Dataset::Selection Hdf5Dataset::select(const FilePart* part,
                                           std::span<const Segment> segments) const {
  Selection selection{{H5Dget_space(set_.id()), H5Sclose, "select in", path_}, 0};
  const auto* array = part != nullptr && FilePart::Data::of(*part).array()
                          ? &*FilePart::Data::of(*part).array()
                          : nullptr;
  const bool same = array != nullptr && array->offset == array_.offset &&
                    array->extents == array_.extents && array->item_bytes == array_.item_bytes;
  // The union of several boxes in any order is now and then another selection in HDF5 1.10.8 (wrong
  // bytes, "addr overflow"); that of runs in ascending order has not been.
  const bool one_box = same && FilePart::Data::of(*part).boxes().size() == 1;
  selection.bytes = one_box ? select_boxes(selection.space.id(), FilePart::Data::of(*part).boxes())
                            : select_runs(selection.space.id(), segments);
  if (selection.bytes == 0) H5Sselect_none(selection.space.id());
  return selection;
}

std::vector<Segment> Hdf5Dataset::places(std::span<const Segment> segments) const {
  const haddr_t address = H5Dget_offset(set_.id());
  if (address == HADDR_UNDEF) fail_hdf5("find data in", path_);
  const auto shift = static_cast<std::ptrdiff_t>(address) - first_byte();
  std::vector<Segment> found;
  std::ptrdiff_t dense = 0;
  for (const auto& segment : segments) {
    const auto from = std::max(segment.file_offset, first_byte());
    const auto bytes = std::min(segment.file_end(), end()) - from;
    if (bytes <= 0) continue;
    found.push_back({from + shift, dense, bytes});
    dense += bytes;
  }
  return found;
}

void Hdf5Dataset::transfer(const Selection& selection, std::byte* memory, bool writing,
                           hid_t list) const {
  const auto items = static_cast<hsize_t>(selection.bytes / array_.item_bytes);
  const Hdf5Id dense(H5Screate_simple(1, &items, nullptr), H5Sclose, "access", path_);
  if (items == 0) H5Sselect_none(dense.id());
  errno = 0;
  const auto status =
      writing ? H5Dwrite(set_.id(), type_.id(), dense.id(), selection.space.id(), list, memory)
              : H5Dread(set_.id(), type_.id(), dense.id(), selection.space.id(), list, memory);
  if (status < 0) fail_hdf5(writing ? "write" : "read", path_);
}

}  // namespace tailrace::file
