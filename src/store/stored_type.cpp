// SPDX-License-Identifier: BSD-3-Clause
#include "store/stored_type.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tailrace::store {
namespace {

// As h5py writes complex numbers: a compound of two floating-point numbers "r" and "i".
std::optional<ItemType> complex_item_type(hid_t stored) {
  const int real = H5Tget_member_index(stored, "r");
  const int imaginary = H5Tget_member_index(stored, "i");
  if (H5Tget_nmembers(stored) != 2 || real < 0 || imaginary < 0) return std::nullopt;
  std::size_t size = 0;
  for (const int member : {real, imaginary}) {
    const Hdf5Handle part(H5Tget_member_type(stored, static_cast<unsigned>(member)), H5Tclose,
                          "type of a member");
    if (H5Tget_class(part.id()) != H5T_FLOAT) return std::nullopt;
    size = std::max(size, H5Tget_size(part.id()));
  }
  return size <= 4 ? ItemType::complex64 : ItemType::complex128;
}

// IEEE half precision of any byte order. Other numbers of 16 bits (bfloat16) reach further.
bool is_half(hid_t stored) {
  if (H5Tget_size(stored) != sizeof(Half)) return false;
  const auto half = native_type(ItemType::float16);
  check_hdf5(H5Tset_order(half.id(), H5Tget_order(stored)), "set a byte order");
  return H5Tequal(half.id(), stored) > 0;
}

ItemType integer_type(std::size_t bytes, bool is_signed) {
  if (bytes <= 1) return is_signed ? ItemType::int8 : ItemType::uint8;
  if (bytes <= 2) return is_signed ? ItemType::int16 : ItemType::uint16;
  if (bytes <= 4) return is_signed ? ItemType::int32 : ItemType::uint32;
  return is_signed ? ItemType::int64 : ItemType::uint64;
}

Hdf5Handle numbers_of(hid_t enumeration) {
  return {H5Tget_super(enumeration), H5Tclose, "type of an enumeration"};
}

// HDF5 converts bit fields to each other only.
Hdf5Handle native_bits(ItemType type) {
  const auto bytes = item_bytes(type);
  const auto bits = bytes == 1   ? H5T_NATIVE_B8
                    : bytes == 2 ? H5T_NATIVE_B16
                    : bytes == 4 ? H5T_NATIVE_B32
                                 : H5T_NATIVE_B64;
  return {H5Tcopy(bits), H5Tclose, "copy a type"};
}

}  // namespace

std::optional<ItemType> item_type_of(hid_t stored) {
  const auto bytes = H5Tget_size(stored);
  switch (H5Tget_class(stored)) {
    case H5T_FLOAT:
      if (is_half(stored)) return ItemType::float16;
      return bytes <= 4 ? ItemType::float32 : ItemType::float64;
    case H5T_COMPOUND:
      return complex_item_type(stored);
    case H5T_ENUM:
      return item_type_of(numbers_of(stored).id());
    case H5T_BITFIELD:
      return bytes <= 8 ? std::optional(integer_type(bytes, false)) : std::nullopt;
    case H5T_INTEGER:
      return integer_type(bytes, H5Tget_sign(stored) != H5T_SGN_NONE);
    default:
      return std::nullopt;
  }
}

std::string describe_items(hid_t stored) {
  switch (H5Tget_class(stored)) {
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "compound items that are not complex numbers {r, i}";
    case H5T_VLEN:
      return "lists of variable length";
    case H5T_ARRAY:
      return "items that are arrays";
    case H5T_REFERENCE:
      return "references to other objects";
    case H5T_OPAQUE:
      return "opaque items";
    case H5T_BITFIELD:
      return "bit fields of more than 8 bytes";
    default:
      return "items that are not numbers";
  }
}

bool is_native(hid_t stored, ItemType type) {
  if (H5Tget_class(stored) == H5T_ENUM) return is_native(numbers_of(stored).id(), type);
  return H5Tequal(stored, memory_type(stored, type).id()) > 0;
}

Hdf5Handle memory_type(hid_t stored, ItemType type) {
  return H5Tget_class(stored) == H5T_BITFIELD ? native_bits(type) : native_type(type);
}

bool is_truth(hid_t stored) {
  if (H5Tget_class(stored) != H5T_ENUM || H5Tget_nmembers(stored) != 2) return false;
  for (const auto& [name, expected] : {std::pair{"FALSE", 0}, {"TRUE", 1}}) {
    const auto numbers = numbers_of(stored);
    std::int64_t value = -1;  // has room for the number before and after it is converted
    if (H5Tget_size(numbers.id()) > sizeof(std::int64_t) ||
        H5Tenum_valueof(stored, name, &value) < 0 ||
        H5Tconvert(numbers.id(), H5T_NATIVE_INT64, 1, &value, nullptr, H5P_DEFAULT) < 0) {
      return false;
    }
    if (value != expected) return false;
  }
  return true;
}

}  // namespace tailrace::store
