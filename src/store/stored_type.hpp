// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include <hdf5.h>

#include "store/hdf5_handle.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::store {

/// The type that items of an HDF5 type are read as (docs/files.md, "What it reads"): the smallest
/// that holds them all. Of enumerations that of their numbers; of bit fields an unsigned one. None
/// for texts and for what is not numbers.
std::optional<ItemType> item_type_of(hid_t stored);

/// What items of an HDF5 type are, to say why they are not read: "text".
std::string describe_items(hid_t stored);

/// Whether items of `stored` lie in the file as those of `type` in memory.
bool is_native(hid_t stored, ItemType type);

/// The type in memory for which HDF5 converts items of `stored`, whose `item_type_of` is `type`.
Hdf5Handle memory_type(hid_t stored, ItemType type);

/// Whether `stored` is how h5py writes truth values: an enumeration of FALSE = 0 and TRUE = 1.
bool is_truth(hid_t stored);

}  // namespace tailrace::store
