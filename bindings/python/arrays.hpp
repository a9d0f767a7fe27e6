// SPDX-License-Identifier: BSD-3-Clause
// NumPy arrays (anything with the buffer protocol, or DLPack) as they lie: never copied. Where the
// library takes device memory, also arrays of CuPy, JAX and PyTorch on a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bind.hpp"
#include "tailrace/layout.hpp"
#include "tailrace/more/item_type.hpp"

namespace tailrace::python {

enum class Use { read, write };
/// Where an array may lie.
enum class Where { on_host, anywhere };

/// An array of a Python object, which it keeps from being freed or resized. Made and destroyed
/// with the GIL.
class Array {
 public:
  /// Throws `Errc::invalid_input` that begins with `what`: no array, not of numbers (in this
  /// machine's byte order), read-only but to be written, in device memory if it may not. Local.
  Array(nb::handle object, Use use, const std::string& what, Where where = Where::on_host);
  Array(Array&& other) noexcept;
  Array& operator=(Array&&) = delete;
  ~Array();

  ItemType type = ItemType::float64;
  std::byte* data = nullptr;  ///< the lowest byte of an item
  std::vector<std::ptrdiff_t> shape;
  std::vector<std::ptrdiff_t> strides;  ///< in items; negative along axes that run backwards
  std::ptrdiff_t first_item = 0;        ///< place of item (0, 0, ...) after `data`, in items
  /// In device memory: the stream that its library names (1: the default one), or 0.
  std::optional<std::uintptr_t> stream;
  std::ptrdiff_t num_items() const;
  bool contiguous() const;  ///< row-major without gaps

 private:
  void take_buffer(nb::handle object, Use use, const std::string& what);
  void start_at_lowest();
  void take_dlpack(nb::handle object, Use use, const std::string& what, Where where);
  void take_cuda(nb::handle object, Use use, const std::string& what);
  Py_buffer buffer_{};
  bool has_buffer_ = false;
  nb::object kept_;
};

/// Refuses NumPy's masked arrays.
void refuse_masked(nb::handle object, const std::string& what);
/// "float64"
const char* name_of(ItemType type);
/// By a NumPy dtype, its name, or a type such as float.
ItemType item_type_of(nb::handle dtype);
/// The NumPy dtype.
nb::object dtype_of(ItemType type);
/// numpy.empty(shape, type)
nb::object empty_array(std::span<const std::ptrdiff_t> shape, ItemType type);
std::string describe_shape(std::span<const std::ptrdiff_t> shape);

/// How `array` holds `boxes`: one box by an array of its shape, with any strides; else as one
/// contiguous array with the items of all boxes. Throws `Errc::invalid_input`. Local.
Memory memory_of(const Array& array, std::span<const Box> boxes, const std::string& what);

/// Throws unless `array` holds items as `memory` of `boxes` says: by an array of the one box's
/// shape and `memory`'s strides, or contiguous with all its items.
void require_memory(const Array& array, const Memory& memory, std::span<const Box> boxes,
                    const std::string& what);

/// A sequence of integers.
std::vector<std::ptrdiff_t> numbers_of(nb::handle object, const std::string& what);

}  // namespace tailrace::python
