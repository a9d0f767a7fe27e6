// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <hdf5.h>

#include "store/hdf5_handle.hpp"

namespace tailrace::store {

/// The dimension scales of a file that is being made: which dataset describes which axis of which
/// others. HDF5's own calls (H5DSattach_scale) read and rewrite the list of a scale for each
/// dataset that is added to it; here each list is written once, in the same types. All methods
/// throw `Errc::io` as `check_hdf5`. Local.
class DimensionScales {
 public:
  /// The dataset of dimension `name`, or nullptr.
  const Hdf5Handle* find(const std::string& name) const;
  /// Makes `dataset` the scale of dimension `name`; `title` is what HDF5 keeps as its name.
  void add(const std::string& name, Hdf5Handle dataset, const std::string& title);
  /// Notes in `dataset` that its axes are `dims`, each of which has a scale.
  void attach(hid_t dataset, const std::vector<std::string>& dims);
  /// HDF5 gives the scale `name` no scales for its axes. If it has several, `dims`, they are noted
  /// by numbers, as the netCDF-4 library does.
  void number_axes(const std::string& name, const std::vector<std::string>& dims);
  /// Writes into each scale where it is used. Last, once.
  void finish();

 private:
  struct Use {  // as HDF5 has it
    hobj_ref_t dataset;
    unsigned axis;
    unsigned unused = 0;  ///< equal contents give equal bytes
  };
  struct Scale {
    Hdf5Handle dataset;
    hobj_ref_t reference;
    std::int32_t number;  ///< in the order in which they were made
    std::vector<Use> uses;
  };
  std::map<std::string, Scale> scales_;
  std::vector<std::pair<std::string, std::vector<std::string>>> numbered_;  ///< name, dimensions
};

}  // namespace tailrace::store
