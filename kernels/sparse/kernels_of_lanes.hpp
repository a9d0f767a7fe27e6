// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The kernels, in terms of the eight lanes of an instruction set: included once by each
// kernels_NAME.cpp, after its lanes_NAME.hpp. A lane is a row, and each of its products and sums is
// rounded, in the order of the columns (contraction to fused operations is off in kernels/sparse):
// so all but csr_wide have the bits of the plain reference.
#include <type_traits>

#include "sparse/coupled_of_lanes.hpp"
#include "sparse/kernels.hpp"

namespace tailrace::sparse {
namespace {

constexpr int prefetch_bytes = 2048;

/// A code of the dictionary, and one of at most 16, which fit into registers.
using Code = std::uint8_t;
struct FewCode {
  Code code;
};

/// The next eight values; codes of a dictionary are looked up.
template <class Value>
inline Lanes::D values_at(const Value* p, const double* table) {
  if constexpr (std::is_same_v<Value, FewCode>) {
    return Lanes::look_up_few(table, &p->code);
  } else if constexpr (std::is_same_v<Value, Code>) {
    return Lanes::gather(table, Lanes::indices(p));
  } else {
    return Lanes::load(p);
  }
}

/// Asks for what a stream of the matrix will give soon. The processor does so by itself only within
/// a page of 4 KiB; measured, blocks of 3: 0.6 to 0.9 of the time.
inline void prefetch(const void* stream) {
  __builtin_prefetch(static_cast<const char*>(stream) + prefetch_bytes);
}

inline unsigned count_bits(unsigned mask) {
  return static_cast<unsigned>(__builtin_popcount(mask));
}

template <int n>
void csr_wide(const CsrArrays& a, std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& to) {
  for (auto row = first; row < last; ++row) {
    auto k = a.row_starts[row];
    const auto end = a.row_starts[row + 1];
    Lanes::D sums[n];
    for (auto& sum : sums) sum = Lanes::zero();
    for (; k + num_lanes <= end; k += num_lanes) {
      prefetch(a.values + k);
      prefetch(a.columns + k);
      const auto value = Lanes::load(a.values + k);
      const auto column = Lanes::indices(a.columns + k);
      for (int i = 0; i < n; ++i) {
        const auto x = Lanes::gather(to.x + i * to.ldx, column);
        sums[i] = Lanes::add(sums[i], Lanes::multiply(value, x));
      }
    }
    const auto rest = k;
    for (int i = 0; i < n; ++i) {
      const double* x = to.x + i * to.ldx;
      double even = Lanes::sum(sums[i]);
      double odd = 0;
      for (k = rest; k + 2 <= end; k += 2) {
        even += a.values[k] * x[a.columns[k]];
        odd += a.values[k + 1] * x[a.columns[k + 1]];
      }
      if (k < end) even += a.values[k] * x[a.columns[k]];
      to.y[row + i * to.ldy] = even + odd;
    }
  }
}

inline void put_rows(const SellArrays& a, std::ptrdiff_t chunk, double* y, Lanes::D sum) {
  const auto place = chunk * num_lanes;
  const auto left = a.rows - place;
  const int count = left < num_lanes ? static_cast<int>(left) : num_lanes;
  if (a.order == nullptr && count == num_lanes) {
    Lanes::store(y + place, sum);
  } else if (a.order == nullptr) {
    Lanes::store_first(y + place, sum, count);
  } else {
    double items[num_lanes];
    Lanes::store(items, sum);
    for (int i = 0; i < count; ++i) y[a.order[place + i]] = items[i];
  }
}

template <class Column, class Value, int n>
void sell(const SellArrays& a, std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& to) {
  constexpr bool based = !std::is_same_v<Column, std::int32_t>;
  const auto* value = static_cast<const Value*>(a.values);
  const auto* column = static_cast<const Column*>(a.columns);
  const auto* base = a.bases;
  const auto* mask = a.masks;
  for (auto chunk = first; chunk < last; ++chunk) {
    Lanes::D sums[n];
    for (auto& sum : sums) sum = Lanes::zero();
    const auto full = a.full[chunk];
    const double* x = to.x;
    prefetch(value);
    prefetch(column);
    for (std::int32_t j = 0; j < full; ++j) {
      if constexpr (sizeof(Value) > 1) prefetch(value);
      if constexpr (sizeof(Column) > 1) prefetch(column);
      const auto v = values_at(value, a.table);
      const auto c = Lanes::indices(column);
      if constexpr (based) x = to.x + *base++;
      for (int i = 0; i < n; ++i) {
        const auto items = Lanes::gather(x + i * to.ldx, c);
        sums[i] = Lanes::add(sums[i], Lanes::multiply(v, items));
      }
      value += num_lanes;
      column += num_lanes;
    }
    for (auto j = full; j < a.longest[chunk]; ++j) {
      const unsigned on = *mask++;
      const auto v = Lanes::spread(on, values_at(value, a.table));
      const auto c = Lanes::spread(on, Lanes::indices(column));
      if constexpr (based) x = to.x + *base++;
      for (int i = 0; i < n; ++i) {
        const auto items = Lanes::gather(x + i * to.ldx, c);
        sums[i] = Lanes::add_where(on, sums[i], Lanes::multiply(v, items));
      }
      value += count_bits(on);
      column += count_bits(on);
    }
    // Columns of rows come in no order that the processor would find: what is new of x is asked for
    // here, near the diagonal each line once (measured, rows of 1 to 3 items: a third of the time).
    if (a.near_diagonal) x = to.x + chunk * num_lanes;
    for (int i = 0; i < n; ++i) {
      if constexpr (based) __builtin_prefetch(x + i * to.ldx + a.ahead);
      put_rows(a, chunk, to.y + i * to.ldy, sums[i]);
    }
  }
}

template <int size, class Value, int n>
void block_csr(const BlockArrays& a, std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& to) {
  using L = std::conditional_t<size <= 4, HalfLanes, Lanes>;
  constexpr int parts = (size + L::width - 1) / L::width;
  for (auto row = first; row < last; ++row) {
    typename L::D sums[n][parts];
    for (auto& of_vector : sums) {
      for (auto& sum : of_vector) sum = L::zero();
    }
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto* block = static_cast<const Value*>(a.values) + k * size * size;
      const double* x = to.x + static_cast<std::ptrdiff_t>(a.columns[k]) * size;
      if constexpr (size < num_lanes) prefetch(block);
      for (int j = 0; j < size; ++j) {
        if constexpr (size >= num_lanes) prefetch(block + j * size);
        for (int p = 0; p < parts; ++p) {
          const auto v = L::load(block + j * size + p * L::width);
          for (int i = 0; i < n; ++i) {
            const auto item = L::all(x[j + i * to.ldx]);
            sums[i][p] = L::add(sums[i][p], L::multiply(v, item));
          }
        }
      }
    }
    for (int i = 0; i < n; ++i) {
      for (int p = 0; p < parts; ++p) {
        const int left = size - p * L::width;
        L::store_first(to.y + row * size + p * L::width + i * to.ldy, sums[i][p],
                       left < L::width ? left : L::width);
      }
    }
  }
}

/// `block_csr` where sums need not have the bits of the reference: half as many operations, which
/// let memory come as fast as it can without being asked for (measured, blocks of 15: 0.85 of the
/// time).
template <int size, class Value>
void block_fused(const BlockArrays& a, std::ptrdiff_t first, std::ptrdiff_t last,
                 const Vectors& to) {
  constexpr int parts = (size + num_lanes - 1) / num_lanes;
  for (auto row = first; row < last; ++row) {
    Lanes::D sums[parts];
    for (auto& sum : sums) sum = Lanes::zero();
    for (auto k = a.row_starts[row]; k < a.row_starts[row + 1]; ++k) {
      const auto* block = static_cast<const Value*>(a.values) + k * size * size;
      const double* x = to.x + static_cast<std::ptrdiff_t>(a.columns[k]) * size;
      for (int j = 0; j < size; ++j) {
        const auto item = Lanes::all(x[j]);
        for (int p = 0; p < parts; ++p) {
          const auto v = Lanes::load(block + j * size + p * num_lanes);
          sums[p] = Lanes::add_product(sums[p], v, item);
        }
      }
    }
    for (int p = 0; p < parts; ++p) {
      const int left = size - p * num_lanes;
      Lanes::store_first(to.y + row * size + p * num_lanes, sums[p],
                         left < num_lanes ? left : num_lanes);
    }
  }
}

/// Eight items of x from `at` on, of which some lie outside: those lanes have 0.
inline Lanes::D items_at_edge(const double* x, std::ptrdiff_t at, std::ptrdiff_t columns) {
  double items[num_lanes] = {};
  for (int lane = 0; lane < num_lanes; ++lane) {
    if (at + lane >= 0 && at + lane < columns) items[lane] = x[at + lane];
  }
  return Lanes::load(items);
}

template <class Value, int n>
void dia(const DiaArrays& a, std::ptrdiff_t first, std::ptrdiff_t last, const Vectors& to) {
  const auto* value = static_cast<const Value*>(a.values) + first * a.num_diagonals * num_lanes;
  for (auto chunk = first; chunk < last; ++chunk) {
    Lanes::D sums[n];
    for (auto& sum : sums) sum = Lanes::zero();
    const auto row = chunk * num_lanes;
    prefetch(value);
    for (std::ptrdiff_t d = 0; d < a.num_diagonals; ++d, value += num_lanes) {
      if constexpr (sizeof(Value) > 1) prefetch(value);
      const auto at = row + a.offsets[d];
      if (at >= 0 && at + num_lanes <= a.columns) {
        const auto v = values_at(value, a.table);
        for (int i = 0; i < n; ++i) {
          const auto items = Lanes::load(to.x + i * to.ldx + at);
          sums[i] = Lanes::add(sums[i], Lanes::multiply(v, items));
        }
      } else if (at > -num_lanes && at < a.columns) {
        const auto v = values_at(value, a.table);
        for (int i = 0; i < n; ++i) {
          const auto items = items_at_edge(to.x + i * to.ldx, at, a.columns);
          sums[i] = Lanes::add(sums[i], Lanes::multiply(v, items));
        }
      }
    }
    const auto left = a.rows - row;
    for (int i = 0; i < n; ++i) {
      Lanes::store_first(to.y + row + i * to.ldy, sums[i],
                         left < num_lanes ? static_cast<int>(left) : num_lanes);
    }
  }
}

/// Forward: work = b + values * work, by chunks. Backward: work = (work + values * work) * inverse,
/// from the last chunk on, and x is work in the order of rows.
template <class Column, class Value>
void level_rows(const LevelArrays& a, const double* b, double* work, double* x) {
  constexpr bool based = !std::is_same_v<Column, std::int32_t>;
  const bool forward = a.inverse == nullptr;
  const auto* value = static_cast<const Value*>(a.values);
  const auto* column = static_cast<const Column*>(a.columns);
  const auto* base = a.bases;
  const auto* mask = a.masks;
  for (std::ptrdiff_t step = 0; step < a.num_chunks; ++step) {
    const auto chunk = forward ? step : a.num_chunks - 1 - step;
    const auto rows = Lanes::indices(a.row_of_slot + chunk * num_lanes);
    auto sum = forward ? Lanes::gather(b, rows) : Lanes::load(work + chunk * num_lanes);
    for (std::int32_t j = 0; j < a.full[step]; ++j) {
      prefetch(value);
      prefetch(column);
      const double* from = based ? work + *base++ : work;
      const auto items = Lanes::gather(from, Lanes::indices(column));
      sum = Lanes::add(sum, Lanes::multiply(Lanes::load(value), items));
      value += num_lanes;
      column += num_lanes;
    }
    for (auto j = a.full[step]; j < a.longest[step]; ++j) {
      const unsigned on = *mask++;
      const auto v = Lanes::spread(on, Lanes::load(value));
      const double* from = based ? work + *base++ : work;
      const auto items = Lanes::gather(from, Lanes::spread(on, Lanes::indices(column)));
      sum = Lanes::add_where(on, sum, Lanes::multiply(v, items));
      value += count_bits(on);
      column += count_bits(on);
    }
    if (!forward) {
      sum = Lanes::multiply(sum, Lanes::load(a.inverse + chunk * num_lanes));
      Lanes::scatter_first(x, rows, sum, a.counts[chunk]);
    }
    Lanes::store(work + chunk * num_lanes, sum);
  }
}

template <class Column>
constexpr void set_sell(SellKernel (&kernels)[4][2]) {
  kernels[0][0] = sell<Column, double, 1>;
  kernels[0][1] = sell<Column, double, block_vectors>;
  kernels[1][0] = sell<Column, float, 1>;
  kernels[1][1] = sell<Column, float, block_vectors>;
  kernels[2][0] = sell<Column, Code, 1>;
  kernels[2][1] = sell<Column, Code, block_vectors>;
  kernels[3][0] = sell<Column, FewCode, 1>;
  kernels[3][1] = sell<Column, FewCode, block_vectors>;
}

template <int size>
constexpr void set_blocks(Kernels& kernels) {
  kernels.block[size][0][0] = block_csr<size, double, 1>;
  kernels.block[size][0][1] = block_csr<size, double, block_vectors>;
  kernels.block[size][1][0] = block_csr<size, float, 1>;
  kernels.block[size][1][1] = block_csr<size, float, block_vectors>;
  if constexpr (size < num_lanes) {
    kernels.block_fused[size][0] = block_csr<size, double, 1>;
    kernels.block_fused[size][1] = block_csr<size, float, 1>;
  } else {
    kernels.block_fused[size][0] = block_fused<size, double>;
    kernels.block_fused[size][1] = block_fused<size, float>;
  }
  if constexpr (size < 16) set_blocks<size + 1>(kernels);
}

constexpr Kernels kernels_of_lanes() {
  Kernels kernels{};
  kernels.csr_wide[0] = csr_wide<1>;
  kernels.csr_wide[1] = csr_wide<block_vectors>;
  set_sell<std::uint8_t>(kernels.sell[0]);
  set_sell<std::uint16_t>(kernels.sell[1]);
  set_sell<std::int32_t>(kernels.sell[2]);
  kernels.dia[0][0] = dia<double, 1>;
  kernels.dia[0][1] = dia<double, block_vectors>;
  kernels.dia[1][0] = dia<float, 1>;
  kernels.dia[1][1] = dia<float, block_vectors>;
  kernels.dia[2][0] = dia<Code, 1>;
  kernels.dia[2][1] = dia<Code, block_vectors>;
  kernels.dia[3][0] = dia<FewCode, 1>;
  kernels.dia[3][1] = dia<FewCode, block_vectors>;
  set_blocks<2>(kernels);
  set_coupled<1>(kernels);
  kernels.level_rows[0][0] = level_rows<std::uint16_t, double>;
  kernels.level_rows[0][1] = level_rows<std::uint16_t, float>;
  kernels.level_rows[1][0] = level_rows<std::int32_t, double>;
  kernels.level_rows[1][1] = level_rows<std::int32_t, float>;
  return kernels;
}

}  // namespace
}  // namespace tailrace::sparse
