// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include <mpi.h>

#include "tailrace/reduction.hpp"

namespace tailrace {

/// out[i] = op over all parts[k][i], in the order of the parts, for i from `start` to `start` +
/// `num_items`. `type` is not complex. `out` may be one of the parts. Local.
void combine(NumberType type, ReduceOp op, std::byte* out, std::span<const std::byte* const> parts,
             std::ptrdiff_t start, std::ptrdiff_t num_items);

/// A complex number as two real ones, others as they are. Local.
constexpr NumberType real_type(NumberType type) {
  if (type == NumberType::complex64) return NumberType::float32;
  if (type == NumberType::complex128) return NumberType::float64;
  return type;
}
constexpr bool is_complex(NumberType type) { return real_type(type) != type; }

/// Local.
MPI_Datatype mpi_type(NumberType type);
MPI_Op mpi_op(ReduceOp op);

}  // namespace tailrace
