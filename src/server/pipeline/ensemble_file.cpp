// SPDX-License-Identifier: BSD-3-Clause
#include "ensemble_file.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>
#include <unistd.h>

#include "core/descriptor.hpp"
#include "store/hdf5_handle.hpp"
#include "store/open_file.hpp"
#include "tailrace/error.hpp"

namespace tailrace::server {

namespace {

using store::Hdf5Handle;

/// Opens without HDF5's own lock: who has the lock of the ensemble is alone, but a job that was
/// killed just after it put the file in place may still be letting go of it.
Hdf5Handle open_unlocked(const std::string& path) {
#if H5_VERSION_GE(1, 10, 7)
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, path);
  store::check_hdf5(H5Pset_file_locking(access.id(), false, true), path);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id());
  if (file >= 0) return {file, H5Fclose, path};
#endif
  return store::open_hdf5_file(path);
}

Hdf5Handle open_dataset(const Hdf5Handle& file, const std::string& name, const std::string& path) {
  const bool there = H5Lexists(file.id(), name.c_str(), H5P_DEFAULT) > 0;
  if (!there) {
    throw Error(
        Errc::invalid_input,
        fmt::format("{} has no array {}: it is of another product; move it away", path, name));
  }
  return {H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose, path};
}

std::vector<std::ptrdiff_t> extents_of(const Hdf5Handle& dataset, const std::string& path) {
  const Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, path);
  const int dims = H5Sget_simple_extent_ndims(space.id());
  std::vector<hsize_t> extents(static_cast<std::size_t>(dims > 0 ? dims : 0));
  store::check_hdf5(H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr), path);
  return {extents.begin(), extents.end()};
}

std::int64_t offset_of(const Hdf5Handle& file, const std::string& name,
                       const std::vector<std::ptrdiff_t>& extents, const std::string& path) {
  const auto dataset = open_dataset(file, name, path);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose, path);
  const bool fits =
      H5Tequal(type.id(), H5T_NATIVE_DOUBLE) > 0 && extents_of(dataset, path) == extents;
  const auto offset = H5Dget_offset(dataset.id());
  if (!fits || offset == HADDR_UNDEF) {
    throw Error(Errc::invalid_input, fmt::format("{} in {} has not the extents {} of this job's",
                                                 name, path, fmt::join(extents, " x ")));
  }
  return static_cast<std::int64_t>(offset);
}

}  // namespace

EnsembleContents read_ensemble(const std::string& path, const std::vector<std::string>& names,
                               const std::vector<std::vector<std::ptrdiff_t>>& extents) {
  EnsembleContents contents;
  if (!std::filesystem::exists(path)) return contents;
  const std::lock_guard lock(store::hdf5_mutex());
  const store::QuietHdf5 quiet;
  const auto file = open_unlocked(path);
  const auto counted = open_dataset(file, "counted", path);
  const auto rows = extents_of(counted, path);
  contents.counted.resize(static_cast<std::size_t>(rows.empty() ? 0 : rows[0]));
  store::check_hdf5(H5Dread(counted.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                            contents.counted.data()),
                    path);
  for (std::size_t i = 0; i < names.size(); ++i) {
    contents.offsets.push_back(offset_of(file, names[i], extents[i], path));
  }
  return contents;
}

std::vector<double> read_values(const std::string& path, std::int64_t offset,
                                std::ptrdiff_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  const Descriptor file = open_descriptor(path, O_RDONLY);
  const auto bytes = count * static_cast<std::ptrdiff_t>(sizeof(double));
  const int error = file ? read_at(file.get(), values.data(), bytes, offset) : errno;
  if (error != 0) fail_io("read", path, error);
  return values;
}

}  // namespace tailrace::server
