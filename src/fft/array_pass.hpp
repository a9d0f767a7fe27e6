// SPDX-License-Identifier: BSD-3-Clause
// The 1D transforms along one axis of a dense array [outer][points][inner]: panels of neighbouring
// lines are read, transformed in a cache and written, so memory is read and written once. Items
// count as numbers here: a cosine transform of complex items has twice the inner ones.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "array_plan.hpp"
#include "kernel.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {

/// Panels of one thread.
template <class Real>
class PanelSpace {
 public:
  explicit PanelSpace(std::ptrdiff_t items)
      : panel_(bytes(items)), scratch_(bytes(items)), modes_(bytes(items)) {}
  Real* panel() const { return panel_.template as<Real>(); }
  Real* scratch() const { return scratch_.template as<Real>(); }
  Real* modes() const { return modes_.template as<Real>(); }
  std::ptrdiff_t num_bytes() const { return 3 * panel_.bytes(); }

 private:
  static std::ptrdiff_t bytes(std::ptrdiff_t items) {
    return items * static_cast<std::ptrdiff_t>(sizeof(Real));
  }
  Buffer panel_, scratch_, modes_;
};

template <class Real>
class ArrayPass {
 public:
  using V = Vector<Real>;
  static constexpr auto w = lanes<Real>;
  static constexpr auto u = unit<Real>;

  ArrayPass(const ArrayStep& step, int rank, std::shared_ptr<const Kernel<Real>> kernel)
      : kernel_(std::move(kernel)),
        items_(step.items),
        points_(step.points),
        kept_(step.kept),
        modes_(num_modes(step.items, step.kept)) {
    const auto box = step.before.layout().box(rank);
    outer_ = inner_ = 1;
    for (int axis = 0; axis < static_cast<int>(step.before.extents.size()); ++axis) {
      const auto extent = box.num_dims == 0 ? 0 : box.extents[static_cast<std::size_t>(axis)];
      if (axis < step.axis) outer_ *= extent;
      if (axis > step.axis) inner_ *= extent;
    }
    if (step.items == LineItems::real && step.before.is_complex) inner_ *= 2;
  }

  /// Items that each part of a `PanelSpace` needs.
  std::ptrdiff_t panel_items() const {
    return std::max((points_ + 2 + w) * u, kernel_->scratch_items());
  }
  std::ptrdiff_t num_panels() const {
    if (outer_ * inner_ == 0) return 0;
    return inner_ >= w ? outer_ * groups(inner_) : groups(outer_ * inner_);
  }

  /// The lines of one panel, from points to modes times `scale`.
  void forward(std::ptrdiff_t number, const Real* field, Real* modes, Real scale,
               const PanelSpace<Real>& space) const {
    const auto lines = find(number);
    Real* panel = space.panel();
    if (items_ == LineItems::full) {
      gather_complex(field, points_, lines, panel);
    } else {
      gather_real(field, points_, lines, panel);
    }
    Real* result = kernel_->run(Direction::forward, panel, space.scratch());
    if (items_ == LineItems::half) {
      expand(result, space.modes());
      result = space.modes();
    } else if (items_ == LineItems::full && kept_ < points_) {
      truncate(result);
    }
    if (scale != 1) multiply(result, modes_ * (items_ == LineItems::real ? w : u), scale);
    if (items_ == LineItems::real) {
      scatter_real(result, modes_, lines, modes);
    } else {
      scatter_complex(result, modes_, lines, modes);
    }
  }

  /// From modes back to points, times `scale`.
  void backward(std::ptrdiff_t number, const Real* modes, Real* field, Real scale,
                const PanelSpace<Real>& space) const {
    const auto lines = find(number);
    Real* panel = space.panel();
    if (items_ == LineItems::half) {
      gather_complex(modes, modes_, lines, space.modes());
      fold(space.modes(), panel);
    } else if (items_ == LineItems::full) {
      gather_complex(modes, modes_, lines, panel);
      if (kept_ < points_) pad(panel);
    } else {
      gather_real(modes, modes_, lines, panel);
      clear(panel + modes_ * w, (points_ - modes_) * w);
    }
    Real* result = kernel_->run(Direction::backward, panel, space.scratch());
    if (scale != 1) multiply(result, points_ * (items_ == LineItems::full ? u : w), scale);
    if (items_ == LineItems::full) {
      scatter_complex(result, points_, lines, field);
    } else {
      scatter_real(result, points_, lines, field);
    }
  }

 private:
  /// `count` neighbouring lines from number `first` on, counted over [outer][inner].
  struct Lines {
    std::ptrdiff_t first, count;
  };
  static std::ptrdiff_t groups(std::ptrdiff_t count) { return (count + w - 1) / w; }
  Lines find(std::ptrdiff_t number) const {
    if (inner_ < w) return {number * w, std::min(w, outer_ * inner_ - number * w)};
    const auto i = number % groups(inner_) * w;
    return {number / groups(inner_) * inner_ + i, std::min(w, inner_ - i)};
  }
  /// Offset of a line in an array with `length` items along the axis.
  std::ptrdiff_t offset(std::ptrdiff_t line, std::ptrdiff_t length) const {
    return line / inner_ * length * inner_ + line % inner_;
  }

  // ---- arrays and panels

  void gather_real(const Real* array, std::ptrdiff_t length, Lines lines, Real* panel) const {
    const Real* from = array + offset(lines.first, length);
    if (inner_ == 1) return load_rows<Real>(from, length, lines.count, length, panel);
    if (inner_ >= w && lines.count == w) {
      for (std::ptrdiff_t p = 0; p < length; ++p) store(panel + p * w, load(from + p * inner_));
      return;
    }
    clear(panel, length * w);
    for (std::ptrdiff_t lane = 0; lane < lines.count; ++lane) {
      from = array + offset(lines.first + lane, length);
      for (std::ptrdiff_t p = 0; p < length; ++p) panel[p * w + lane] = from[p * inner_];
    }
  }
  void scatter_real(const Real* panel, std::ptrdiff_t length, Lines lines, Real* array) const {
    Real* to = array + offset(lines.first, length);
    if (inner_ == 1) return store_rows<Real>(panel, lines.count, length, to, length);
    if (inner_ >= w && lines.count == w) {
      for (std::ptrdiff_t p = 0; p < length; ++p) store(to + p * inner_, load(panel + p * w));
      return;
    }
    for (std::ptrdiff_t lane = 0; lane < lines.count; ++lane) {
      to = array + offset(lines.first + lane, length);
      for (std::ptrdiff_t p = 0; p < length; ++p) to[p * inner_] = panel[p * w + lane];
    }
  }

  void gather_complex(const Real* array, std::ptrdiff_t length, Lines lines, Real* panel) const {
    const Real* from = array + 2 * offset(lines.first, length);
    // A complex panel is a matrix [2 length][lanes], interleaved lines are its transpose.
    if (inner_ == 1) return load_rows<Real>(from, 2 * length, lines.count, 2 * length, panel);
    if (inner_ >= w) {
      for (std::ptrdiff_t p = 0; p < length; ++p) {
        V re, im;
        load_interleaved<Real>(from + 2 * p * inner_, lines.count, re, im);
        store(panel + p * u, re);
        store(panel + p * u + w, im);
      }
      return;
    }
    clear(panel, length * u);
    for (std::ptrdiff_t lane = 0; lane < lines.count; ++lane) {
      from = array + 2 * offset(lines.first + lane, length);
      for (std::ptrdiff_t p = 0; p < length; ++p) {
        panel[p * u + lane] = from[2 * p * inner_];
        panel[p * u + w + lane] = from[2 * p * inner_ + 1];
      }
    }
  }
  void scatter_complex(const Real* panel, std::ptrdiff_t length, Lines lines, Real* array) const {
    Real* to = array + 2 * offset(lines.first, length);
    if (inner_ == 1) return store_rows<Real>(panel, lines.count, 2 * length, to, 2 * length);
    if (inner_ >= w) {
      for (std::ptrdiff_t p = 0; p < length; ++p) {
        store_interleaved<Real>(to + 2 * p * inner_, lines.count, load(panel + p * u),
                                load(panel + p * u + w));
      }
      return;
    }
    for (std::ptrdiff_t lane = 0; lane < lines.count; ++lane) {
      to = array + 2 * offset(lines.first + lane, length);
      for (std::ptrdiff_t p = 0; p < length; ++p) {
        to[2 * p * inner_] = panel[p * u + lane];
        to[2 * p * inner_ + 1] = panel[p * u + w + lane];
      }
    }
  }

  // ---- modes in panels

  static void clear(Real* items, std::ptrdiff_t count) {
    std::memset(items, 0, static_cast<std::size_t>(count) * sizeof(Real));
  }
  static void multiply(Real* items, std::ptrdiff_t count, Real factor) {
    for (std::ptrdiff_t i = 0; i < count; i += w) store(items + i, load(items + i) * factor);
  }
  /// Modes below the highest one of `kept_` points, which exists if their number is even.
  std::ptrdiff_t low() const { return (kept_ + 1) / 2; }
  /// The highest mode kept stands for two of the points' modes.
  bool joins() const { return kept_ < points_ && kept_ % 2 == 0; }

  /// r0, r1, i1, ... of a real kernel -> complex modes.
  void expand(const Real* from, Real* to) const {
    for (std::ptrdiff_t k = 0; k < modes_; ++k) {
      const bool has_imaginary = k > 0 && 2 * k < points_;
      store(to + k * u, load(from + (k == 0 ? 0 : 2 * k - 1) * w));
      store(to + k * u + w, has_imaginary ? load(from + 2 * k * w) : V{});
    }
    if (joins()) {
      store(to + low() * u, load(to + low() * u) * Real(2));
      store(to + low() * u + w, V{});
    }
  }
  /// Complex modes -> r0, r1, i1, ..., zero above those that are kept.
  void fold(const Real* from, Real* to) const {
    clear(to, points_ * w);
    for (std::ptrdiff_t k = 0; k < modes_; ++k) {
      const bool joined = joins() && k == low();
      const V re = load(from + k * u);
      store(to + (k == 0 ? 0 : 2 * k - 1) * w, joined ? re * Real(0.5) : re);
      if (k > 0 && 2 * k < points_ && !joined) store(to + 2 * k * w, load(from + k * u + w));
    }
  }
  /// All modes of a complex line -> those that are kept, in place.
  void truncate(Real* panel) const {
    const auto negative = (kept_ - 1) / 2;
    if (joins()) {
      Real* highest = panel + low() * u;
      const Real* other = panel + (points_ - low()) * u;
      store(highest, load(highest) + load(other));
      store(highest + w, load(highest + w) + load(other + w));
    }
    std::memmove(panel + (kept_ - negative) * u, panel + (points_ - negative) * u,
                 static_cast<std::size_t>(negative * u) * sizeof(Real));
  }
  /// The inverse: zero between the kept ones.
  void pad(Real* panel) const {
    const auto negative = (kept_ - 1) / 2;
    std::memmove(panel + (points_ - negative) * u, panel + (kept_ - negative) * u,
                 static_cast<std::size_t>(negative * u) * sizeof(Real));
    const auto last = kept_ - negative;  // the first mode that is dropped
    clear(panel + last * u, (points_ - negative - last) * u);
    if (!joins()) return;
    Real* highest = panel + low() * u;
    Real* other = panel + (points_ - low()) * u;
    const V re = load(highest) * Real(0.5), im = load(highest + w) * Real(0.5);
    store(highest, re);
    store(highest + w, im);
    store(other, re);
    store(other + w, im);
  }

  std::shared_ptr<const Kernel<Real>> kernel_;
  LineItems items_;
  std::ptrdiff_t points_, kept_, modes_;
  std::ptrdiff_t outer_ = 1, inner_ = 1;
};

}  // namespace tailrace::fft
