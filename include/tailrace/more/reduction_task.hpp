// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tailrace {

enum class ReduceOp { sum, min, max };

/// Number types that can be reduced; complex numbers only by `sum`.
enum class NumberType { float32, float64, complex64, complex128, int32, int64 };

/// The `NumberType` of a C++ type; defined for the six types only.
template <class T>
struct NumberTypeOf;
template <>
struct NumberTypeOf<float> {
  static constexpr auto value = NumberType::float32;
};
template <>
struct NumberTypeOf<double> {
  static constexpr auto value = NumberType::float64;
};
template <>
struct NumberTypeOf<std::complex<float>> {
  static constexpr auto value = NumberType::complex64;
};
template <>
struct NumberTypeOf<std::complex<double>> {
  static constexpr auto value = NumberType::complex128;
};
template <>
struct NumberTypeOf<std::int32_t> {
  static constexpr auto value = NumberType::int32;
};
template <>
struct NumberTypeOf<std::int64_t> {
  static constexpr auto value = NumberType::int64;
};
template <class T>
inline constexpr NumberType number_type = NumberTypeOf<T>::value;

/// Calls `action` with a zero of the C++ type of `type`. Local.
template <class Action>
void with_number_type(NumberType type, Action&& action) {
  switch (type) {
    case NumberType::float32:
      return action(float{});
    case NumberType::float64:
      return action(double{});
    case NumberType::complex64:
      return action(std::complex<float>{});
    case NumberType::complex128:
      return action(std::complex<double>{});
    case NumberType::int32:
      return action(std::int32_t{});
    case NumberType::int64:
      return action(std::int64_t{});
  }
}

/// Bytes of a number. Local.
std::ptrdiff_t number_bytes(NumberType type);
/// "float64"
std::string_view number_name(NumberType type);

enum class ReductionKind { allreduce, reduce, barrier };

/// One operation on one vector.
struct ReductionTask {
  ReductionKind kind = ReductionKind::allreduce;
  NumberType type = NumberType::float64;
  ReduceOp op = ReduceOp::sum;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;  ///< may be `in`; `reduce` uses only that of the root
  std::ptrdiff_t num_items = 0;
  int root = 0;

  std::ptrdiff_t num_bytes() const { return num_items * number_bytes(type); }
  bool wants_result(int rank) const { return kind != ReductionKind::reduce || rank == root; }
};

}  // namespace tailrace
