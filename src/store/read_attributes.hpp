// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "tailrace/more/attributes.hpp"

namespace tailrace::store {

/// The attributes of an object, by name.
struct FoundAttributes {
  Attributes values;
  /// Names of those that no `AttributeValue` can hold, and why: "holds references".
  std::vector<std::pair<std::string, std::string>> refused;
};

/// Reads all attributes of an object, each exactly and in its own type. Throws as `fail_hdf5`.
/// Local.
FoundAttributes read_attributes(hid_t object);

}  // namespace tailrace::store
