// SPDX-License-Identifier: BSD-3-Clause
// The attributes of HDF5's "Dimension Scale Specification": CLASS and NAME of a scale, its
// REFERENCE_LIST of (dataset, axis), and a dataset's DIMENSION_LIST of scales.
#include "store/dimension_scales.hpp"

#include <cstddef>
#include <utility>

namespace tailrace::store {
namespace {

hobj_ref_t reference_to(hid_t object, const std::string& name) {
  hobj_ref_t reference{};
  check_hdf5(H5Rcreate(&reference, object, ".", H5R_OBJECT, -1), "refer to " + name);
  return reference;
}

// A text of fixed length that ends with a zero byte, in ASCII: readers compare it.
void write_text(hid_t object, const char* name, const std::string& text) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "string type");
  check_hdf5(H5Tset_size(type.id(), text.size() + 1), "string size");
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "attribute space");
  write_attribute(object, name, type.id(), space.id(), text.c_str());
}

template <class Item>
void write_list(hid_t object, const char* name, hid_t type, const std::vector<Item>& items) {
  const hsize_t count = items.size();
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, "attribute space");
  write_attribute(object, name, type, space.id(), items.data());
}

}  // namespace

const Hdf5Handle* DimensionScales::find(const std::string& name) const {
  const auto found = scales_.find(name);
  return found == scales_.end() ? nullptr : &found->second.dataset;
}

void DimensionScales::add(const std::string& name, Hdf5Handle dataset, const std::string& title) {
  write_text(dataset.id(), "CLASS", "DIMENSION_SCALE");
  write_text(dataset.id(), "NAME", title);
  const auto reference = reference_to(dataset.id(), name);
  const auto number = static_cast<std::int32_t>(scales_.size());
  scales_.emplace(name, Scale{std::move(dataset), reference, number, {}});
}

void DimensionScales::attach(hid_t dataset, const std::vector<std::string>& dims) {
  if (dims.empty()) return;
  const auto own = reference_to(dataset, "a dataset");
  std::vector<hvl_t> lists;
  for (unsigned axis = 0; axis < dims.size(); ++axis) {
    auto& scale = scales_.at(dims[axis]);
    scale.uses.push_back({own, axis});
    lists.push_back({1, &scale.reference});
  }
  const Hdf5Handle type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose, "type of a list of scales");
  write_list(dataset, "DIMENSION_LIST", type.id(), lists);
}

void DimensionScales::number_axes(const std::string& name, const std::vector<std::string>& dims) {
  numbered_.emplace_back(name, dims);
}

void DimensionScales::finish() {
  const Hdf5Handle use(H5Tcreate(H5T_COMPOUND, sizeof(Use)), H5Tclose, "type of a use");
  check_hdf5(H5Tinsert(use.id(), "dataset", offsetof(Use, dataset), H5T_STD_REF_OBJ),
             "insert the dataset");
  check_hdf5(H5Tinsert(use.id(), "dimension", offsetof(Use, axis), H5T_NATIVE_UINT),
             "insert the axis");
  for (const auto& [name, scale] : scales_) {
    if (!scale.uses.empty()) write_list(scale.dataset.id(), "REFERENCE_LIST", use.id(), scale.uses);
    if (!numbered_.empty()) {
      write_attributes(scale.dataset.id(), {{"_Netcdf4Dimid", scale.number}});
    }
  }
  for (const auto& [name, dims] : numbered_) {
    std::vector<std::int32_t> numbers;
    for (const auto& dim : dims) numbers.push_back(scales_.at(dim).number);
    write_attributes(scales_.at(name).dataset.id(), {{"_Netcdf4Coordinates", numbers}});
  }
}

}  // namespace tailrace::store
