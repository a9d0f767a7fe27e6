// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>

#include "sparse/features.hpp"
#include "sparse/kernels.hpp"
#include "tailrace/sparse.hpp"

namespace tailrace::sparse {

/// A matrix in one format. Work is cut into units (whole rows), so that threads can share it.
class Stored {
 public:
  Stored() = default;
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;
  virtual ~Stored() = default;

  virtual std::ptrdiff_t num_units() const = 0;
  /// Items stored before a unit: what threads are balanced by.
  virtual std::ptrdiff_t items_before(std::ptrdiff_t unit) const = 0;
  /// The rows of units [first, last) of A X, for one vector or `block_vectors`.
  virtual void multiply(std::ptrdiff_t first, std::ptrdiff_t last,
                        const Vectors& vectors) const = 0;
  /// A^T X, for one vector or `block_vectors`, all of it: each sum in the order of rows.
  virtual void multiply_transposed(const Vectors& vectors) const = 0;
  virtual Csr to_csr() const = 0;
  /// Takes other values, in the order of CSR; false, and nothing has changed, if it cannot.
  virtual bool set_values(std::span<const double> /*values*/) { return false; }
  virtual std::string describe() const = 0;
  virtual std::size_t memory_bytes() const = 0;
};

/// How a format is to be made.
struct Wish {
  ValueKind values = ValueKind::fp64;
  const Kernels* kernels = nullptr;
};

/// A row of the table of formats (formats.cpp).
struct Format {
  const char* name;
  const char* summary;
  bool same_order;
  /// Multiplies (of the reference) that a conversion takes, measured: what is charged beforehand.
  double conversion_multiplies;
  /// Why it cannot or should not hold this matrix; empty if it can.
  std::string (*refusal)(const Features&);
  /// Whether "auto" should look at it at all.
  bool (*may_pay)(const Features&);
  /// Bytes that a multiply reads of the matrix; an estimate.
  double (*bytes)(const Features&, ValueKind);
  /// Whether it can compress values in that way.
  bool (*takes)(ValueKind);
  std::unique_ptr<Stored> (*make)(const CsrView&, const Features&, const Wish&);
};

std::span<const Format> format_table();

}  // namespace tailrace::sparse
