// SPDX-License-Identifier: BSD-3-Clause
// The kernel, compiled once for each instruction set; LANES is the doubles of a vector.
//
// A vector is LANES neighbours along r2, of all channels: the sums of the repulsion for each pair
// of channels are formed once from r1^k (numbers) and r2^-(k+1) (a table in the first-level cache),
// and used for real and imaginary part and in both directions. The operator is real but for the
// velocity gauge, which mixes the parts, so real and imaginary parts are arrays of their own and no
// complex product is ever formed. Limit: each item is read once and written once from memory (32
// bytes of a complex number), and about 10 + 2 (links of a channel) + 4 (dipoles of it) products
// and sums of vectors a part are due, so for lmax = 2 on it is the arithmetic, not memory, that
// takes the time (docs/helium.md).
#pragma once

#include <cstring>

#include "kernel.hpp"

namespace tailrace::helium {

namespace {

typedef double Vector __attribute__((vector_size(LANES * sizeof(double))));

inline Vector load(const double* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline void store(double* to, Vector v) { std::memcpy(to, &v, sizeof v); }

inline Vector all(double value) { return Vector{} + value; }

inline double sum(Vector v) {
  double total = 0;
  for (int lane = 0; lane < LANES; ++lane) total += v[lane];
  return total;
}

/// One row of a block while it is worked on.
struct Row {
  std::ptrdiff_t i, j;  ///< global, of the row and of the vector's first column
  std::ptrdiff_t at;    ///< framed place of the vector in channel 0
  const double* terms;  ///< factor r1^k of each term
  Vector* pairs;        ///< the potential between two channels
  Vector* slopes;       ///< [channel][electron][part] df/dr
};

inline void add_up_pairs(const KernelTask& task, const Row& row, bool on_diagonal) {
  const auto& t = *task.tables;
  for (std::size_t p = 0; p < t.pairs.size(); ++p) {
    const auto& pair = t.pairs[p];
    Vector w{};
    if (p < static_cast<std::size_t>(t.num_channels)) {
      w = all(t.kinetic_0 + t.potentials[static_cast<std::size_t>(t.l1[p] * t.padded + row.i)]) +
          load(t.potentials.data() + t.l2[p] * t.padded + row.j);
    }
    for (int n = pair.first_term; n < pair.first_term + pair.num_terms; ++n) {
      const int k = t.terms[static_cast<std::size_t>(n)].k;
      w += row.terms[n] * load(t.inverse_powers.data() + k * t.padded + row.j);
    }
    if (on_diagonal) {
      const double r = t.r[static_cast<std::size_t>(row.i)];
      w[0] += pair.cusp / (r * r);
    }
    row.pairs[p] = w;
  }
}

template <int parts>
inline void take_slopes(const KernelTask& task, const Row& row) {
  const auto& t = *task.tables;
  const auto step = task.block->row_step;
  for (int c = 0; c < t.num_channels; ++c) {
    for (int part = 0; part < parts; ++part) {
      const double* x = task.framed[part] + row.at + c * task.block->channel_step;
      row.slopes[4 * c + part] = t.slope_1 * (load(x + step) - load(x - step)) +
                                 t.slope_2 * (load(x + 2 * step) - load(x - 2 * step));
      row.slopes[4 * c + 2 + part] =
          t.slope_1 * (load(x + 1) - load(x - 1)) + t.slope_2 * (load(x + 2) - load(x - 2));
    }
  }
}

/// H x of channel c at one vector.
template <int parts, Coupling coupling>
inline void channel(const KernelTask& task, const Row& row, int c, Vector (&out)[2]) {
  const auto& t = *task.tables;
  const auto step = task.block->row_step, channel_step = task.block->channel_step;
  const auto place = static_cast<std::size_t>(c);
  for (int part = 0; part < parts; ++part) {
    const double* x = task.framed[part] + row.at + c * channel_step;
    out[part] =
        t.kinetic_1 * ((load(x - step) + load(x + step)) + (load(x - 1) + load(x + 1))) +
        t.kinetic_2 * ((load(x - 2 * step) + load(x + 2 * step)) + (load(x - 2) + load(x + 2)));
  }
  for (int n = t.first_link[place]; n < t.first_link[place + 1]; ++n) {
    const auto& link = t.links[static_cast<std::size_t>(n)];
    const Vector w = row.pairs[link.pair];
    for (int part = 0; part < parts; ++part) {
      out[part] += w * load(task.framed[part] + row.at + link.from * channel_step);
    }
  }
  if (coupling == Coupling::none) return;
  for (int n = t.first_dipole[place]; n < t.first_dipole[place + 1]; ++n) {
    const auto& dipole = t.dipoles[static_cast<std::size_t>(n)];
    const double factor = task.field * dipole.factor;
    const bool first = dipole.electron == 1;
    const double* table =
        coupling == Coupling::length ? t.r.data() : t.slopes.data() + dipole.slope * t.padded;
    const Vector s = first ? all(table[row.i]) : load(table + row.j);
    Vector y[2];
    for (int part = 0; part < parts; ++part) {
      y[part] = s * load(task.framed[part] + row.at + dipole.from * channel_step);
      if (coupling == Coupling::velocity) {
        y[part] += row.slopes[4 * dipole.from + (first ? 0 : 2) + part];
      }
    }
    if (coupling == Coupling::length) {
      for (int part = 0; part < parts; ++part) out[part] += factor * y[part];
    } else {  // -i A (d/dr + s)
      out[0] += factor * y[1];
      out[parts - 1] -= factor * y[0];
    }
  }
}

template <int parts, Coupling coupling>
KernelSums apply_parts(const KernelTask& task) {
  const auto& t = *task.tables;
  const auto& block = *task.block;
  double* terms = task.scratch;
  Row row{};
  row.terms = terms;
  row.pairs = reinterpret_cast<Vector*>(terms + (t.terms.size() + 7) / 8 * 8);
  row.slopes = row.pairs + t.pairs.size();
  Vector with_input{}, squared{};
  double input_once = 0, squared_once = 0;
  for (auto i = task.rows.start; i < task.rows.end(); ++i) {
    const auto first = std::max(task.columns.start, block.first_column(i));
    row.i = block.rows.start + i;
    for (std::size_t n = 0; n < t.terms.size(); ++n) {
      terms[n] =
          t.terms[n].factor * t.powers[static_cast<std::size_t>(t.terms[n].k * t.padded + row.i)];
    }
    const auto packed = block.packed + block.before_row(i) - block.first_column(i);
    for (auto j = first; j < task.columns.end(); j += LANES) {
      const auto count = std::min<std::ptrdiff_t>(LANES, task.columns.end() - j);
      row.j = block.columns.start + j;
      row.at = block.framed + i * block.row_step + j;
      const bool on_diagonal = row.i == row.j;
      add_up_pairs(task, row, on_diagonal);
      if (coupling == Coupling::velocity) take_slopes<parts>(task, row);
      for (int c = 0; c < t.num_channels; ++c) {
        Vector out[2] = {};
        channel<parts, coupling>(task, row, c, out);
        for (int part = 0; part < parts; ++part) {
          double* to = task.packed[part] + packed + c * block.size + j;
          Vector x = load(task.framed[part] + row.at + c * block.channel_step);
          if (count == LANES) {
            store(to, out[part]);
          } else {
            for (int lane = 0; lane < LANES; ++lane) {
              if (lane < count)
                to[lane] = out[part][lane];
              else
                out[part][lane] = x[lane] = 0;
            }
          }
          with_input += x * out[part];
          squared += out[part] * out[part];
          if (!on_diagonal) continue;
          input_once += x[0] * out[part][0];
          squared_once += out[part][0] * out[part][0];
        }
      }
    }
  }
  return {2 * sum(with_input) - input_once, 2 * sum(squared) - squared_once};
}

KernelSums apply(const KernelTask& task) {
  const bool real = task.framed[1] == nullptr;
  if (task.coupling == Coupling::velocity) return apply_parts<2, Coupling::velocity>(task);
  if (task.coupling == Coupling::length) return apply_parts<2, Coupling::length>(task);
  return real ? apply_parts<1, Coupling::none>(task) : apply_parts<2, Coupling::none>(task);
}

}  // namespace

}  // namespace tailrace::helium
