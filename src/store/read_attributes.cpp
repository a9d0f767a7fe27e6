// SPDX-License-Identifier: BSD-3-Clause
#include "store/read_attributes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include "core/refuse_input.hpp"
#include "store/hdf5_handle.hpp"
#include "store/item_convert.hpp"
#include "store/stored_type.hpp"
#include "tailrace/error.hpp"

namespace tailrace::store {
namespace {

// An open attribute. Its methods throw `Errc::invalid_input` that says why it cannot be read.
class StoredAttribute {
 public:
  StoredAttribute(hid_t object, const std::string& name)
      : attribute_(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, "open attribute " + name),
        type_(H5Aget_type(attribute_.id()), H5Tclose, "type of attribute " + name),
        space_(H5Aget_space(attribute_.id()), H5Sclose, "space of attribute " + name) {
    // netCDF writes an empty text or list with a null space.
    is_null_ = H5Sget_simple_extent_type(space_.id()) == H5S_NULL;
    dims_ = is_null_ ? 0 : H5Sget_simple_extent_ndims(space_.id());
    count_ = is_null_ ? 0 : static_cast<std::size_t>(H5Sget_simple_extent_npoints(space_.id()));
  }
  AttributeValue read() const {
    if (dims_ > 1) refuse_input("has {} dimensions; single values and lists are read", dims_);
    if (H5Tget_class(type_.id()) == H5T_STRING) return read_texts();
    if (is_truth(type_.id())) {
      const auto numbers = read_items<std::int8_t>(native_type(ItemType::int8).id());
      return value_of(std::vector<bool>(numbers.begin(), numbers.end()));
    }
    const auto type = item_type_of(type_.id());
    if (!type) refuse_input("holds {}", describe_items(type_.id()));
    return with_item_type(*type, [&]<class Item>(std::type_identity<Item>) {
      if constexpr (std::is_same_v<Item, double>) {
        if (H5Tget_size(type_.id()) > sizeof(double)) return read_long_doubles();
      }
      require_room(sizeof(Item), *type);
      return value_of(read_items<Item>(memory_type(type_.id(), *type).id()));
    });
  }

 private:
  template <class Item>
  AttributeValue value_of(std::vector<Item> items) const {
    if (dims_ == 1 || is_null_) return items;
    return Item(items.front());
  }
  template <class Item>
  std::vector<Item> read_items(hid_t memory) const {
    std::vector<Item> items(count_);
    if (count_ > 0) check_hdf5(H5Aread(attribute_.id(), memory, items.data()), "read attribute");
    return items;
  }
  void require_room(std::size_t room, ItemType type) const {
    const auto bytes = H5Tget_size(type_.id());
    if (bytes <= room) return;
    refuse_input("holds numbers of {} bytes, which {} does not hold", bytes, type_name(type));
  }
  AttributeValue read_long_doubles() const {
    std::vector<double> items;
    for (const auto number : read_items<long double>(H5T_NATIVE_LDOUBLE)) {
      items.push_back(static_cast<double>(number));
      if (static_cast<long double>(items.back()) == number || std::isnan(number)) continue;
      refuse_input("holds {} in {} bytes, which float64 does not hold", number,
                   H5Tget_size(type_.id()));
    }
    return value_of(std::move(items));
  }
  AttributeValue read_texts() const {
    if (is_null_) return std::string();
    auto texts = H5Tis_variable_str(type_.id()) > 0 ? read_varying() : read_fixed();
    return value_of(std::move(texts));
  }
  std::vector<std::string> read_varying() const {
    const auto addresses = read_items<char*>(type_.id());
    std::vector<std::string> texts;
    for (const auto* text : addresses) texts.emplace_back(text != nullptr ? text : "");
    for (auto* text : addresses) H5free_memory(text);
    return texts;
  }
  // Zero bytes end a text only if its type says so; else the padding alone is taken off.
  std::vector<std::string> read_fixed() const {
    const auto bytes = H5Tget_size(type_.id());
    std::string all(bytes * count_, '\0');
    if (count_ > 0) check_hdf5(H5Aread(attribute_.id(), type_.id(), all.data()), "read attribute");
    const auto padding = H5Tget_strpad(type_.id());
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count_; ++i) {
      auto text = all.substr(i * bytes, bytes);
      if (padding == H5T_STR_NULLTERM) {
        text.resize(std::min(text.find('\0'), text.size()));
      } else {
        text.resize(text.find_last_not_of(padding == H5T_STR_SPACEPAD ? ' ' : '\0') + 1);
      }
      texts.push_back(std::move(text));
    }
    return texts;
  }

  Hdf5Handle attribute_, type_, space_;
  bool is_null_ = false;
  int dims_ = 0;
  std::size_t count_ = 0;
};

herr_t note_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

FoundAttributes read_attributes(hid_t object) {
  std::vector<std::string> names;
  // Not in the order of names: HDF5 makes a table for that, and crashes if it cannot fill it.
  check_hdf5(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, note_attribute, &names),
             "list attributes");
  std::ranges::sort(names);
  FoundAttributes found;
  for (const auto& name : names) {
    const StoredAttribute attribute(object, name);
    try {
      found.values.emplace_back(name, attribute.read());
    } catch (const Error& error) {
      if (error.code() != Errc::invalid_input) throw;
      found.refused.emplace_back(name, error.what());
    }
  }
  return found;
}

}  // namespace tailrace::store
