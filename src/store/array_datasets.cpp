// SPDX-License-Identifier: BSD-3-Clause
#include "store/array_datasets.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

namespace tailrace::store {

void set_object_options(hid_t create) {
  const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  check_hdf5(H5Pset_attr_creation_order(create, order), "set attribute order");
  check_hdf5(H5Pset_obj_track_times(create, false), "set times");
}

std::string source_name(const std::string& name) {
  std::string text;
  for (const char letter : name) text.append(letter == '%' ? 2 : 1, letter);
  return text;
}

std::vector<hsize_t> extents_of(const Variable& variable) {
  const auto& global = variable.layout->global_extents();
  return {global.begin(), global.begin() + variable.layout->num_dims()};
}

bool names_first_axis(const Variable& variable) {
  return !variable.dims.empty() && variable.dims.front() == variable.name;
}

Hdf5Handle make_space(const std::vector<hsize_t>& extents, const std::string& name) {
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose,
          "space of " + name};
}

Hdf5Handle creation_list(const ArrayShape& shape) {
  Hdf5Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "dataset creation list");
  if (shape.fill) {
    check_hdf5(H5Pset_fill_value(create.id(), shape.type, shape.fill->data()), "set fill value");
  }
  const auto fill_time = shape.any_length ? H5D_FILL_TIME_IFSET : H5D_FILL_TIME_NEVER;
  check_hdf5(H5Pset_fill_time(create.id(), fill_time), "set fill time");
  set_object_options(create.id());
  return create;
}

Hdf5Handle make_dataset(hid_t parent, const std::string& name, hid_t type, const Hdf5Handle& space,
                        hid_t options) {
  return {H5Dcreate2(parent, name.c_str(), type, space.id(), H5P_DEFAULT, options, H5P_DEFAULT),
          H5Dclose, "create dataset " + name};
}

// Contiguous; its space is allocated when something is written.
Hdf5Handle create_dataset(hid_t parent, const std::string& name, const ArrayShape& shape) {
  const auto space = make_space(shape.extents, name);
  const auto create = creation_list(shape);
  check_hdf5(H5Pset_layout(create.id(), H5D_CONTIGUOUS), "set layout");
  check_hdf5(H5Pset_alloc_time(create.id(), H5D_ALLOC_TIME_LATE), "set allocation time");
  return make_dataset(parent, name, shape.type, space, create.id());
}

Hdf5Handle create_group(hid_t parent, const std::string& name) {
  const Hdf5Handle create(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "group creation list");
  set_object_options(create.id());
  return {H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, create.id(), H5P_DEFAULT), H5Gclose,
          "create group " + name};
}

// Those that the arrays lie in, and those that have attributes.
void add_groups(hid_t file, const FileContents& contents) {
  std::set<std::string> groups;  // a group is before what lies in it
  const auto note = [&](const std::string& path) {
    for (auto at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      groups.insert(path.substr(0, at));
    }
  };
  for (const auto& coordinate : contents.coordinates) note(coordinate.name);
  for (const auto& variable : contents.variables) note(variable.name);
  for (const auto& [name, attributes] : contents.group_attributes) note(name + "/");
  for (const auto& name : groups) {
    const auto group = create_group(file, name);
    for (const auto& [of, attributes] : contents.group_attributes) {
      if (of == name) write_attributes(group.id(), attributes);
    }
  }
}

// Small arrays, which HDF5 writes with the headers.
Hdf5Handle write_coordinate(hid_t file, const Coordinate& coordinate,
                            const CoordinateArray& array) {
  const auto type = array.type         ? native_type(*array.type)
                    : array.characters ? Hdf5Handle(H5Tcopy(H5T_C_S1), H5Tclose, "string type")
                                       : texts_type();
  std::optional<ItemBytes> fill;
  if (array.type) fill = fill_item(coordinate.name, coordinate.attributes, *array.type);
  auto dataset = create_dataset(file, coordinate.name,
                                {{array.extents.begin(), array.extents.end()},
                                 type.id(),
                                 fill,
                                 !array.type && !array.characters});
  if (array.count == 0) return dataset;
  std::vector<const char*> texts;
  for (const auto& text : array.texts) texts.push_back(text.c_str());
  const void* data = array.data;
  std::string letters;
  if (array.characters) {
    for (const auto& text : array.texts) letters += text.empty() ? '\0' : text.front();
    data = letters.data();
  } else if (!array.type) {
    data = texts.data();
  }
  check_hdf5(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
             "write coordinate " + coordinate.name);
  return dataset;
}

void write_coordinate_attributes(hid_t dataset, const Coordinate& coordinate,
                                 const CoordinateArray& array) {
  if (!array.type) return write_attributes(dataset, coordinate.attributes);
  write_array_attributes(dataset, coordinate.name, coordinate.attributes, *array.type);
}

bool names_first_axis(const Coordinate& coordinate) {
  return is_axis(coordinate) ||
         (!coordinate.dims.empty() && coordinate.dims.front() == coordinate.name);
}

// A dimension without a coordinate, as the netCDF-4 library writes it.
void require_scale(hid_t file, const std::string& name, hsize_t extent, DimensionScales& scales) {
  if (scales.find(name) != nullptr) return;
  auto dataset = create_dataset(file, name, {{extent}, H5T_IEEE_F32BE});
  scales.add(name, std::move(dataset),
             fmt::format("This is a netCDF dimension but not a netCDF variable.{:10d}", extent));
}

void add_axis(Hdf5Handle dataset, const Coordinate& coordinate, const CoordinateArray& array,
              DimensionScales* scales) {
  const hid_t id = dataset.id();
  if (scales != nullptr) {
    scales->add(coordinate.name, std::move(dataset), coordinate.name);
    if (array.dims.size() > 1) scales->number_axes(coordinate.name, array.dims);
  }
  write_coordinate_attributes(id, coordinate, array);
}

}  // namespace tailrace::store
