// SPDX-License-Identifier: BSD-3-Clause
// Values of attributes and coordinates: what Python gives, in the type that it has there, and back.
#pragma once

#include <optional>
#include <string>

#include "bind.hpp"
#include "tailrace/more/attributes.hpp"

namespace tailrace::python {

/// `value` of attribute `name`: a number, truth value or text, or a list of them. NumPy's numbers
/// keep their type, Python's become `int64` (`uint64` if they must), `float64`, `complex128`;
/// attributes that netCDF has in the type of their array, `type`, get it where they fit. Throws
/// `Errc::invalid_input` that begins with `what` for anything that would change. Needs the GIL.
AttributeValue attribute_of(nb::handle value, const std::string& name, const std::string& what,
                            std::optional<ItemType> type);

/// An attribute for Python: int, float, complex, bool, str or lists of them, and scalars and arrays
/// of NumPy for types that Python has not. Needs the GIL.
nb::object object_of(const AttributeValue& value);

}  // namespace tailrace::python
