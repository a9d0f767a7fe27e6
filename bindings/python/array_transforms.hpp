// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "bind.hpp"

namespace tailrace::python {

void bind_array_transforms(nb::module_& module);

}  // namespace tailrace::python
