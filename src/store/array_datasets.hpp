// SPDX-License-Identifier: BSD-3-Clause
// The objects of our HDF5 files besides the large arrays: groups, coordinates, dimensions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <hdf5.h>

#include "store/attribute_values.hpp"
#include "store/dimension_scales.hpp"
#include "store/hdf5_handle.hpp"
#include "tailrace/more/file_contents.hpp"

namespace tailrace::store {

/// Orders of creation, as netCDF-4 wants them, and no times: equal contents give equal bytes.
void set_object_options(hid_t create);

/// `name` as that of a source of a virtual dataset, where HDF5 takes '%' for a pattern of numbers.
std::string source_name(const std::string& name);
/// Of the array of all ranks. Local.
std::vector<hsize_t> extents_of(const Variable& variable);
/// Whether `variable` has the name of its first axis. Local.
bool names_first_axis(const Variable& variable);
/// Of the extents. Throws `Errc::io`, as all of these. Local.
Hdf5Handle make_space(const std::vector<hsize_t>& extents, const std::string& name);

/// What a dataset holds.
struct ArrayShape {
  std::vector<hsize_t> extents;
  hid_t type = H5T_NATIVE_DOUBLE;  ///< not owned
  std::optional<ItemBytes> fill = {};
  bool any_length = false;  ///< of texts, for which HDF5 wants a fill value
};

/// The options of a dataset, without its layout. Local.
Hdf5Handle creation_list(const ArrayShape& shape);

Hdf5Handle make_dataset(hid_t parent, const std::string& name, hid_t type, const Hdf5Handle& space,
                        hid_t options);
/// A contiguous dataset, whose space is allocated when something is written. Local.
Hdf5Handle create_dataset(hid_t parent, const std::string& name, const ArrayShape& shape);

Hdf5Handle create_group(hid_t parent, const std::string& name);

/// The groups that the arrays of `contents` lie in, and those that have attributes. Local.
void add_groups(hid_t file, const FileContents& contents);

/// Writes the values of `coordinate`, which are `array`. Local.
Hdf5Handle write_coordinate(hid_t file, const Coordinate& coordinate, const CoordinateArray& array);
void write_coordinate_attributes(hid_t dataset, const Coordinate& coordinate,
                                 const CoordinateArray& array);

/// Whether its first axis has its name: then it is the scale of this axis. Local.
bool names_first_axis(const Coordinate& coordinate);

/// Unless dimension `name` has a scale, makes one without a coordinate, as the netCDF-4 library
/// writes it. Local.
void require_scale(hid_t file, const std::string& name, hsize_t extent, DimensionScales& scales);

/// Makes `dataset`, the values of `coordinate`, the scale of its first axis, and describes its
/// axes. `scales`: nullptr if the file has none. Local.
void add_axis(Hdf5Handle dataset, const Coordinate& coordinate, const CoordinateArray& array,
              DimensionScales* scales);

}  // namespace tailrace::store
