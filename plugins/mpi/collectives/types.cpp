// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/types.hpp"

#include <vector>

namespace tailrace::plugins {

constinit thread_local std::array<LastSum, 2> last_sums{};

namespace {

struct Known {
  MPI_Datatype type;
  NumberType number;
  bool is_unsigned;
};

// Languages have several names for a type; those that a library has not are null.
std::vector<Known> make_known() {
  std::vector<Known> list;
  const auto add = [&list](NumberType number, std::initializer_list<MPI_Datatype> types,
                           bool is_unsigned = false) {
    for (const MPI_Datatype type : types) {
      int size = 0;
      if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS) continue;
      if (size == number_bytes(number)) list.push_back({type, number, is_unsigned});
    }
  };
  add(NumberType::float64, {MPI_DOUBLE, MPI_DOUBLE_PRECISION, MPI_REAL8});
  add(NumberType::int32, {MPI_INT, MPI_INT32_T, MPI_INTEGER, MPI_INTEGER4});
  add(NumberType::int64,
      {MPI_LONG, MPI_LONG_LONG, MPI_INT64_T, MPI_INTEGER8, MPI_AINT, MPI_OFFSET, MPI_COUNT});
  add(NumberType::float32, {MPI_FLOAT, MPI_REAL, MPI_REAL4});
  add(NumberType::complex128, {MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX16});
  add(NumberType::complex64, {MPI_C_FLOAT_COMPLEX, MPI_COMPLEX, MPI_COMPLEX8});
  add(NumberType::int32, {MPI_UNSIGNED, MPI_UINT32_T}, true);
  add(NumberType::int64, {MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T}, true);
  return list;
}

const Known* find(MPI_Datatype type) {
  static const std::vector<Known> list = make_known();
  for (const Known& one : list) {
    if (one.type == type) return &one;
  }
  return nullptr;
}

bool is_plain(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) {
    return false;
  }
  if (combiner == MPI_COMBINER_NAMED) {
    MPI_Aint low = 0;
    MPI_Aint extent = 0;
    int size = 0;
    PMPI_Type_get_extent(type, &low, &extent);
    PMPI_Type_size(type, &size);
    return low == 0 && extent == size;
  }
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) return false;
  if (integers > 1 || addresses > 0 || types != 1) return false;
  int count = 0;
  MPI_Aint no_address = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  PMPI_Type_get_contents(type, integers, 0, 1, &count, &no_address, &inner);
  const bool plain = is_plain(inner);
  PMPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) PMPI_Type_free(&inner);
  return plain;
}

}  // namespace

TypeFacts facts_of(MPI_Datatype type) {
  if (type == MPI_BYTE || type == MPI_CHAR) return {1, true};
  if (const Known* known = find(type)) return {number_bytes(known->number), true};
  int size = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size <= 0) {
    return {};
  }
  return {size, is_plain(type)};
}

std::optional<Sum> find_sum(MPI_Datatype type, MPI_Op op) {
  const bool is_sum = op == MPI_SUM;
  if (!is_sum && op != MPI_MIN && op != MPI_MAX) return std::nullopt;
  const Known* known = find(type);
  if (known == nullptr) return std::nullopt;
  const bool ordered = !known->is_unsigned && known->number != NumberType::complex64 &&
                       known->number != NumberType::complex128;
  if (!is_sum && !ordered) return std::nullopt;
  const ReduceOp own = is_sum ? ReduceOp::sum : op == MPI_MIN ? ReduceOp::min : ReduceOp::max;
  return Sum{known->number, own, number_bytes(known->number)};
}

}  // namespace tailrace::plugins
