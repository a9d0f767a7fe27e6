// SPDX-License-Identifier: BSD-3-Clause
// The kernel, compiled once for each instruction set; LANES is the doubles of a vector,
// WIDTH how many vectors are worked on at once.
//
// A vector is LANES neighbours along r2, of all channels: the sums of the repulsion for each pair
// of channels are formed once from r1^k (numbers) and r2^-(k+1) (a table in the first-level cache),
// and used for real and imaginary part and in both directions. The operator is real but for the
// velocity gauge, which mixes the parts, so real and imaginary parts are arrays of their own and no
// complex product is ever formed. Limit: 48 bytes of a complex number pass by (x is read, y read
// and written), and 41 + 2 (links) + 4 (dipoles) products and sums of vectors of each channel are
// due in the velocity gauge, besides the terms; bench/helium_kernel.cpp says how far the kernel is.
// Bytes are not what it waits for: a vector takes as long where all fits the second-level cache.
#pragma once

#include <algorithm>
#include <numeric>

#include "kernel.hpp"
#include "kernel_next.hpp"
#include "kernel_vector.hpp"

namespace tailrace::helium {

namespace {

/// A channel that another takes something from: where its items are, and by which potential.
struct Source {
  std::ptrdiff_t offset;
  int pair;
};

/// The same through the field: the factor, and the table of what is multiplied (r, or s).
struct FieldSource {
  std::ptrdiff_t offset;
  const double* table;
  double factor;
  int slope;  ///< of the velocity gauge: place in `Work::slopes`, without part
};

/// What a call works with, on the caller's scratch; `width` vectors at a time.
struct Work {
  double* terms;    ///< factor r1^k of each term, of a row
  Vector* pairs;    ///< [pair][width] the potential between two channels
  Vector* slopes;   ///< [slope][part][width] (d/dr + s) f
  Vector* kinetic;  ///< [channel][part][width] kinetic energy but for the middle
};

/// Places for `count` items behind `at`, which moves on.
template <class Item>
Item* take(double*& at, std::size_t count) {
  Item* place = reinterpret_cast<Item*>(at);
  at += (count * sizeof(Item) + 63) / 64 * 8;
  return place;
}

/// The row under way.
struct Row {
  std::ptrdiff_t i = 0, j = 0;  ///< global, of the row and of the first column of a vector
  std::ptrdiff_t at = 0;        ///< framed place of the vector in channel 0
  std::ptrdiff_t lead = 0;      ///< lanes of the first vector that are not wanted

  /// The lane of r1 = r2 in the first vector, if it is wanted.
  std::ptrdiff_t diagonal() const { return i - j; }
  bool has_diagonal() const { return diagonal() >= lead && diagonal() < LANES; }
};

template <int width>
inline void add_up_pairs(const KernelTables& t, const Row& row, const Work& work) {
  const double* term = work.terms;
  const auto* kind = t.terms.data();
  const double* inverse = t.inverse_powers.data() + row.j;
  for (std::size_t p = 0; p < t.pairs.size(); ++p) {
    Vector w[width] = {};
    if (p < static_cast<std::size_t>(t.num_channels)) {
      const auto scalar =
          all(t.kinetic_0 + t.potentials[static_cast<std::size_t>(t.l1[p] * t.padded + row.i)]);
      const double* along = t.potentials.data() + t.l2[p] * t.padded + row.j;
      for (int u = 0; u < width; ++u) w[u] = scalar + load(along + u * LANES);
    }
    for (const auto* end = kind + t.pairs[p].num_terms; kind != end; ++kind, ++term) {
      const double* power = inverse + kind->k * t.padded;
      for (int u = 0; u < width; ++u) w[u] += *term * load(power + u * LANES);
    }
    for (int u = 0; u < width; ++u) work.pairs[p * width + static_cast<std::size_t>(u)] = w[u];
  }
  if (!row.has_diagonal()) return;
  const double r = t.r[static_cast<std::size_t>(row.i)];
  for (std::size_t p = 0; p < t.pairs.size(); ++p) {
    work.pairs[p * width][row.diagonal()] += t.pairs[p].cusp / (r * r);
  }
}

/// The kinetic energy of all channels, and what others take from them by the field, (d/dr + s) f of
/// one electron, each once: of the same eight neighbours, while these are in registers. `slope`:
/// the tables s; those of channel c and electron e from `first_slope[4 c + 2 (e - 1)]` on.
template <int parts, int width>
inline void take_differences(const KernelTask& task, const Row& row, const Work& work,
                             const double* const* slope, const int* first_slope) {
  const auto& t = *task.tables;
  const auto step = task.block->row_step, channel_step = task.block->channel_step;
  Vector* to = work.slopes;
  Vector* kinetic = work.kinetic;
  for (int c = 0; c < t.num_channels; ++c, kinetic += 2 * width) {
    Vector first[parts * width], second[parts * width], here[parts * width];
    for (int part = 0; part < parts; ++part) {
      const double* from = task.x[part] + row.at + c * channel_step;
#if LANES == 8
      Vector line[width + 2];
      for (int u = 0; u < width + 2; ++u) line[u] = load_once(from + (u - 1) * LANES);
#endif
      for (int u = 0; u < width; ++u) {
        const double* x = from + u * LANES;
        const Vector up = load_once(x + step), down = load_once(x - step);
        const Vector up_2 = load_once(x + 2 * step), down_2 = load_once(x - 2 * step);
#if LANES == 8
        const auto [left_2, left, right, right_2] = beside(line[u], line[u + 1], line[u + 2]);
        here[part * width + u] = line[u + 1];
#else
        here[part * width + u] = load(x);
        const Vector right = load_once(x + 1), left = load_once(x - 1);
        const Vector right_2 = load_once(x + 2), left_2 = load_once(x - 2);
#endif
        first[part * width + u] = t.slope_1 * (up - down) + t.slope_2 * (up_2 - down_2);
        second[part * width + u] = t.slope_1 * (right - left) + t.slope_2 * (right_2 - left_2);
        kinetic[part * width + u] = t.kinetic_1 * ((down + up) + (left + right)) +
                                    t.kinetic_2 * ((down_2 + up_2) + (left_2 + right_2));
      }
    }
    const auto* end = slope + first_slope[4 * c + 2] - first_slope[4 * c];
    for (; slope != end; ++slope) {
      const Vector s = all((*slope)[row.i]);
      for (int n = 0; n < parts * width; ++n) *to++ = first[n] + s * here[n];
    }
    end = slope + first_slope[4 * c + 4] - first_slope[4 * c + 2];
    for (; slope != end; ++slope) {
      for (int u = 0; u < width; ++u) {
        const Vector s = load(*slope + row.j + u * LANES);
        for (int part = 0; part < parts; ++part) {
          to[part * width + u] = second[part * width + u] + s * here[part * width + u];
        }
      }
      to += parts * width;
    }
  }
}

/// The kinetic energy of one part of a channel, but for the middle.
inline Vector kinetic(const KernelTables& t, const double* x, std::ptrdiff_t step) {
  const auto [left_2, left, right, right_2] = beside(x);
  return t.kinetic_1 * ((load(x - step) + load(x + step)) + (left + right)) +
         t.kinetic_2 * ((load(x - 2 * step) + load(x + 2 * step)) + (left_2 + right_2));
}

/// The inner loops over channels, with all that does not change in a call worked out before.
template <int parts, Coupling coupling>
class Loops {
 public:
  Loops(const KernelTask& task, double* scratch) : task_(task), t_(*task.tables) {
    work_.terms = take<double>(scratch, t_.terms.size());
    work_.pairs = take<Vector>(scratch, t_.pairs.size() * WIDTH);
    work_.slopes = take<Vector>(scratch, 2 * t_.dipoles.size() * WIDTH);
    work_.kinetic = take<Vector>(scratch, static_cast<std::size_t>(2 * t_.num_channels * WIDTH));
    sources_ = take<Source>(scratch, t_.links.size());
    field_sources_ = take<FieldSource>(scratch, t_.dipoles.size());
    const auto channel_step = task.block->channel_step;
    for (std::size_t n = 0; n < t_.links.size(); ++n) {
      sources_[n] = {t_.links[n].from * channel_step, t_.links[n].pair};
    }
    slopes_ = take<const double*>(scratch, t_.dipoles.size());
    first_slope_ = take<int>(scratch, static_cast<std::size_t>(4 * t_.num_channels + 1));
    add_field_sources();
  }

  void begin_row(std::ptrdiff_t i) {
    for (std::size_t n = 0; n < t_.terms.size(); ++n) {
      work_.terms[n] =
          t_.terms[n].factor * t_.powers[static_cast<std::size_t>(t_.terms[n].k * t_.padded + i)];
    }
  }

  /// All channels at `width` vectors; of their items those before `count` are wanted, and not the
  /// first `lead`.
  template <int width>
  void columns(const Row& row, std::ptrdiff_t count) {
    add_up_pairs<width>(t_, row, work_);
    if (coupling == Coupling::velocity) {
      take_differences<parts, width>(task_, row, work_, slopes_, first_slope_);
    }
    const bool whole = row.lead == 0 && count >= width * LANES && !row.has_diagonal();
    for (int c = 0; c < t_.num_channels; ++c) {
      Vector out[2][width] = {};
      channel(row, c, out);
      if (!whole) {
        finish(row, c, count, out);
      } else if (task_.before != 0) {
        finish_whole<width, true>(row, c, out);
      } else {
        finish_whole<width, false>(row, c, out);
      }
    }
  }

  KernelSums sums() const {
    return {2 * sum(input_) - input_once_, 2 * sum(with_input_) - with_input_once_,
            2 * sum(squared_) - squared_once_};
  }

 private:
  /// Dipoles, and the slopes that they ask for, each once, by channel, electron and way of l.
  void add_field_sources() {
    const auto kind_of = [](const KernelTables::Dipole& dipole) {
      return 2 * (2 * dipole.from + dipole.electron - 1) + dipole.slope % 2;
    };
    const int kinds = 4 * t_.num_channels;
    std::fill_n(first_slope_, kinds + 1, 0);
    for (const auto& dipole : t_.dipoles) first_slope_[kind_of(dipole) + 1] = 1;
    std::partial_sum(first_slope_, first_slope_ + kinds + 1, first_slope_);
    for (std::size_t n = 0; n < t_.dipoles.size(); ++n) {
      const auto& dipole = t_.dipoles[n];
      const int slope = first_slope_[kind_of(dipole)];
      slopes_[slope] = t_.slopes.data() + dipole.slope * t_.padded;
      field_sources_[n] = {dipole.from * task_.block->channel_step,
                           coupling == Coupling::length ? t_.r.data() : slopes_[slope],
                           task_.field * dipole.factor, parts * slope};
    }
  }

  template <int width>
  void channel(const Row& row, int c, Vector (&out)[2][width]) const {
    const auto place = static_cast<std::size_t>(c);
    const auto step = task_.block->row_step;
    const double* x[2] = {task_.x[0] + row.at, parts == 2 ? task_.x[1] + row.at : nullptr};
    for (int part = 0; part < parts; ++part) {
      for (int u = 0; u < width; ++u) {
        out[part][u] = coupling == Coupling::velocity
                           ? work_.kinetic[(2 * c + part) * width + u]
                           : kinetic(t_, x[part] + c * task_.block->channel_step + u * LANES, step);
      }
    }
    const Source* end = sources_ + t_.first_link[place + 1];
    for (const Source* from = sources_ + t_.first_link[place]; from != end; ++from) {
      const Vector* w = work_.pairs + from->pair * width;
      for (int part = 0; part < parts; ++part) {
        const double* y = x[part] + from->offset;
        for (int u = 0; u < width; ++u) out[part][u] += w[u] * load(y + u * LANES);
      }
    }
    if (coupling == Coupling::none) return;
    const int first = t_.first_dipole[place], second = t_.second_electron[place];
    if (coupling == Coupling::velocity) {  // -i A (d/dr + s)
      for (int n = first; n < t_.first_dipole[place + 1]; ++n) {
        const Vector* y = work_.slopes + field_sources_[n].slope * width;
        const Vector factor = all(field_sources_[n].factor);
        for (int u = 0; u < width; ++u) {
          out[0][u] += factor * y[(parts - 1) * width + u];
          out[parts - 1][u] -= factor * y[u];
        }
      }
      return;
    }
    for (int n = first; n < second; ++n) {
      const Vector s = all(field_sources_[n].table[row.i]);
      for (int u = 0; u < width; ++u) add_field(field_sources_[n], x, s, u, out);
    }
    for (int n = second; n < t_.first_dipole[place + 1]; ++n) {
      for (int u = 0; u < width; ++u) {
        add_field(field_sources_[n], x, load(field_sources_[n].table + row.j + u * LANES), u, out);
      }
    }
  }

  template <int width>
  void add_field(const FieldSource& from, const double* const (&x)[2], Vector s, int u,
                 Vector (&out)[2][width]) const {
    for (int part = 0; part < parts; ++part) {
      out[part][u] += from.factor * (s * load(x[part] + from.offset + u * LANES));
    }
  }

  /// Stores whole vectors off the diagonal, as most are, and adds them to the sums.
  template <int width, bool has_before>
  void finish_whole(const Row& row, int c, const Vector (&out)[2][width]) {
    const auto at = row.at + c * task_.block->channel_step;
    for (int part = 0; part < parts; ++part) {
      const double* x = task_.x[part] + at;
      double* to = task_.y[part] + at;
      for (int u = 0; u < width; ++u) {
        Vector y = out[part][u];
        if (has_before) y -= task_.before * load(to + u * LANES);
        const Vector x_here = load(x + u * LANES);
        store(to + u * LANES, y);
        input_ += x_here * x_here;
        with_input_ += x_here * y;
        squared_ += y * y;
      }
    }
  }

  /// Stores what is wanted and adds it to the sums.
  template <int width>
  void finish(const Row& row, int c, std::ptrdiff_t count, Vector (&out)[2][width]) {
    const auto at = row.at + c * task_.block->channel_step;

    for (int part = 0; part < parts; ++part) {
      const double* x = task_.x[part] + at;
      double* to = task_.y[part] + at;
      for (int u = 0; u < width; ++u) {
        Vector& y = out[part][u];
        if (task_.before != 0) y -= task_.before * load(to + u * LANES);
        Vector x_here = load(x + u * LANES);
        const auto lead = u == 0 ? row.lead : 0;
        if (lead == 0 && count >= (u + 1) * LANES) {
          store(to + u * LANES, y);
        } else {
          const auto end = std::clamp<std::ptrdiff_t>(count - u * LANES, lead, LANES);
          store_some(to + u * LANES, y, lead, end);
          keep_some(x_here, lead, end);
        }
        input_ += x_here * x_here;
        with_input_ += x_here * y;
        squared_ += y * y;
      }
      if (!row.has_diagonal()) continue;
      const auto lane = row.diagonal();
      input_once_ += x[lane] * x[lane];
      with_input_once_ += x[lane] * out[part][0][lane];
      squared_once_ += out[part][0][lane] * out[part][0][lane];
    }
  }

  const KernelTask& task_;
  const KernelTables& t_;
  Work work_;
  Source* sources_;
  FieldSource* field_sources_;
  const double** slopes_;  ///< tables s of what channels give by the field
  int* first_slope_;       ///< [4 channel + 2 (electron - 1) + way of l]
  Vector input_{}, with_input_{}, squared_{};
  double input_once_ = 0, with_input_once_ = 0, squared_once_ = 0;
};

/// Columns [first, end) of a row.
template <int parts, Coupling coupling>
void apply_row(const Block& block, std::ptrdiff_t i, std::ptrdiff_t first, std::ptrdiff_t end,
               Loops<parts, coupling>& loops) {
  Row row;
  row.i = block.rows.start + i;
  loops.begin_row(row.i);
  for (auto j = first - first % LANES; j < end;) {  // framed vectors stand on cache lines
    row.j = block.columns.start + j;
    row.at = block.framed + i * block.row_step + j;
    row.lead = std::max<std::ptrdiff_t>(first - j, 0);
    if (end - j > LANES) {
      loops.template columns<WIDTH>(row, end - j);
      j += WIDTH * LANES;
    } else {
      loops.template columns<1>(row, end - j);
      j += LANES;
    }
  }
}

/// Tiles of columns, so that the rows around one stay in the first-level cache.
template <int parts, Coupling coupling>
KernelSums apply_parts(const KernelTask& task) {
  constexpr std::ptrdiff_t tile = 64;
  const auto& block = *task.block;
  Loops<parts, coupling> loops(task, task.scratch);
  NextRows<parts> next(task);
  for (std::ptrdiff_t start = 0; start < block.columns.count; start += tile) {
    const auto end = std::min(start + tile, block.columns.count);
    if (task.next != nullptr) next.begin_tile(start, end);
    for (std::ptrdiff_t i = 0; i < block.rows.count; ++i) {
      const auto first = std::max(start, block.first_column(i));
      if (first >= end) break;
      if (task.next != nullptr) next.make_until(i + Block::frame);
      apply_row(block, i, first, end, loops);
    }
  }
  if (task.next != nullptr) fence_stores();
  return loops.sums();
}

KernelSums apply(const KernelTask& task) {
  const bool real = task.x[1] == nullptr;
  if (task.coupling == Coupling::velocity) return apply_parts<2, Coupling::velocity>(task);
  if (task.coupling == Coupling::length) return apply_parts<2, Coupling::length>(task);
  return real ? apply_parts<1, Coupling::none>(task) : apply_parts<2, Coupling::none>(task);
}

}  // namespace

}  // namespace tailrace::helium
