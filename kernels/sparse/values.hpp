// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace tailrace::sparse {

/// Storage that begins at a cache line, is not cleared, and may be read `slack` items beyond its
/// end. Large ones lie in huge pages where the system grants them when asked: fewer faults while
/// they are filled, and fewer misses of the address cache in each multiply.
template <class T>
class Aligned {
 public:
  static constexpr std::size_t slack = 16;
  Aligned() = default;
  explicit Aligned(std::size_t size) : size_(size) {
    const auto all = (size + slack) * sizeof(T);
    const std::align_val_t alignment{all >= 2 * huge_page ? huge_page : 64};
    data_ = {static_cast<T*>(::operator new(all, alignment)), Free{alignment}};
#ifdef MADV_HUGEPAGE
    if (all >= 2 * huge_page) madvise(data_.get(), all, MADV_HUGEPAGE);  // a wish
#endif
    std::memset(static_cast<void*>(data_.get() + size), 0, slack * sizeof(T));
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  void clear() { std::memset(static_cast<void*>(data_.get()), 0, bytes()); }

 private:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;
  struct Free {
    std::align_val_t alignment{64};
    void operator()(T* data) const { ::operator delete(data, alignment); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<T, Free> data_;
};

/// How values are stored; all are exact, bit by bit.
enum class ValueKind { fp64, fp32, dictionary };

/// Whether every value converts to single precision and back bit by bit. In blocks without an early
/// exit, which the compiler makes vectors of.
inline bool all_exact_in_fp32(std::span<const double> values) {
  constexpr std::size_t block = 512;
  for (std::size_t begin = 0; begin < values.size(); begin += block) {
    std::uint64_t different = 0;
    for (const double value : values.subspan(begin, std::min(block, values.size() - begin))) {
      different |= std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(value))) ^
                   std::bit_cast<std::uint64_t>(value);
    }
    if (different != 0) return false;
  }
  return true;
}

/// Up to 256 different values and their codes. Values are told apart by their bits.
class Dictionary {
 public:
  /// The code of a value, which is added if it is new; -1 if there is no more room.
  int add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const int code = codes_[first_place(bits)] - 1;
    if (code >= 0 && holds(code, bits)) return code;  // nearly always
    return find_or_add(bits);
  }
  int num_values() const { return num_values_; }
  const std::array<double, 256>& values() const { return values_; }

 private:
  static std::size_t first_place(std::uint64_t bits) {
    return static_cast<std::size_t>((bits * 0x9E3779B97F4A7C15ULL) >> 54);
  }
  bool holds(int code, std::uint64_t bits) const {
    return std::bit_cast<std::uint64_t>(values_[static_cast<std::size_t>(code)]) == bits;
  }
  int find_or_add(std::uint64_t bits) {
    auto place = first_place(bits);
    for (; codes_[place] != 0; place = (place + 1) % codes_.size()) {
      if (holds(codes_[place] - 1, bits)) return codes_[place] - 1;
    }
    if (num_values_ == 256) return -1;
    values_[static_cast<std::size_t>(num_values_)] = std::bit_cast<double>(bits);
    codes_[place] = static_cast<std::int16_t>(++num_values_);
    return num_values_ - 1;
  }

  std::array<double, 256> values_{};
  std::array<std::int16_t, 1024> codes_{};  ///< code + 1 by hash; 0: free
  int num_values_ = 0;
};

/// Values of a matrix in the order of a format.
class Values {
 public:
  /// `size` slots, to be filled by `write`; `dictionary` must know all values if `kind` says so.
  Values(ValueKind kind, std::size_t size, const Dictionary& dictionary)
      : kind_(kind), dictionary_(dictionary) {
    if (kind == ValueKind::fp64) fp64_ = Aligned<double>(size);
    if (kind == ValueKind::fp32) fp32_ = Aligned<float>(size);
    if (kind == ValueKind::dictionary) codes_ = Aligned<std::uint8_t>(size);
  }

  /// Calls `fill` with a function put(slot, value).
  template <class Fill>
  void write(Fill&& fill) {
    if (kind_ == ValueKind::fp64) {
      fill([data = fp64_.data()](auto i, double v) { data[i] = v; });
    } else if (kind_ == ValueKind::fp32) {
      fill([data = fp32_.data()](auto i, double v) { data[i] = static_cast<float>(v); });
    } else {
      fill([data = codes_.data(), this](auto i, double v) {
        data[i] = static_cast<std::uint8_t>(dictionary_.add(v));
      });
    }
  }
  /// All slots hold +0.0, which the dictionary must have (or room for it).
  void clear() {
    if (kind_ == ValueKind::fp64) fp64_.clear();
    if (kind_ == ValueKind::fp32) fp32_.clear();
    if (kind_ == ValueKind::dictionary) {
      std::memset(codes_.data(), dictionary_.add(0.0), codes_.size());
    }
  }
  /// Whether these may be written: in single precision if all are exact; not by a dictionary, whose
  /// codes are those of the first values.
  bool can_hold(std::span<const double> values) const {
    if (kind_ == ValueKind::fp32) return all_exact_in_fp32(values);
    return kind_ == ValueKind::fp64;
  }
  double operator[](std::size_t i) const {
    if (kind_ == ValueKind::fp64) return fp64_[i];
    if (kind_ == ValueKind::fp32) return static_cast<double>(fp32_[i]);
    return dictionary_.values()[codes_[i]];
  }
  /// Calls `use` with a function get(slot).
  template <class Use>
  void read(Use&& use) const {
    if (kind_ == ValueKind::fp64) {
      use([data = fp64_.data()](auto i) { return data[i]; });
    } else if (kind_ == ValueKind::fp32) {
      use([data = fp32_.data()](auto i) { return static_cast<double>(data[i]); });
    } else {
      use([data = codes_.data(), table = this->table()](auto i) { return table[data[i]]; });
    }
  }
  /// Asks for a slot's cache line; one beyond the end does no harm.
  void prefetch(std::size_t slot) const {
    const auto bytes = kind_ == ValueKind::fp64 ? 8 : kind_ == ValueKind::fp32 ? 4 : 1;
    const auto at =
        reinterpret_cast<std::uintptr_t>(data()) + slot * static_cast<std::size_t>(bytes);
    __builtin_prefetch(reinterpret_cast<const void*>(at));
  }
  ValueKind kind() const { return kind_; }
  /// Which kernel reads them: by kind; the last one where a dictionary has at most 16 values.
  int kernel() const {
    const bool few = kind_ == ValueKind::dictionary && dictionary_.num_values() <= 16;
    return static_cast<int>(kind_) + (few ? 1 : 0);
  }
  const void* data() const {
    if (kind_ == ValueKind::fp64) return fp64_.data();
    if (kind_ == ValueKind::fp32) return fp32_.data();
    return codes_.data();
  }
  const double* table() const { return dictionary_.values().data(); }
  std::size_t bytes() const { return fp64_.bytes() + fp32_.bytes() + codes_.bytes(); }
  const char* words() const {
    if (kind_ == ValueKind::fp64) return "fp64";
    return kind_ == ValueKind::fp32 ? "fp32 (exact)" : "dictionary";
  }

 private:
  ValueKind kind_;
  Dictionary dictionary_;
  Aligned<double> fp64_;
  Aligned<float> fp32_;
  Aligned<std::uint8_t> codes_;
};

inline double bytes_of(ValueKind kind) {
  if (kind == ValueKind::fp64) return 8;
  return kind == ValueKind::fp32 ? 4 : 1;
}

/// One bit for each slot of a format with fill: is it an item of the matrix?
class Presence {
 public:
  Presence() = default;
  explicit Presence(std::size_t size) : bits_((size + 63) / 64, 0) {}
  void set(std::size_t i) { bits_[i / 64] |= std::uint64_t{1} << (i % 64); }
  bool operator[](std::size_t i) const {
    return bits_.empty() || ((bits_[i / 64] >> (i % 64)) & 1) != 0;
  }
  std::size_t bytes() const { return bits_.size() * 8; }

 private:
  std::vector<std::uint64_t> bits_;  ///< empty: all are
};

}  // namespace tailrace::sparse
