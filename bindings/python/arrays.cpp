// SPDX-License-Identifier: BSD-3-Clause
#include "arrays.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/ranges.h>
#include <nanobind/ndarray.h>

#include "tailrace/more/device_driver.hpp"

namespace tailrace::python {

namespace {

struct TypeName {
  ItemType type;
  const char* name;
};
constexpr std::array<TypeName, 13> type_names{{
    {ItemType::float32, "float32"},
    {ItemType::float64, "float64"},
    {ItemType::int32, "int32"},
    {ItemType::int64, "int64"},
    {ItemType::int8, "int8"},
    {ItemType::int16, "int16"},
    {ItemType::uint8, "uint8"},
    {ItemType::uint16, "uint16"},
    {ItemType::uint32, "uint32"},
    {ItemType::uint64, "uint64"},
    {ItemType::complex64, "complex64"},
    {ItemType::complex128, "complex128"},
    {ItemType::float16, "float16"},
}};
constexpr const char* known_types =
    "float16, float32, float64, complex64, complex128, int8 to int64, uint8 to uint64";

std::optional<ItemType> type_named(const std::string& name) {
  for (const auto& entry : type_names) {
    if (name == entry.name) return entry.type;
  }
  return std::nullopt;
}

/// From a format of the buffer protocol (module struct).
std::optional<ItemType> type_of_format(std::string_view format, std::ptrdiff_t bytes) {
  if (!format.empty() && (format[0] == '@' || format[0] == '=')) format.remove_prefix(1);
  if (format == "e") return ItemType::float16;
  if (format == "f") return ItemType::float32;
  if (format == "d") return ItemType::float64;
  if (format == "Zf") return ItemType::complex64;
  if (format == "Zd") return ItemType::complex128;
  if (format.size() != 1) return std::nullopt;
  const bool is_signed = std::string_view("bhilqn").find(format[0]) != std::string_view::npos;
  if (!is_signed && std::string_view("BHILQN").find(format[0]) == std::string_view::npos) {
    return std::nullopt;
  }
  return type_named(fmt::format("{}int{}", is_signed ? "" : "u", 8 * bytes));
}

/// Loops of the library take items to lie where the compiler would put them.
bool is_aligned(ItemType type, const void* data) {
  const bool pair = type == ItemType::complex64 || type == ItemType::complex128;
  const auto bytes = static_cast<std::uintptr_t>(item_bytes(type)) / (pair ? 2 : 1);
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}
constexpr const char* misaligned =
    ": begins between items in memory; see numpy.require(a, requirements='A')";

std::string type_text(nb::handle object) {
  if (nb::hasattr(object, "dtype")) return text_of(object.attr("dtype"));
  return text_of(object.type());
}

}  // namespace

const char* name_of(ItemType type) {
  for (const auto& entry : type_names) {
    if (type == entry.type) return entry.name;
  }
  return "?";
}

ItemType item_type_of(nb::handle dtype) {
  const auto made = nb::module_::import_("numpy").attr("dtype")(dtype);
  const auto type = type_named(nb::cast<std::string>(made.attr("name")));
  if (!type || !nb::cast<bool>(made.attr("isnative"))) {
    refuse(fmt::format("dtype {}: needs one of {}, in this machine's byte order", text_of(made),
                       known_types));
  }
  return *type;
}

nb::object dtype_of(ItemType type) {
  return nb::module_::import_("numpy").attr("dtype")(name_of(type));
}

nb::object empty_array(std::span<const std::ptrdiff_t> shape, ItemType type) {
  return nb::module_::import_("numpy").attr("empty")(tuple_of(shape.data(), std::ssize(shape)),
                                                     name_of(type));
}

std::string describe_shape(std::span<const std::ptrdiff_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

namespace {

constexpr const char* cuda_interface = "__cuda_array_interface__";
constexpr const char* on_device = ": is in the memory of a device; needs an array in host memory";

/// The copies of an array are made by the driver that the program has loaded.
void require_driver(const std::string& what) {
  if (!device_driver().empty()) return;
  refuse(what + ": is in the memory of a device other than CUDA's; copy it to the host");
}

}  // namespace

void refuse_masked(nb::handle object, const std::string& what) {
  const auto name = nb::steal(PyType_GetName(Py_TYPE(object.ptr())));
  if (PyUnicode_CompareWithASCIIString(name.ptr(), "MaskedArray") != 0) return;
  refuse(what + ": is a masked array, whose mask would be lost; give array.filled(value)");
}

Array::Array(nb::handle object, Use use, const std::string& what, Where where) {
  refuse_masked(object, what);
  if (nb::hasattr(object, cuda_interface)) {  // JAX's arrays claim to have buffers, too
    if (where == Where::on_host) refuse(what + on_device);
    take_cuda(object, use, what);
  } else if (PyObject_CheckBuffer(object.ptr()) != 0) {
    take_buffer(object, use, what);
  } else if (nb::hasattr(object, "__dlpack__")) {
    take_dlpack(object, use, what, where);
  } else {
    refuse(fmt::format("{}: needs a NumPy array, not {}", what, text_of(object.type())));
  }
}

Array::Array(Array&& other) noexcept
    : type(other.type),
      data(other.data),
      shape(std::move(other.shape)),
      strides(std::move(other.strides)),
      first_item(other.first_item),
      stream(other.stream),
      buffer_(other.buffer_),
      has_buffer_(std::exchange(other.has_buffer_, false)),
      kept_(std::move(other.kept_)) {}

Array::~Array() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

void Array::take_buffer(nb::handle object, Use use, const std::string& what) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    refuse(fmt::format("{}: {} is not an array of {}", what, type_text(object), known_types));
  }
  has_buffer_ = true;
  const auto found =
      type_of_format(buffer_.format != nullptr ? buffer_.format : "B", buffer_.itemsize);
  std::string fault;
  if (!found) {
    fault = fmt::format("{}: items of type {}; needs one of {}, in this machine's byte order", what,
                        type_text(object), known_types);
  } else if (use == Use::write && buffer_.readonly != 0) {
    fault = fmt::format("{}: is read-only, and would be written to", what);
  }
  for (int d = 0; d < buffer_.ndim; ++d) {
    shape.push_back(buffer_.shape[d]);
    strides.push_back(buffer_.strides[d] / std::max<std::ptrdiff_t>(buffer_.itemsize, 1));
    if (buffer_.strides[d] % std::max<std::ptrdiff_t>(buffer_.itemsize, 1) != 0) {
      fault = fmt::format("{}: items do not lie at multiples of their size", what);
    }
  }
  if (found && !is_aligned(*found, buffer_.buf)) fault = what + misaligned;
  if (!fault.empty()) {
    PyBuffer_Release(&buffer_);
    has_buffer_ = false;
    refuse(fault);
  }
  type = *found;
  data = static_cast<std::byte*>(buffer_.buf);
  start_at_lowest();
}

/// Item (0, 0, ...) is not the first one in memory if axes run backwards.
void Array::start_at_lowest() {
  if (num_items() == 0) return;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] < 0) first_item -= (shape[d] - 1) * strides[d];
  }
  data -= first_item * item_bytes(type);
}

// Version 3 of the interface; before it there was no stream.
void Array::take_cuda(nb::handle object, Use use, const std::string& what) {
  require_driver(what);
  try {
    const nb::dict given = nb::cast<nb::dict>(object.attr(cuda_interface));
    const auto entry = [&](const char* name) -> nb::object {
      return given.contains(name) ? nb::object(given[name]) : nb::none();
    };
    const auto place = nb::cast<nb::tuple>(given["data"]);
    type = item_type_of(given["typestr"]);
    data = reinterpret_cast<std::byte*>(nb::cast<std::uintptr_t>(place[0]));
    shape = numbers_of(given["shape"], what);
    if (!entry("mask").is_none()) refuse(what + ": is masked, and the mask would be lost");
    if (use == Use::write && nb::cast<bool>(place[1])) {
      refuse(what + ": is read-only, and would be written to");
    }
    stream = entry("stream").is_none() ? 0 : nb::cast<std::uintptr_t>(entry("stream"));
    if (entry("strides").is_none()) {
      std::ptrdiff_t stride = 1;
      for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
        strides.insert(strides.begin(), stride);
      }
    } else {
      for (const auto bytes : numbers_of(entry("strides"), what)) {
        if (bytes % item_bytes(type) != 0) {
          refuse(what + ": items do not lie at multiples of their size");
        }
        strides.push_back(bytes / item_bytes(type));
      }
    }
  } catch (const nb::builtin_exception& error) {
    refuse(fmt::format("{}: has a wrong {}: {}", what, cuda_interface, error.what()));
  } catch (const nb::python_error& error) {
    refuse(fmt::format("{}: has a wrong {}: {}", what, cuda_interface, error.what()));
  } catch (const std::bad_cast&) {
    refuse(fmt::format("{}: has a wrong {}", what, cuda_interface));
  }
  if (strides.size() != shape.size()) refuse(what + ": has other strides than axes");
  kept_ = nb::borrow(object);
  start_at_lowest();
}

namespace {

/// The kind of memory, by DLPack's numbers.
int device_kind(nb::handle object) {
  try {
    const auto kind_and_number = nb::cast<nb::tuple>(object.attr("__dlpack_device__")());
    const nb::object kind = nb::module_::import_("operator").attr("index")(kind_and_number[0]);
    return nb::cast<int>(kind);
  } catch (const std::exception&) {
    return nb::device::cpu::value;  // what `__dlpack__` returns says it
  }
}

ItemType type_of(nb::dlpack::dtype dtype, const std::string& what) {
  const int bits = dtype.bits;
  const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
  const char* kind = code == nb::dlpack::dtype_code::Float     ? "float"
                     : code == nb::dlpack::dtype_code::Complex ? "complex"
                     : code == nb::dlpack::dtype_code::Int     ? "int"
                     : code == nb::dlpack::dtype_code::UInt    ? "uint"
                                                               : "?";
  const auto found = type_named(fmt::format("{}{}", kind, bits));
  if (!found)
    refuse(fmt::format("{}: items of type {}{}; needs one of {}", what, kind, bits, known_types));
  return *found;
}

/// The capsule of an array on a device, after whose default stream it may be used.
nb::object capsule_of(nb::handle object, const std::string& what) {
  try {
    return object.attr("__dlpack__")(nb::arg("stream") = 1);
  } catch (const nb::python_error& error) {
    refuse(
        fmt::format("{}: {} cannot be read in place: {}", what, type_text(object), error.what()));
  }
}

}  // namespace

void Array::take_dlpack(nb::handle object, Use use, const std::string& what, Where where) {
  constexpr int cuda_host = 3, cuda_managed = 13;  // the processor reads the first
  nb::ndarray<nb::ro> array;
  const int kind = device_kind(object);
  const bool is_cuda = kind == nb::device::cuda::value || kind == cuda_managed;
  if (kind != nb::device::cpu::value && kind != cuda_host) {
    if (where == Where::on_host) refuse(what + on_device);
    require_driver(what);
    if (!is_cuda) refuse(what + ": is in the memory of a device other than CUDA's");
  }
  const nb::object from = is_cuda ? capsule_of(object, what) : nb::borrow(object);
  if (!nb::try_cast(from, array, false)) {
    refuse(fmt::format("{}: {} cannot be read in place", what, type_text(object)));
  }
  if (is_cuda) stream = 1;
  if (!is_cuda && array.device_type() != nb::device::cpu::value &&
      array.device_type() != cuda_host) {
    refuse(what + on_device);
  }
  nb::ndarray<> writable;
  if (use == Use::write && !is_cuda && !nb::try_cast(object, writable, false)) {
    refuse(fmt::format("{}: is read-only, and would be written to", what));
  }
  type = type_of(array.dtype(), what);
  data = static_cast<std::byte*>(const_cast<void*>(array.data()));
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    shape.push_back(static_cast<std::ptrdiff_t>(array.shape(d)));
    strides.push_back(array.stride(d));
  }
  kept_ = nb::borrow(object);
  if (!is_aligned(type, data)) refuse(what + misaligned);
  start_at_lowest();
}

std::ptrdiff_t Array::num_items() const {
  return std::accumulate(shape.begin(), shape.end(), std::ptrdiff_t{1}, std::multiplies<>());
}

bool Array::contiguous() const {
  std::ptrdiff_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != stride) return num_items() == 0;
    stride *= shape[d];
  }
  return true;
}

namespace {

std::string wanted(std::span<const Box> boxes, std::ptrdiff_t num_items) {
  if (boxes.size() == 1) {
    const auto& box = boxes.front();
    return fmt::format(
        "this rank's box has shape {}",
        describe_shape(std::span(box.extents.data(), static_cast<std::size_t>(box.num_dims))));
  }
  return fmt::format(
      "this rank has {} boxes of {} items together, which an array holds one after "
      "another",
      boxes.size(), num_items);
}

bool has_shape(const Array& array, const Box& box) {
  return std::equal(array.shape.begin(), array.shape.end(), box.extents.begin(),
                    box.extents.begin() + box.num_dims);
}

/// Whether the box lies in the memory alone, row-major.
bool is_dense(const Memory& memory, const Box& box) {
  if (memory.num_items != box.num_items()) return false;
  if (memory.boxes.empty()) return true;
  std::ptrdiff_t stride = 1;
  for (int d = box.num_dims - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    if (box.extents[i] != 1 && memory.boxes[0].strides[i] != stride) return false;
    stride *= box.extents[i];
  }
  return true;
}

}  // namespace

Memory memory_of(const Array& array, std::span<const Box> boxes, const std::string& what) {
  std::ptrdiff_t num_items = 0;
  for (const auto& box : boxes) num_items += box.num_items();
  const bool fits =
      boxes.size() == 1 ? has_shape(array, boxes.front()) || array.shape.size() == 1 : true;
  if (!fits || array.num_items() != num_items) {
    refuse(fmt::format("{}: has shape {}; {}", what, describe_shape(array.shape),
                       wanted(boxes, num_items)));
  }
  if (array.contiguous()) return {{}, num_items};
  if (boxes.size() != 1 || !has_shape(array, boxes.front())) {
    refuse(
        fmt::format("{}: is not contiguous (strides of {} items); needs an array of the box's "
                    "shape, or numpy.ascontiguousarray",
                    what, describe_shape(array.strides)));
  }
  BoxMemory place;
  place.offset = array.first_item;
  std::ptrdiff_t last = array.first_item;
  for (std::size_t d = 0; d < array.shape.size(); ++d) {
    place.strides[d] = array.strides[d];
    if (array.strides[d] > 0) last += (array.shape[d] - 1) * array.strides[d];
  }
  return {{place}, last + 1};
}

void require_memory(const Array& array, const Memory& memory, std::span<const Box> boxes,
                    const std::string& what) {
  // Another shape with as many items would be taken for the box's: (3, 2) for (2, 3).
  const bool turned = boxes.size() == 1 && array.shape.size() > 1 && is_dense(memory, boxes[0]) &&
                      !has_shape(array, boxes.front());
  if (array.contiguous() && array.num_items() == memory.num_items && !turned) return;
  if (memory.boxes.size() == 1 && boxes.size() == 1 && has_shape(array, boxes.front()) &&
      std::equal(array.strides.begin(), array.strides.end(), memory.boxes[0].strides.begin())) {
    return;
  }
  refuse(
      fmt::format("{}: has shape {} and strides of {} items; needs a contiguous array of {} "
                  "items ({}), or the strides for which the exchange was created",
                  what, describe_shape(array.shape), describe_shape(array.strides),
                  memory.num_items, wanted(boxes, memory.num_items)));
}

std::vector<std::ptrdiff_t> numbers_of(nb::handle object, const std::string& what) {
  std::vector<std::ptrdiff_t> numbers;
  try {
    for (const auto item : nb::iter(object)) {
      const auto number = nb::steal(PyNumber_Index(item.ptr()));
      if (!number.is_valid()) throw nb::python_error();
      numbers.push_back(nb::cast<std::ptrdiff_t>(number));
    }
  } catch (nb::python_error& error) {
    refuse(fmt::format("{}: needs whole numbers, such as (64, 64, 64), not {}", what,
                       repr_of(object)));
  }
  return numbers;
}

}  // namespace tailrace::python
