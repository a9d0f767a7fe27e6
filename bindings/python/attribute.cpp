// SPDX-License-Identifier: BSD-3-Clause
#include "attribute.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <variant>

#include "arrays.hpp"
#include "tailrace/more/attributes.hpp"

namespace tailrace::python {

namespace {

/// Of netCDF and CF; `_FillValue` gets its type when it is written.
constexpr std::array<std::string_view, 6> names_of_array_type{
    "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"};

nb::object numpy(const char* name) { return nb::module_::import_("numpy").attr(name); }

[[noreturn]] void refuse_kind(nb::handle value, const std::string& what) {
  refuse(fmt::format(
      "{}: {} of type {}; needs a number of 8 to 64 bits, a complex number, True or False, a text, "
      "or a list of one of these",
      what, repr_of(value), text_of(value.type())));
}

bool is_text(nb::handle value) {
  return PyUnicode_Check(value.ptr()) != 0 || PyBytes_Check(value.ptr()) != 0;
}

/// Of `str`, with the bytes that it stands for where it was read from a file; of `bytes`.
std::string text_from(nb::handle value, const std::string& what) {
  auto bytes = nb::borrow(value);
  if (PyUnicode_Check(value.ptr()) != 0) {
    bytes = nb::steal(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) {
      PyErr_Clear();
      refuse(fmt::format("{}: {} is not Unicode text", what, repr_of(value)));
    }
  }
  return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

std::vector<std::string> texts_from(nb::handle list, const std::string& what) {
  std::vector<std::string> texts;
  for (const auto item : nb::iter(list)) {
    if (!is_text(item)) refuse_kind(item, what);
    texts.push_back(text_from(item, what));
  }
  return texts;
}

/// The items of an array of numbers; of one item without an axis, that item.
AttributeValue numbers_from(nb::handle array, bool is_list, const std::string& what) {
  const Array items(numpy("atleast_1d")(numpy("ascontiguousarray")(array)), Use::read, what);
  return with_item_type(items.type, [&]<class Item>(std::type_identity<Item>) {
    const auto* first = reinterpret_cast<const Item*>(items.data);
    if (is_list) return AttributeValue(std::vector<Item>(first, first + items.num_items()));
    return AttributeValue(*first);
  });
}

/// Of a NumPy array or scalar, or what makes an array of itself.
AttributeValue from_array(nb::handle value, const std::string& what) {
  refuse_masked(value, what);
  nb::object array = numpy("asarray")(value);
  const auto num_dims = nb::cast<int>(array.attr("ndim"));
  if (num_dims > 1) refuse(fmt::format("{}: has {} axes; needs a list", what, num_dims));
  const bool is_list = num_dims == 1;
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const nb::object items = array.attr("tolist")();
  if (kind == "b" && is_list) return nb::cast<std::vector<bool>>(items);
  if (kind == "b") return nb::cast<bool>(items);
  if (kind == "U" || kind == "S" || kind == "O") {
    if (is_list) return texts_from(items, what);
    if (!is_text(items)) refuse_kind(value, what);
    return text_from(items, what);
  }
  const auto type = find_type(nb::cast<std::string>(array.attr("dtype").attr("name")));
  if (!type) {
    refuse(fmt::format("{}: items of {}; {}", what, text_of(array.attr("dtype")),
                       "needs integers, float32 or float64, complex numbers, strings or booleans"));
  }
  return numbers_from(array.attr("astype")(dtype_of(*type)), is_list, what);
}

AttributeValue from_integer(nb::handle value, const std::string& what) {
  if (std::int64_t number = 0; nb::try_cast(value, number)) return number;
  if (std::uint64_t number = 0; nb::try_cast(value, number)) return number;
  refuse(fmt::format("{}: {} does not fit 64 bits", what, repr_of(value)));
}

/// A list of integers of Python.
AttributeValue from_integers(nb::handle list, const std::string& what) {
  if (std::vector<std::int64_t> numbers; nb::try_cast(list, numbers)) return numbers;
  if (std::vector<std::uint64_t> numbers; nb::try_cast(list, numbers)) return numbers;
  refuse(fmt::format("{}: {} do not all fit 64 bits", what, repr_of(list)));
}

/// Not equal to itself; PyObject_RichCompareBool takes what is the same object for equal.
bool is_nan(nb::handle value) {
  const auto differs = nb::steal(PyObject_RichCompare(value.ptr(), value.ptr(), Py_NE));
  return differs.is_valid() && PyObject_IsTrue(differs.ptr()) == 1;
}

/// Throws if NumPy has changed an item to give all the same type.
void require_same_items(nb::handle list, nb::handle array, const std::string& what) {
  const nb::object made = array.attr("tolist")();
  std::size_t at = 0;
  for (const auto item : nb::iter(list)) {
    const nb::object found = made[at++];
    if (found.equal(item) || (is_nan(item) && is_nan(found))) continue;
    refuse(fmt::format("{}: {} would become {} in a list with the others; give a list of one type",
                       what, repr_of(item), repr_of(found)));
  }
}

template <class Test>
bool all_items(const nb::list& list, Test&& test) {
  return std::all_of(list.begin(), list.end(), [&](nb::handle item) { return test(item); });
}

bool is_integer(nb::handle value) {
  return PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0;
}

AttributeValue from_list(nb::handle values, const std::string& what) {
  const nb::list list(nb::borrow(values));
  if (nb::len(list) == 0) return std::vector<double>{};
  if (all_items(list, is_text)) return texts_from(list, what);
  if (all_items(list, is_integer)) return from_integers(list, what);
  nb::object array;
  const auto fault = fault_of([&] { array = numpy("asarray")(list); });
  if (fault) refuse(fmt::format("{}: {}", what, fault->what()));
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (nb::cast<int>(array.attr("ndim")) != 1 ||
      std::string("biufc").find(kind) == std::string::npos) {
    refuse_kind(values, what);
  }
  require_same_items(list, array, what);
  return from_array(array, what);
}

AttributeValue from_object(nb::handle value, const std::string& what) {
  auto* object = value.ptr();
  if (is_text(value) && !nb::hasattr(value, "dtype")) return text_from(value, what);
  if (nb::hasattr(value, "dtype") || nb::hasattr(value, "__array__")) {
    return from_array(value, what);
  }
  if (PyBool_Check(object) != 0) return nb::cast<bool>(value);
  if (PyComplex_Check(object) != 0) {
    return std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
  }
  if (PyIndex_Check(object) != 0) {
    const auto whole = nb::steal(PyNumber_Index(object));
    if (whole.is_valid()) return from_integer(whole, what);
    PyErr_Clear();
  }
  const double number = PyFloat_AsDouble(object);
  if (number != -1.0 || PyErr_Occurred() == nullptr) {
    if (PyFloat_Check(object) == 0 && !nb::float_(number).equal(value)) {
      refuse(fmt::format("{}: {} is not a 64-bit floating-point number", what, repr_of(value)));
    }
    return number;
  }
  PyErr_Clear();
  if (value.is_none() || nb::isinstance<nb::dict>(value) || !nb::hasattr(value, "__iter__")) {
    refuse_kind(value, what);
  }
  return from_list(value, what);
}

/// Numbers of Python, which say only integer or not.
bool is_untyped(nb::handle value) {
  const auto plain = [](nb::handle one) {
    return PyLong_CheckExact(one.ptr()) != 0 || PyFloat_CheckExact(one.ptr()) != 0;
  };
  if (plain(value)) return true;
  if (PyList_Check(value.ptr()) == 0 && PyTuple_Check(value.ptr()) == 0) return false;
  return all_items(nb::list(nb::borrow(value)), plain);
}

}  // namespace

AttributeValue attribute_of(nb::handle value, const std::string& name, const std::string& what,
                            std::optional<ItemType> type) {
  auto made = from_object(value, what);
  const bool of_array = std::ranges::find(names_of_array_type, name) != names_of_array_type.end();
  if (!type || !of_array || !is_untyped(value)) return made;
  try {
    return converted(what, name, made, *type);
  } catch (const Error&) {
    return made;  // of unpacked values, say
  }
}

namespace {

template <class Item, class... Others>
constexpr bool is_one_of = (std::is_same_v<Item, Others> || ...);

template <class Item>
nb::object numpy_array(const Item* items, std::size_t count) {
  const std::ptrdiff_t shape[] = {static_cast<std::ptrdiff_t>(count)};
  auto made = empty_array(shape, item_type<Item>());
  if (count > 0) {
    const Array array(made, Use::write, "attribute");
    std::memcpy(array.data, items, count * sizeof(Item));
  }
  return made;
}

template <class Item>
nb::object item_of(const Item& item) {
  if constexpr (std::is_same_v<Item, std::string>) {
    return nb::steal(PyUnicode_DecodeUTF8(item.data(), std::ssize(item), "surrogateescape"));
  } else if constexpr (std::is_same_v<Item, std::complex<double>>) {
    return nb::steal(PyComplex_FromDoubles(item.real(), item.imag()));
  } else if constexpr (is_one_of<Item, bool, std::int64_t, double>) {
    return nb::cast(item);
  } else {
    return nb::object(numpy_array(&item, 1)[0]);
  }
}

template <class Item>
nb::object list_of(const std::vector<Item>& items) {
  if constexpr (is_one_of<Item, std::string, bool, std::int64_t, double>) {
    nb::list made;
    for (const auto& item : items) made.append(item_of<Item>(item));
    return made;
  } else {
    return numpy_array(items.data(), items.size());
  }
}

}  // namespace

nb::object object_of(const AttributeValue& value) {
  return std::visit(
      []<class Held>(const Held& held) {
        if constexpr (is_attribute_list<Held>) {
          return list_of(held);
        } else {
          return item_of(held);
        }
      },
      value);
}

}  // namespace tailrace::python
