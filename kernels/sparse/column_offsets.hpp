// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "sparse/kernels.hpp"
#include "sparse/values.hpp"

namespace tailrace::sparse {

/// Columns of items: offsets from bases that are stored elsewhere, or columns if of 32 bits.
class ColumnOffsets {
 public:
  ColumnOffsets(ColumnKind kind, std::size_t size) : kind_(kind) {
    if (kind == ColumnKind::bits8) bits8_ = Aligned<std::uint8_t>(size);
    if (kind == ColumnKind::bits16) bits16_ = Aligned<std::uint16_t>(size);
    if (kind == ColumnKind::bits32) bits32_ = Aligned<std::int32_t>(size);
  }
  /// Calls `fill` with a function put(slot, offset).
  template <class Fill>
  void write(Fill&& fill) {
    const auto to = [&fill]<class Index>(Aligned<Index>& items) {
      fill([data = items.data()](auto i, std::int32_t v) { data[i] = static_cast<Index>(v); });
    };
    if (kind_ == ColumnKind::bits8) to(bits8_);
    if (kind_ == ColumnKind::bits16) to(bits16_);
    if (kind_ == ColumnKind::bits32) to(bits32_);
  }
  /// Calls `use` with a function get(slot).
  template <class Use>
  void read(Use&& use) const {
    const auto of = [&use](const auto& items) {
      use([data = items.data()](auto i) { return static_cast<std::int32_t>(data[i]); });
    };
    if (kind_ == ColumnKind::bits8) of(bits8_);
    if (kind_ == ColumnKind::bits16) of(bits16_);
    if (kind_ == ColumnKind::bits32) of(bits32_);
  }
  std::int32_t operator[](std::size_t i) const {
    if (kind_ == ColumnKind::bits8) return bits8_[i];
    return kind_ == ColumnKind::bits16 ? bits16_[i] : bits32_[i];
  }
  ColumnKind kind() const { return kind_; }
  bool based() const { return kind_ != ColumnKind::bits32; }
  /// Where the kernel finds item `i`.
  const void* at(std::size_t i) const {
    if (kind_ == ColumnKind::bits8) return bits8_.data() + i;
    if (kind_ == ColumnKind::bits16) return bits16_.data() + i;
    return bits32_.data() + i;
  }
  std::size_t bytes() const { return bits8_.bytes() + bits16_.bytes() + bits32_.bytes(); }
  std::string words() const {
    if (kind_ == ColumnKind::bits8) return "8-bit columns";
    return kind_ == ColumnKind::bits16 ? "16-bit columns" : "32-bit columns";
  }

 private:
  ColumnKind kind_;
  Aligned<std::uint8_t> bits8_;
  Aligned<std::uint16_t> bits16_;
  Aligned<std::int32_t> bits32_;
};

}  // namespace tailrace::sparse
