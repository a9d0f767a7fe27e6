// SPDX-License-Identifier: BSD-3-Clause
#include "move/allreduce/reducer.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tailrace {
namespace {

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {  // wraps around
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};
struct Less {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greater {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

/// out[i] = a[i] op b[i]; each of them may be the same array.
template <class Op, class T>
void combine_two(T* out, const T* a, const T* b, std::ptrdiff_t num_items) {
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < num_items; ++i) out[i] = Op{}(a[i], b[i]);
}

// Sums grow in a block that stays in the cache, so that `out` is written once, after all parts.
template <class Op, class T>
void combine_many(T* out, std::span<const std::byte* const> parts, std::ptrdiff_t start,
                  std::ptrdiff_t num_items) {
  constexpr std::ptrdiff_t block = 1024;
  T sums[block];
  const auto part = [&](std::size_t k) { return reinterpret_cast<const T*>(parts[k]); };
  for (std::ptrdiff_t at = start; at < start + num_items; at += block) {
    const auto count = std::min(block, start + num_items - at);
    combine_two<Op>(sums, part(0) + at, part(1) + at, count);
    for (std::size_t k = 2; k + 1 < parts.size(); ++k) {
      combine_two<Op>(sums, sums, part(k) + at, count);
    }
    combine_two<Op>(out + at, sums, part(parts.size() - 1) + at, count);
  }
}

template <class Op, class T>
void combine_typed(T* out, std::span<const std::byte* const> parts, std::ptrdiff_t start,
                   std::ptrdiff_t num_items) {
  const auto part = [&](std::size_t k) { return reinterpret_cast<const T*>(parts[k]) + start; };
  if (parts.empty() || num_items == 0) return;
  if (parts.size() > 2) return combine_many<Op>(out, parts, start, num_items);
  if (parts.size() == 2) return combine_two<Op>(out + start, part(0), part(1), num_items);
  if (part(0) != out + start) std::copy_n(part(0), num_items, out + start);
}

/// Calls `action` with a value of the type.
template <class Action>
void with_type(NumberType type, Action&& action) {
  switch (type) {
    case NumberType::float32:
    case NumberType::complex64:
      return action(float{});
    case NumberType::float64:
    case NumberType::complex128:
      return action(double{});
    case NumberType::int32:
      return action(std::int32_t{});
    case NumberType::int64:
      return action(std::int64_t{});
  }
}

}  // namespace

void combine(NumberType type, ReduceOp op, std::byte* out, std::span<const std::byte* const> parts,
             std::ptrdiff_t start, std::ptrdiff_t num_items) {
  with_type(type, [&](auto zero) {
    auto* typed = reinterpret_cast<decltype(zero)*>(out);
    switch (op) {
      case ReduceOp::sum:
        return combine_typed<Add>(typed, parts, start, num_items);
      case ReduceOp::min:
        return combine_typed<Less>(typed, parts, start, num_items);
      case ReduceOp::max:
        return combine_typed<Greater>(typed, parts, start, num_items);
    }
  });
}

MPI_Datatype mpi_type(NumberType type) {
  switch (type) {
    case NumberType::float32:
      return MPI_FLOAT;
    case NumberType::float64:
      return MPI_DOUBLE;
    case NumberType::complex64:
      return MPI_C_FLOAT_COMPLEX;
    case NumberType::complex128:
      return MPI_C_DOUBLE_COMPLEX;
    case NumberType::int32:
      return MPI_INT32_T;
    case NumberType::int64:
      return MPI_INT64_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

std::ptrdiff_t number_bytes(NumberType type) {
  switch (type) {
    case NumberType::float32:
    case NumberType::int32:
      return 4;
    case NumberType::float64:
    case NumberType::int64:
    case NumberType::complex64:
      return 8;
    case NumberType::complex128:
      return 16;
  }
  return 0;
}

std::string_view number_name(NumberType type) {
  switch (type) {
    case NumberType::float32:
      return "float32";
    case NumberType::float64:
      return "float64";
    case NumberType::complex64:
      return "complex64";
    case NumberType::complex128:
      return "complex128";
    case NumberType::int32:
      return "int32";
    case NumberType::int64:
      return "int64";
  }
  return "";
}

}  // namespace tailrace
