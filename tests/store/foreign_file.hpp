// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <hdf5.h>

#include "store/hdf5_handle.hpp"

namespace tailrace::store_test {

/// An HDF5 file as other programs write them, on one rank.
class ForeignFile {
 public:
  explicit ForeignFile(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path) {}
  hid_t id() const { return file_.id(); }

  using Setup = std::function<void(hid_t create)>;
  /// A dataset of `type`, its creation list changed by `setup`; not yet written.
  store::Hdf5Handle make(const std::string& name, hid_t type, std::vector<hsize_t> extents,
                         const Setup& setup = {}) const {
    const store::Hdf5Handle space(
        extents.empty()
            ? H5Screate(H5S_SCALAR)
            : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
        H5Sclose, "space");
    const store::Hdf5Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "list");
    const store::Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "links");
    H5Pset_create_intermediate_group(links.id(), 1);
    if (setup) setup(create.id());
    return {H5Dcreate2(file_.id(), name.c_str(), type, space.id(), links.id(), create.id(),
                       H5P_DEFAULT),
            H5Dclose, name};
  }
  /// Item i of the dataset is `first + i`.
  void fill(const store::Hdf5Handle& dataset, double first = 0) const {
    const store::Hdf5Handle space(H5Dget_space(dataset.id()), H5Sclose, "space");
    std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.id())));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i);
    store::check_hdf5(
        H5Dwrite(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
        "write");
  }

 private:
  store::Hdf5Handle file_;
};

/// Chunks of `extents`, shuffled and deflated.
inline ForeignFile::Setup packed(std::vector<hsize_t> extents) {
  return [extents](hid_t create) {
    H5Pset_chunk(create, static_cast<int>(extents.size()), extents.data());
    H5Pset_shuffle(create);
    H5Pset_deflate(create, 4);
  };
}

}  // namespace tailrace::store_test
