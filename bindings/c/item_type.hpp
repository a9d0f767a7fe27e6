// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tailrace/more/item_type.hpp"

namespace tailrace::c {

inline constexpr int num_item_types = 13;

/// The type that a constant of C stands for. Throws `Errc::invalid_input`. Local.
ItemType item_type_of(int type);

}  // namespace tailrace::c
