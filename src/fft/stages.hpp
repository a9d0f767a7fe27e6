// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ahead.hpp"
#include "geometry.hpp"
#include "kernel.hpp"
#include "route.hpp"
#include "stores.hpp"
#include "tailrace/more/buffer.hpp"
#include "tailrace/more/lanes.hpp"

namespace tailrace::fft {

/// The kernels of the three axes.
template <class Real>
struct Kernels {
  std::shared_ptr<const Kernel<Real>> z, y, x;
};

/// One thread's panels in cache: `panel(i)` holds the i-th panel, which a kernel may have exchanged
/// with the spare one.
template <class Real>
class Work {
 public:
  Work(const Geometry& g, const Kernels<Real>& kernels, int num_panels, std::ptrdiff_t tile_items)
      : tile_(tile_items * static_cast<std::ptrdiff_t>(sizeof(Real))) {
    const auto longest = std::max({g.z.points, g.y.points, g.x.points});
    auto items = std::max({(longest + lanes<Real>)*unit<Real>, kernels.z->scratch_items(),
                           kernels.y->scratch_items(), kernels.x->scratch_items()});
    items = (items + 63) / 64 * 64 + 64;  // an odd number of lines apart
    memory_ = Buffer((num_panels + 1) * items * static_cast<std::ptrdiff_t>(sizeof(Real)));
    for (int i = 0; i < num_panels; ++i) panels_.push_back(memory_.as<Real>() + i * items);
    spare_ = memory_.as<Real>() + num_panels * items;
  }
  Real* panel(int i) const { return panels_[static_cast<std::size_t>(i)]; }
  /// As large as a panel; what it holds is lost in the next run of a kernel.
  Real* spare() const { return spare_; }
  Real* run(const Kernel<Real>& kernel, Direction direction, int i) {
    Real*& mine = panels_[static_cast<std::size_t>(i)];
    if (kernel.run(direction, mine, spare_) == spare_) std::swap(mine, spare_);
    return mine;
  }
  /// Room for the planes of a slab grid between the x and y stages, or for what `ModeRows` carries.
  Real* tile() const { return tile_.as<Real>(); }
  std::ptrdiff_t bytes() const { return memory_.bytes() + tile_.bytes(); }
  Ahead ahead;  ///< what this thread reads next

 private:
  Buffer memory_, tile_;
  std::vector<Real*> panels_;
  Real* spare_ = nullptr;
};

/// What is done to one panel: the reads from and writes to exchanges, each fused with the
/// transposition of the next or last stage. Functions are const and used by several threads at
/// once.
template <class Real>
class Stages {
 public:
  static constexpr std::ptrdiff_t w = lanes<Real>;
  static constexpr std::ptrdiff_t u = unit<Real>;
  static constexpr auto unit_bytes = u * static_cast<std::ptrdiff_t>(sizeof(Real));
  using V = Vector<Real>;

  explicit Stages(const Geometry& geometry) : g(geometry) {
    // Where the real and imaginary lanes of each kept kx stand in the kernel's panel; -1: zero.
    for (std::size_t m = 0; m < g.x.row.size(); ++m) {
      const auto row = g.x.row[m];
      if (!g.real()) {
        re_.push_back(row * u);
        im_.push_back(row * u + w);
      } else {
        const bool real_only = row == 0 || 2 * row == g.x.points;
        re_.push_back((row == 0 ? 0 : 2 * row - 1) * w);
        im_.push_back(real_only ? -1 : 2 * row * w);
      }
    }
  }

  const Geometry& g;
  StageStores stores;
  Real backward_scale = 1;  ///< factor of what a backward transform gives

  std::ptrdiff_t kx_groups(int ry) const {
    return num_groups(g.kx_of[static_cast<std::size_t>(ry)].count, w);
  }
  std::ptrdiff_t y_groups(int ry) const {
    return num_groups(g.y_of[static_cast<std::size_t>(ry)].count, w);
  }
  /// Items of one field's plane between the x and y stages of a slab grid, each way.
  std::ptrdiff_t tile_items() const {
    return std::max(kx_groups(0) * padded(g.y.points), y_groups(0) * padded(g.x.kept())) * u;
  }

  /// Where the run of y of a kx group, or the run of kx of a y group, starts in such a plane.
  Real* y_run(Real* tile, std::ptrdiff_t kx_group) const {
    return tile + kx_group * padded(g.y.points) * u;
  }
  Real* kx_run(Real* tile, std::ptrdiff_t y_group) const {
    return tile + y_group * padded(g.x.kept()) * u;
  }

  // ---- x stage
  // -----------------------------------------------------------------------------------

  /// `rows` rows of nx points, one after another -> panel, and back. A complex panel [nx][2][w] is
  /// a real one of 2 nx points. `scratch` is as large as a panel.
  template <class Item>
  void load_rows(const Item* field, std::ptrdiff_t rows, Real* panel, Ahead& ahead) const {
    const auto items = row_items<Item>();
    ahead.during([&](auto&& fetch) {
      fft::load_rows<Real>(reinterpret_cast<const Real*>(field), items, rows, items, panel,
                           [&fetch] { fetch(w / 2); });
    });
  }
  template <class Item>
  void store_rows(const Real* panel, std::ptrdiff_t rows, Item* field, Real* scratch,
                  Ahead& ahead) const {
    const auto items = row_items<Item>();
    auto* out = reinterpret_cast<Real*>(field);
    if (stores.fields != Stores::streaming) {
      return fft::store_rows<Real>(panel, rows, items, out, items);
    }
    fft::store_rows<Real>(panel, rows, items, scratch, items);
    stream(scratch, out, rows * items, ahead);
  }
  /// Contiguous items past the caches, wherever lines begin; as many are asked for.
  static void stream(const Real* from, Real* to, std::ptrdiff_t items, Ahead& ahead) {
    constexpr std::ptrdiff_t piece = 512, line = 64;
    const auto bytes = items * static_cast<std::ptrdiff_t>(sizeof(Real));
    const auto over = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(to) % line);
    for (std::ptrdiff_t at = 0, end = 0; at < bytes; at = end) {  // pieces end with a line
      end = ahead.is_on() ? std::min(bytes, at + piece - (at == 0 ? over : 0)) : bytes;
      ahead.fetch(piece / line + 1);
      copy_loops().front()->stream_rows({}, {}, end - at,
                                        reinterpret_cast<const std::byte*>(from) + at,
                                        reinterpret_cast<std::byte*>(to) + at);
    }
  }

  /// Transformed panel of rows y0 ... y0 + rows (lanes over y) -> units with lanes over kx, at
  /// target(ry, kx group) + y * u for each owner of kx.
  template <class Target>
  void scatter_kx(const Real* panel, std::ptrdiff_t y0, std::ptrdiff_t rows,
                  Target&& target) const {
    const bool streams = rows_stream();
    for (int ry = 0; ry < g.py; ++ry) {
      const auto kxs = g.kx_of[static_cast<std::size_t>(ry)];
      for (std::ptrdiff_t group = 0; group * w < kxs.count; ++group) {
        const auto valid = std::min(w, kxs.count - group * w);
        V re[w], im[w];
        for (std::ptrdiff_t j = 0; j < w; ++j) {
          const auto m = static_cast<std::size_t>(kxs.start + group * w + (j < valid ? j : 0));
          re[j] = j < valid ? load(panel + re_[m]) : V{};
          im[j] = j < valid && im_[m] >= 0 ? load(panel + im_[m]) : V{};
        }
        transpose<Real>(re);
        transpose<Real>(im);
        Real* out = target(ry, group) + y0 * u;
        for (std::ptrdiff_t i = 0; i < rows; ++i) put(streams, out + i * u, re[i], im[i]);
      }
    }
  }

  /// source(ry) = units of that rank's kx, lanes over y -> panel for the kernel, other modes zero.
  template <class Source>
  void gather_kx(Source&& source, Real* panel) const {
    if (g.real()) {
      const auto kept = std::min(g.x.points, 2 * g.x.kept() - 1) * w;
      std::memset(panel + kept, 0, static_cast<std::size_t>(g.x.points * w - kept) * sizeof(Real));
    } else {
      zero_dropped(g.x, panel);
    }
    for (int ry = 0; ry < g.py; ++ry) {
      const auto kxs = g.kx_of[static_cast<std::size_t>(ry)];
      const Real* in = kxs.count > 0 ? source(ry) : nullptr;
      for (std::ptrdiff_t j = 0; j < kxs.count; ++j) {
        const auto m = static_cast<std::size_t>(kxs.start + j);
        store(panel + re_[m], load(in + j * u));
        if (im_[m] >= 0) store(panel + im_[m], load(in + j * u + w));
      }
    }
  }

  /// Of a slab grid, whose kx are all kept: the run of a y group is the panel for the kernel once
  /// the first real parts stand where their imaginary parts were, so it is transformed where it is.
  bool kx_run_is_panel() const {
    return g.py == 1 && g.x.kept() == (g.real() ? g.x.points / 2 + 1 : g.x.points);
  }
  Real* kx_run_as_panel(Real* run) const {
    if (!g.real()) return run;
    store(run + w, load(run));
    return run + w;
  }

  // ---- y stage
  // -----------------------------------------------------------------------------------

  /// source(ry) = units of that rank's y -> panel [ny].
  template <class Source>
  void gather_y(Source&& source, Real* panel) const {
    for (int ry = 0; ry < g.py; ++ry) {
      const auto ys = g.y_of[static_cast<std::size_t>(ry)];
      if (ys.count > 0) copy(source(ry), panel + ys.start * u, ys.count);
    }
  }
  /// Panel [ny], lanes over kx of `group` -> units with lanes over y, at target(ry, y group) + kx *
  /// u.
  template <class Target>
  void scatter_y(const Real* panel, std::ptrdiff_t group, Target&& target) const {
    const auto kx0 = group * w;
    const auto valid = std::min(w, g.kxs().count - kx0);
    const bool streams = rows_stream();
    for (int ry = 0; ry < g.py; ++ry) {
      const auto ys = g.y_of[static_cast<std::size_t>(ry)];
      for (std::ptrdiff_t yg = 0; yg * w < ys.count; ++yg) {
        const auto rows = std::min(w, ys.count - yg * w);
        const Real* in = panel + (ys.start + yg * w) * u;
        V re[w], im[w];
        for (std::ptrdiff_t i = 0; i < w; ++i) {
          re[i] = i < rows ? load(in + i * u) : V{};
          im[i] = i < rows ? load(in + i * u + w) : V{};
        }
        transpose<Real>(re);
        transpose<Real>(im);
        Real* out = target(ry, yg) + kx0 * u;
        for (std::ptrdiff_t j = 0; j < valid; ++j) put(streams, out + j * u, re[j], im[j]);
      }
    }
  }

  /// Kept ky of plane z as they arrived -> panel [ny], other modes zero.
  void gather_ky(const ColumnExchange<Real>& from, int field, std::ptrdiff_t z,
                 std::ptrdiff_t group, Real* panel, Ahead& ahead) const {
    look_ahead(from, field, z, group, ahead);
    from.for_received(field, z, group, [&](Range kys, const Real* units) {
      place_modes(g.y, kys, units, panel, ahead);
    });
    zero_dropped(g.y, panel);
  }
  /// All z of row `ky` as they arrived -> panel [nz].
  void gather_z(const ColumnExchange<Real>& from, int field, std::ptrdiff_t ky,
                std::ptrdiff_t group, Real* panel, Ahead& ahead) const {
    look_ahead(from, field, ky, group, ahead);
    from.for_received(field, ky, group, [&](Range zs, const Real* units) {
      copy_ahead(units, panel + zs.start * u, zs.count, ahead);
    });
  }
  /// Kept modes of one ky, of one kx group -> panel [nz], other modes zero. Those of the next
  /// group, or else of the next ky, are next.
  void gather_modes(const std::complex<Real>* modes, ModeSteps steps, std::ptrdiff_t group,
                    Real* panel, Ahead& ahead) const {
    const auto num_kx = g.kxs().count, kx0 = group * w;
    constexpr auto mode_bytes = static_cast<std::ptrdiff_t>(sizeof(*modes));
    const auto count = std::min(w, num_kx - kx0);
    const auto next = kx0 + w < num_kx ? kx0 + w : steps.ky;
    ahead.clear();
    ahead.add(modes + next, std::min(num_kx * mode_bytes, unit_bytes), g.z.kept(),
              steps.kz * mode_bytes);
    const auto* line = reinterpret_cast<const Real*>(modes + kx0);
    ahead.during([&](auto&& fetch) {
      for (std::ptrdiff_t l = 0; l < g.z.kept(); ++l) {
        V re, im;
        fetch(1);
        load_interleaved<Real>(line + 2 * l * steps.kz, count, re, im);
        Real* to = panel + g.z.row[static_cast<std::size_t>(l)] * u;
        store(to, re * backward_scale);
        store(to + w, im * backward_scale);
      }
    });
    zero_dropped(g.z, panel);
  }
  /// Panel [nz] of row `ky` -> the owners of the planes.
  void scatter_z(const Real* panel, const ColumnExchange<Real>& to, int field, std::ptrdiff_t ky,
                 std::ptrdiff_t group, Ahead& ahead) const {
    const auto step = to.step(ky);
    for (int rz = 0; rz < g.pz; ++rz) {
      const auto zs = g.z_of[static_cast<std::size_t>(rz)];
      Real* out = to.send(rz, field, 0, group, ky);
      ahead.during([&](auto&& fetch) {
        scatter_units(zs.count, out, step, [&](std::ptrdiff_t z) {
          fetch(2);
          return panel + (zs.start + z) * u;
        });
      });
    }
  }

  // ---- y and z stages
  // ----------------------------------------------------------------------------

  static void copy(const Real* from, Real* to, std::ptrdiff_t units) {
    std::memcpy(to, from, static_cast<std::size_t>(units * u) * sizeof(Real));
  }
  /// `count` units, the i-th from source(i), into the blocks of another stage, `step` items apart.
  template <class Source>
  void scatter_units(std::ptrdiff_t count, Real* out, std::ptrdiff_t step, Source&& source) const {
    const bool streams = stores.columns == Stores::streaming;
    const bool fetches = stores.columns == Stores::fetched;
    for (std::ptrdiff_t i = 0; i < count; ++i, out += step) {
      if (fetches && i + fetch_distance < count)
        fetch_unit(out + fetch_distance * step, unit_bytes);
      const Real* in = source(i);
      put(streams, out, load(in), load(in + w));
    }
  }
  static void copy_ahead(const Real* from, Real* to, std::ptrdiff_t units, Ahead& ahead) {
    if (!ahead.is_on()) return copy(from, to, units);
    ahead.during([&](auto&& fetch) {
      for (std::ptrdiff_t i = 0; i < units * u; i += u) {
        fetch(1);
        copy(from + i, to + i, 1);
      }
    });
  }
  /// The next kx groups of a unit of the reader follow on this one, and those of the next unit on
  /// the last.
  static void look_ahead(const ColumnExchange<Real>& from, int field, std::ptrdiff_t index,
                         std::ptrdiff_t group, Ahead& ahead, std::ptrdiff_t groups = 1) {
    ahead.clear();
    from.for_received(field, index, group, [&](Range run, const Real* units) {
      ahead.add(units + padded(run.count) * u, groups * padded(run.count) * unit_bytes);
    });
  }
  /// Kept modes `modes` of `axis`, contiguous in `from` -> their rows of a panel.
  static void place_modes(const Axis& axis, Range modes, const Real* from, Real* panel,
                          Ahead& ahead) {
    const auto low = axis.num_nonnegative;
    const auto first = std::clamp<std::ptrdiff_t>(low - modes.start, 0, modes.count);
    if (first > 0) copy_ahead(from, panel + modes.start * u, first, ahead);
    if (first < modes.count) {
      const auto row = axis.row[static_cast<std::size_t>(modes.start + first)];
      copy_ahead(from + first * u, panel + row * u, modes.count - first, ahead);
    }
  }
  /// Zeroes the rows of a panel that belong to modes which are not kept.
  static void zero_dropped(const Axis& axis, Real* panel) {
    const auto dropped = axis.points - axis.kept();
    if (dropped == 0) return;
    std::memset(panel + axis.num_nonnegative * u, 0,
                static_cast<std::size_t>(dropped * u) * sizeof(Real));
  }

 private:
  template <class Item>
  std::ptrdiff_t row_items() const {
    return g.x.points * static_cast<std::ptrdiff_t>(sizeof(Item) / sizeof(Real));
  }
  /// On a slab grid, what is between the x and y stages stays in a cache.
  bool rows_stream() const { return g.py > 1 && stores.rows == Stores::streaming; }
  static void put(bool past_caches, Real* to, V re, V im) {
    if (past_caches) {
      store_past_caches<Real>(to, re);
      store_past_caches<Real>(to + w, im);
    } else {
      store(to, re);
      store(to + w, im);
    }
  }

  std::vector<std::ptrdiff_t> re_, im_;
};

}  // namespace tailrace::fft
