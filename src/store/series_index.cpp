// SPDX-License-Identifier: BSD-3-Clause
#include "store/series_index.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "core/agreed_error.hpp"
#include "core/system_call.hpp"
#include "core/whole_file.hpp"
#include "store/array_datasets.hpp"
#include "store/attribute_values.hpp"
#include "store/dimension_scales.hpp"
#include "store/file_image.hpp"
#include "store/hdf5_handle.hpp"
#include "store/image_driver.hpp"

namespace tailrace::store {
namespace {

std::string last_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string links_name(const std::string& path) {
  return fmt::format(".{}.steps", last_name(path));
}

// Orders of creation, as netCDF-4 wants them.
constexpr unsigned tracked = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;

// The index is built in memory. If the disk is full, HDF5 reports the failure only while it closes
// a file, leaves the file open, and crashes when the library ends.
Hdf5Handle create_index(ImageFile& memory) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file access list");
  memory.use(access.id());
  check_hdf5(H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110), "set version");
  const Hdf5Handle create(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "file creation list");
  check_hdf5(H5Pset_attr_creation_order(create.id(), tracked), "set attribute order");
  check_hdf5(H5Pset_link_creation_order(create.id(), tracked), "set link order");
  return {H5Fcreate("index", H5F_ACC_TRUNC, create.id(), access.id()), H5Fclose,
          "create the index"};
}

std::string bytes_of(const FileImage& image) {
  std::string bytes(static_cast<std::size_t>(image.total_bytes), '\0');
  for (const auto& extent : image.extents) {
    std::memcpy(bytes.data() + extent.file_offset, image.bytes.data() + extent.start,
                static_cast<std::size_t>(extent.count));
  }
  return bytes;
}

Hdf5Handle space_of(const std::vector<hsize_t>& extents, const std::vector<hsize_t>& most) {
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), most.data()), H5Sclose,
          "create a space"};
}

/// The arrays of an index under construction.
class IndexArrays {
 public:
  IndexArrays(const std::string& path, hid_t file, const FileContents& contents,
              const SeriesList& list)
      : file_(file),
        contents_(contents),
        list_(list),
        links_(source_name(fmt::format("{}/{}", links_name(path), list.version))) {
    for (const auto& step : list.steps) {
      files_.push_back(source_name(step.merged.empty() ? step.file : step.merged));
    }
    if (contents.scales) scales_ = &made_;
  }
  void add_list();
  void add_axes();
  void add_variables();
  void add_other_coordinates();
  void finish();

 private:
  Hdf5Handle create(const std::string& name, ItemType type, const std::vector<hsize_t>& extents,
                    hid_t options, bool grows);
  Hdf5Handle creation_list(const std::string& name, ItemType type, const Attributes& attributes);
  void map_steps(hid_t options, const std::string& name, std::vector<hsize_t> block, hid_t source,
                 std::size_t first = 0) const;
  std::size_t steps_together(std::size_t at) const;
  void add_texts(const char* name, std::string SeriesStep::*member);
  std::size_t map_values(hid_t options, const std::string& name, ItemType type) const;
  void attach(hid_t dataset, const std::vector<std::string>& dims,
              const std::vector<hsize_t>& extents);
  void add_varying(const Coordinate& coordinate);
  void add_static_variable(const Variable& variable);
  void add_variable(const Variable& variable);
  Attributes with_coordinates(const Variable& variable) const;

  hid_t file_;
  const FileContents& contents_;
  const SeriesList& list_;
  std::string links_;
  std::vector<std::string> files_;
  DimensionScales made_;
  DimensionScales* scales_ = nullptr;  ///< null if the files have none
};

// An axis without a coordinate gets the scale that the netCDF-4 library gives it.
void IndexArrays::attach(hid_t dataset, const std::vector<std::string>& dims,
                         const std::vector<hsize_t>& extents) {
  if (scales_ == nullptr) return;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    require_scale(file_, dims[d], extents[d], *scales_);
  }
  scales_->attach(dataset, dims);
}

// What a reader finds where a file has gone missing: NaN, unless the array has a fill value.
Hdf5Handle IndexArrays::creation_list(const std::string& name, ItemType type,
                                      const Attributes& attributes) {
  Hdf5Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "dataset creation list");
  set_object_options(create.id());
  const auto in_file = native_type(type);
  if (const auto fill = fill_item(name, attributes, type)) {
    check_hdf5(H5Pset_fill_value(create.id(), in_file.id(), fill->data()), "set fill value");
  } else if (type == ItemType::float32 || type == ItemType::float64) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    check_hdf5(H5Pset_fill_value(create.id(), H5T_NATIVE_DOUBLE, &none), "set fill value");
  }
  return create;
}

// `grows`: along the first axis, with the number of steps.
Hdf5Handle IndexArrays::create(const std::string& name, ItemType type,
                               const std::vector<hsize_t>& extents, hid_t options, bool grows) {
  const auto in_file = native_type(type);
  auto now = extents, most = extents;
  if (grows) {
    now[0] = std::max<hsize_t>(1, files_.size());
    most[0] = H5S_UNLIMITED;
  }
  const auto space = space_of(now, most);
  return make_dataset(file_, name, in_file.id(), space, options);
}

// Blocks of a virtual dataset along the first axis, for the steps from `first` on: one for each
// file. `block`: the extents of a step with a first axis of one item; `source`: those in the file
// of one step.
void IndexArrays::map_steps(hid_t options, const std::string& name, std::vector<hsize_t> block,
                            hid_t source, std::size_t first) const {
  auto extents = block;
  extents[0] = std::max<hsize_t>(1, files_.size());
  auto most = block;
  most[0] = H5S_UNLIMITED;
  const auto space = space_of(extents, most);
  std::vector<hsize_t> start(block.size(), 0), count(block.size(), 1);
  const auto map = [&](const std::string& file, std::size_t at, hid_t from) {
    start[0] = at;
    check_hdf5(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                                   block.data()),
               "select steps of " + name);
    check_hdf5(H5Pset_virtual(options, space.id(), file.c_str(), source_name(name).c_str(), from),
               "map steps of " + name);
  };
  for (std::size_t at = first; at < files_.size(); at += block[0]) {
    block[0] = steps_together(at);
    if (list_.steps[at].merged.empty()) {
      map(files_[at], at, source);
      continue;
    }
    // The first of its steps: a restart may have replaced the others.
    const auto merged = space_of(block, block);
    const std::vector<hsize_t> zeros(block.size(), 0);
    check_hdf5(H5Sselect_hyperslab(merged.id(), H5S_SELECT_SET, zeros.data(), nullptr, count.data(),
                                   block.data()),
               "select steps of " + name);
    map(files_[at], at, merged.id());
  }
  block[0] = 1;
  count[0] = H5S_UNLIMITED;
  map(links_ + "/%b.h5", files_.size(), source);
}

// The number of listed steps from `at` on that are in one file.
std::size_t IndexArrays::steps_together(std::size_t at) const {
  const auto& merged = list_.steps[at].merged;
  auto end = at + 1;
  while (!merged.empty() && end < files_.size() && list_.steps[end].merged == merged) ++end;
  return end - at;
}

// The values of the listed steps, which become a part of the index: readers that ask for the times
// of all steps open no file of a step. Returns how many steps they are of.
std::size_t IndexArrays::map_values(hid_t options, const std::string& name, ItemType type) const {
  const auto at = std::ranges::find(list_.names, name) - list_.names.begin();
  const auto has_value = [&](const SeriesStep& step) { return at < std::ssize(step.values); };
  if (list_.steps.empty() || !std::ranges::all_of(list_.steps, has_value)) return 0;
  std::vector<std::byte> known;
  for (const auto& step : list_.steps) {
    const auto& value = step.values[static_cast<std::size_t>(at)];
    known.insert(known.end(), value.begin(), value.begin() + item_bytes(type));
  }
  const hsize_t count = list_.steps.size(), start = 0;
  const auto in_file = native_type(type);
  const auto source = space_of({count}, {count});
  const auto place = fmt::format("{}/{}", series_parts::values, name);
  const auto dataset = make_dataset(file_, place, in_file.id(), source, H5P_DEFAULT);
  check_hdf5(H5Dwrite(dataset.id(), in_file.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, known.data()),
             "write " + place);
  const auto space = space_of({count}, {H5S_UNLIMITED});
  check_hdf5(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &start, nullptr, &count, nullptr),
             "select steps of " + name);
  check_hdf5(
      H5Pset_virtual(options, space.id(), ".", source_name("/" + place).c_str(), source.id()),
      "map steps of " + name);
  return list_.steps.size();
}

void IndexArrays::add_list() {
  const auto make_group = [&](const char* name) {
    return Hdf5Handle(H5Gcreate2(file_, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                      "create a group");
  };
  const auto group = make_group(series_parts::group);
  write_attributes(group.id(),
                   {{series_parts::form, list_.form}, {series_parts::version, list_.version}});
  make_group(series_parts::values).reset();
  if (list_.steps.empty()) return;
  add_texts(series_parts::files, &SeriesStep::file);
  const auto is_merged = [](const SeriesStep& step) { return !step.merged.empty(); };
  if (std::ranges::any_of(list_.steps, is_merged)) {
    add_texts(series_parts::merged, &SeriesStep::merged);
  }
}

// The texts of all steps, each ended by a zero.
void IndexArrays::add_texts(const char* name, std::string SeriesStep::*member) {
  std::string texts;
  for (const auto& step : list_.steps) {
    texts.append((step.*member).c_str(), (step.*member).size() + 1);
  }
  const hsize_t bytes = texts.size();
  const auto space = space_of({bytes}, {bytes});
  const Hdf5Handle dataset(
      H5Dcreate2(file_, name, H5T_NATIVE_UINT8, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose, "create the list of steps");
  check_hdf5(H5Dwrite(dataset.id(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()),
             "write the list of steps");
}

void IndexArrays::add_varying(const Coordinate& coordinate) {
  const auto numbers = numbers_of(coordinate);
  const auto options = creation_list(coordinate.name, *numbers.type, coordinate.attributes);
  const hsize_t one = 1;
  const Hdf5Handle source(
      numbers.dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &one, nullptr), H5Sclose,
      "create a space");
  const auto known = map_values(options.id(), coordinate.name, *numbers.type);
  map_steps(options.id(), coordinate.name, {1}, source.id(), known);
  auto dataset = create(coordinate.name, *numbers.type, {1}, options.id(), true);
  write_array_attributes(dataset.id(), coordinate.name, coordinate.attributes, *numbers.type);
  if (scales_ == nullptr) return;
  if (coordinate.name == time_name) {
    scales_->add(time_name, std::move(dataset), time_name);
  } else {
    scales_->attach(dataset.id(), {time_name});
  }
}

// The axis of all others first.
void IndexArrays::add_axes() {
  for (const bool time : {true, false}) {
    for (const auto& coordinate : contents_.coordinates) {
      if ((coordinate.name == time_name) != time) continue;
      if (varies_with_time(coordinate)) {
        add_varying(coordinate);
      } else if (names_first_axis(coordinate)) {
        const auto array = array_of(coordinate);
        add_axis(write_coordinate(file_, coordinate, array), coordinate, array, scales_);
      }
    }
  }
}

// Texts without an axis, and arrays along other axes: the same in all steps.
void IndexArrays::add_other_coordinates() {
  for (const auto& coordinate : contents_.coordinates) {
    const auto array = array_of(coordinate);
    const std::vector<hsize_t> extents(array.extents.begin(), array.extents.end());
    const bool is_other = !varies_with_time(coordinate) && !names_first_axis(coordinate);
    if (is_other) {
      const auto dataset = write_coordinate(file_, coordinate, array);
      attach(dataset.id(), array.dims, extents);
      write_coordinate_attributes(dataset.id(), coordinate, array);
    } else if (scales_ != nullptr && !varies_with_time(coordinate)) {
      for (std::size_t d = 0; d < array.dims.size(); ++d) {
        require_scale(file_, array.dims[d], extents[d], *scales_);
      }
    }
  }
}

void IndexArrays::finish() {
  if (scales_ != nullptr) made_.finish();
}

// The places along an axis, which ranks hold together: those of the first step.
void IndexArrays::add_static_variable(const Variable& variable) {
  const auto options = creation_list(variable.name, variable.type, variable.attributes);
  const auto extents = extents_of(variable);
  const auto space = space_of(extents, extents);
  const auto first = files_.empty() ? links_ + "/0.h5" : files_.front();
  check_hdf5(H5Pset_virtual(options.id(), space.id(), first.c_str(),
                            source_name(variable.name).c_str(), space.id()),
             "map " + variable.name);
  auto dataset = create(variable.name, variable.type, extents, options.id(), false);
  write_array_attributes(dataset.id(), variable.name, variable.attributes, variable.type);
  if (scales_ != nullptr) made_.add(variable.name, std::move(dataset), variable.name);
}

Attributes IndexArrays::with_coordinates(const Variable& variable) const {
  if (!contents_.scales || variable.name.find('/') != std::string::npos) return variable.attributes;
  return with_varying(variable.attributes, contents_.coordinates);
}

void IndexArrays::add_variable(const Variable& variable) {
  const auto options = creation_list(variable.name, variable.type, variable.attributes);
  const auto in_step = extents_of(variable);
  const bool has_time = variable.dims.front() == time_name;  // of one item
  auto extents = in_step;
  if (!has_time) extents.insert(extents.begin(), 1);
  const auto source = space_of(in_step, in_step);
  map_steps(options.id(), variable.name, extents, source.id());
  const auto dataset = create(variable.name, variable.type, extents, options.id(), true);
  auto dims = variable.dims;
  if (!has_time) dims.insert(dims.begin(), time_name);
  attach(dataset.id(), dims, extents);
  write_array_attributes(dataset.id(), variable.name, with_coordinates(variable), variable.type);
}

void IndexArrays::add_variables() {
  for (const bool scales : {true, false}) {
    for (const auto& variable : contents_.variables) {
      if (names_first_axis(variable) != scales) continue;
      if (scales) {
        add_static_variable(variable);
      } else {
        add_variable(variable);
      }
    }
  }
}

void fill_index(const std::string& path, hid_t file, const FileContents& contents,
                const SeriesList& list) {
  IndexArrays index(path, file, contents, list);
  index.add_list();
  add_groups(file, contents);
  index.add_axes();
  index.add_variables();
  index.add_other_coordinates();
  index.finish();
  Attributes attributes;
  for (const auto& attribute : contents.attributes) {
    // Those of a step.
    if (attribute.first != step_name && attribute.first != time_name) {
      attributes.push_back(attribute);
    }
  }
  write_attributes(file, attributes);
}

}  // namespace

std::string series_folder(const std::string& path) { return folder_of(path) + links_name(path); }

std::string series_links_folder(const std::string& path, std::int64_t version) {
  return fmt::format("{}/{}", series_folder(path), version);
}

bool varies_with_time(const Coordinate& coordinate) {
  if (coordinate.name == time_name) return true;
  const auto array = array_of(coordinate);
  return array.type && array.dims.empty();
}

Attributes with_varying(Attributes attributes, const std::vector<Coordinate>& coordinates) {
  std::string names;
  for (const auto& coordinate : coordinates) {
    const bool plain = coordinate.name.find('/') == std::string::npos;
    if (coordinate.name == time_name || !plain || !varies_with_time(coordinate)) continue;
    names += (names.empty() ? "" : " ") + coordinate.name;
  }
  const auto given = std::ranges::find(attributes, "coordinates", &Attributes::value_type::first);
  if (given == attributes.end()) {
    attributes.emplace_back("coordinates", names);
  } else if (auto* text = std::get_if<std::string>(&given->second)) {
    *text += " " + names;
  }
  return attributes;
}

void write_series_index(const std::string& path, const FileContents& contents,
                        const SeriesList& list) {
  const auto target = followed_links(path);
  try {
    const QuietHdf5 quiet;
    FileImage image;
    ImageFile memory(image.pages);
    fill_index(target, create_index(memory).id(), contents, list);
    memory.take_metadata({}, image);
    write_whole_file(target, bytes_of(image), true);
  } catch (const Error& error) {
    throw about("cannot write series " + path, error);
  }
}

}  // namespace tailrace::store
