// SPDX-License-Identifier: BSD-3-Clause
// Plain transforms. Forward: x and y stages plane by plane into the send blocks of the exchange with
// the z stage; then z stage line by line out of the receive blocks. Memory is read and written once a
// stage; every transposition happens between registers and cache. Limit for n points of b bytes on one
// node: 2 reads and 2 writes of n b bytes each way, so 8 n b bytes a forward and backward pair.
#include "engine.hpp"

#include <omp.h>

#include <fmt/format.h>

namespace tailrace::fft {

template <class Real>
int Transform<Real>::Engine::thread_number() {
  return omp_get_thread_num();
}

namespace {

Problem complete(const Comm& comm, const Problem& problem, const Options& options) {
  require_all(comm.raw(), options.threads >= 1,
              fmt::format("threads {}: must be at least 1", options.threads));
  const auto fault = find_fault(problem, comm.num_ranks());
  require_all(comm.raw(), fault.empty(), fault);
  Problem result = problem;
  result.grid = choose_grid(problem, comm.num_ranks());
  return result;
}

std::vector<int> numbers(const Axis& axis, Range range) {
  return {axis.k.begin() + range.start, axis.k.begin() + range.end()};
}

}  // namespace

template <class Real>
Transform<Real>::Engine::Engine(const Comm& comm, const Problem& problem, const Options& options_)
    : options(options_),
      row(comm.split(comm.rank() / complete(comm, problem, options_).grid[1], comm.rank())),
      column(comm.split(comm.rank() % complete(comm, problem, options_).grid[1], comm.rank())),
      g(Geometry::make(complete(comm, problem, options_), comm.rank())),
      kernel_name(options_.kernel),
      stages(g) {
  kernels = choose_kernels<Real>(comm, g, kernel_name);
  modes.ky = numbers(g.y, g.kys());
  modes.kz = numbers(g.z, {0, g.z.kept()});
  modes.kx = numbers(g.x, g.kxs());
  make_layouts(comm.num_ranks());
  // One small exchange tells at once, and on all ranks, whether the method can be had.
  YToZ<Real> probe(column, g, Cut{true, 1, 1}, options.method);
  options.method = std::string(probe.exchange.method());
}

template <class Real>
void Transform<Real>::Engine::make_layouts(int num_ranks) {
  const std::array<std::ptrdiff_t, 3> points = g.problem.extents;
  const std::array<int, 3> grid{g.pz, g.py, 1};
  physical_layout.emplace(blocks(points, grid));
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(num_ranks));
  for (int rank = 0; rank < num_ranks; ++rank) {
    const auto ky = g.ky_of[static_cast<std::size_t>(rank / g.py)];
    const auto kx = g.kx_of[static_cast<std::size_t>(rank % g.py)];
    if (ky.count == 0 || kx.count == 0) continue;
    boxes[static_cast<std::size_t>(rank)].push_back(
        Box{3, {0, ky.start, kx.start}, {g.z.kept(), ky.count, kx.count}});
  }
  const std::array<std::ptrdiff_t, 3> kept{g.z.kept(), g.y.kept(), g.x.kept()};
  spectral_layout.emplace(from_boxes(kept, std::move(boxes)));
}

template <class Real>
std::vector<Work<Real>> Transform<Real>::Engine::make_work(int num_panels,
                                                           std::ptrdiff_t tiles) const {
  std::vector<Work<Real>> work;
  const auto items = g.py == 1 ? tiles * stages.tile_items() : 0;
  for (int t = 0; t < options.threads; ++t) work.emplace_back(g, kernels, num_panels, items);
  return work;
}

template <class Real>
void Transform<Real>::Engine::make_routes(bool forward_too) {
  const Cut cut{true, g.problem.max_fields, 1};
  if (work_.empty()) work_ = make_work(1, 1);
  if (forward_too && !y_to_z_) {
    y_to_z_ = std::make_unique<YToZ<Real>>(column, g, cut, options.method);
    if (g.py > 1) x_to_y_ = std::make_unique<XToY<Real>>(row, g, cut, options.method);
  } else if (!forward_too && !z_to_y_) {
    z_to_y_ = std::make_unique<ZToY<Real>>(column, g, cut, options.method);
    if (g.py > 1) y_to_x_ = std::make_unique<YToX<Real>>(row, g, cut, options.method);
  }
}

// The y stage of one plane: out of `tile` (slab grids) or the first exchange, into the second.
template <class Real>
void Transform<Real>::Engine::forward_y(int field, std::ptrdiff_t z, Work<Real>& work,
                                        const Real* tile) {
  constexpr auto u = unit<Real>;
  const auto groups = num_groups(g.kxs().count, lanes<Real>);
  for (std::ptrdiff_t group = 0; group < groups; ++group) {
    stages.gather_y(
        [&](int ry) {
          return tile != nullptr ? tile + group * padded(g.y.points) * u
                                 : x_to_y_->receive(field, ry, 0, z, group);
        },
        work.panel(0));
    const Real* result = work.run(*kernels.y, Direction::forward, 0);
    for (int rz = 0; rz < g.pz; ++rz) {
      const auto kys = g.ky_of[static_cast<std::size_t>(rz)];
      if (kys.count == 0) continue;
      Real* out = y_to_z_->send(field, rz, 0, 0, group, z);
      const auto step = groups * padded(g.zs().count) * u;
      for (std::ptrdiff_t ky = 0; ky < kys.count; ++ky) {
        const auto source = g.y.row[static_cast<std::size_t>(kys.start + ky)];
        Stages<Real>::copy_unit(result + source * u, out + ky * step);
      }
    }
  }
}

template <class Real>
template <class Item>
void Transform<Real>::Engine::forward(std::span<const Item* const> fields,
                                      std::span<Complex* const> out_modes) {
  constexpr auto w = lanes<Real>;
  constexpr auto u = unit<Real>;
  make_routes(true);
  const auto num_fields = static_cast<int>(fields.size());
  const auto ny = g.ys().count;
  const auto nx = g.x.points;
  const auto x_stage = [&](int f, std::ptrdiff_t z, Work<Real>& work) {
    for (std::ptrdiff_t y0 = 0; y0 < ny; y0 += w) {
      const auto rows = std::min(w, ny - y0);
      stages.load_rows(fields[static_cast<std::size_t>(f)] + (z * ny + y0) * nx, nx, rows,
                       work.panel(0));
      const Real* result = work.run(*kernels.x, Direction::forward, 0);
      stages.scatter_kx(result, y0, rows, [&](int ry, std::ptrdiff_t group) {
        return g.py == 1 ? work.tile() + group * padded(g.y.points) * u
                         : x_to_y_->send(f, ry, 0, z, group, 0);
      });
    }
  };
  Span span(options.trace, Activity::compute, "fft forward");
  y_to_z_->exchange.acquire();
  if (g.py == 1) {
    for (int f = 0; f < num_fields; ++f) {
      for_units(g.zs().count, work_, &y_to_z_->exchange,
                [&](std::ptrdiff_t z, Work<Real>& work, int) {
                  x_stage(f, z, work);
                  forward_y(f, z, work, work.tile());
                });
      y_to_z_->exchange.start(f);
    }
  } else {
    x_to_y_->exchange.acquire();
    for (int f = 0; f < num_fields; ++f) {
      for_units(g.zs().count, work_, &x_to_y_->exchange,
                [&](std::ptrdiff_t z, Work<Real>& work, int) { x_stage(f, z, work); });
      x_to_y_->exchange.start(f);
    }
    for (int f = 0; f < num_fields; ++f) {
      x_to_y_->exchange.wait(f);
      for_units(g.zs().count, work_, &y_to_z_->exchange,
                [&](std::ptrdiff_t z, Work<Real>& work, int) { forward_y(f, z, work, nullptr); });
      y_to_z_->exchange.start(f);
    }
    x_to_y_->exchange.release();
  }
  const auto groups = num_groups(g.kxs().count, w);
  const auto num_kx = g.kxs().count;
  for (int f = 0; f < num_fields; ++f) {
    {
      Span waiting(options.trace, Activity::wait, "fft exchange");
      y_to_z_->exchange.wait(f);
    }
    Real* out = reinterpret_cast<Real*>(out_modes[static_cast<std::size_t>(f)]);
    for_units(g.kys().count, work_, &y_to_z_->exchange,
              [&](std::ptrdiff_t ky, Work<Real>& work, int) {
                for (std::ptrdiff_t group = 0; group < groups; ++group) {
                  for (int rz = 0; rz < g.pz; ++rz) {
                    const auto zs = g.z_of[static_cast<std::size_t>(rz)];
                    if (zs.count == 0) continue;
                    Stages<Real>::copy(y_to_z_->receive(f, rz, 0, ky, group),
                                       work.panel(0) + zs.start * u, zs.count);
                  }
                  const Real* result = work.run(*kernels.z, Direction::forward, 0);
                  const auto valid = std::min(w, num_kx - group * w);
                  Real* line = out + 2 * (ky * g.z.kept() * num_kx + group * w);
                  for (std::ptrdiff_t l = 0; l < g.z.kept(); ++l) {
                    const Real* in = result + g.z.row[static_cast<std::size_t>(l)] * u;
                    store_interleaved<Real>(line + 2 * l * num_kx, valid, load(in), load(in + w));
                  }
                }
              });
  }
  y_to_z_->exchange.release();
}

template <class Real>
template <class Item>
void Transform<Real>::Engine::backward(std::span<const Complex* const> in_modes,
                                       std::span<Item* const> fields) {
  constexpr auto w = lanes<Real>;
  constexpr auto u = unit<Real>;
  make_routes(false);
  const auto num_fields = static_cast<int>(fields.size());
  const auto groups = num_groups(g.kxs().count, w);
  const auto num_kx = g.kxs().count;
  Span span(options.trace, Activity::compute, "fft backward");
  z_to_y_->exchange.acquire();
  for (int f = 0; f < num_fields; ++f) {
    const Real* in = reinterpret_cast<const Real*>(in_modes[static_cast<std::size_t>(f)]);
    for_units(g.kys().count, work_, &z_to_y_->exchange,
              [&](std::ptrdiff_t ky, Work<Real>& work, int) {
                for (std::ptrdiff_t group = 0; group < groups; ++group) {
                  const auto valid = std::min(w, num_kx - group * w);
                  const Real* line = in + 2 * (ky * g.z.kept() * num_kx + group * w);
                  Real* panel = work.panel(0);
                  for (std::ptrdiff_t l = 0; l < g.z.kept(); ++l) {
                    Vector<Real> re, im;
                    load_interleaved<Real>(line + 2 * l * num_kx, valid, re, im);
                    Real* to = panel + g.z.row[static_cast<std::size_t>(l)] * u;
                    store(to, re);
                    store(to + w, im);
                  }
                  Stages<Real>::zero_dropped(g.z, panel);
                  const Real* result = work.run(*kernels.z, Direction::backward, 0);
                  const auto step = groups * padded(g.kys().count) * u;
                  for (int rz = 0; rz < g.pz; ++rz) {
                    const auto zs = g.z_of[static_cast<std::size_t>(rz)];
                    if (zs.count == 0) continue;
                    Real* to = z_to_y_->send(f, rz, 0, 0, group, ky);
                    for (std::ptrdiff_t z = 0; z < zs.count; ++z) {
                      Stages<Real>::copy_unit(result + (zs.start + z) * u, to + z * step);
                    }
                  }
                }
              });
    z_to_y_->exchange.start(f);
  }
  const auto y_stage = [&](int f, std::ptrdiff_t z, Work<Real>& work) {
    for (std::ptrdiff_t group = 0; group < groups; ++group) {
      for (int rz = 0; rz < g.pz; ++rz) {
        const auto kys = g.ky_of[static_cast<std::size_t>(rz)];
        if (kys.count == 0) continue;
        Stages<Real>::place_modes(g.y, kys, z_to_y_->receive(f, rz, 0, z, group), work.panel(0));
      }
      Stages<Real>::zero_dropped(g.y, work.panel(0));
      const Real* result = work.run(*kernels.y, Direction::backward, 0);
      stages.scatter_y(result, group, [&](int ry, std::ptrdiff_t y_group) {
        return g.py == 1 ? work.tile() + y_group * padded(g.x.kept()) * u
                         : y_to_x_->send(f, ry, 0, z, y_group, 0);
      });
    }
  };
  const auto ny = g.ys().count;
  const auto nx = g.x.points;
  const auto x_stage = [&](int f, std::ptrdiff_t z, Work<Real>& work) {
    for (std::ptrdiff_t y0 = 0; y0 < ny; y0 += w) {
      stages.gather_kx(
          [&](int ry) {
            return g.py == 1 ? work.tile() + y0 / w * padded(g.x.kept()) * u
                             : y_to_x_->receive(f, ry, 0, z, y0 / w);
          },
          work.panel(0));
      const Real* result = work.run(*kernels.x, Direction::backward, 0);
      stages.store_rows(result, std::min(w, ny - y0),
                        fields[static_cast<std::size_t>(f)] + (z * ny + y0) * nx, nx);
    }
  };
  if (g.py > 1) y_to_x_->exchange.acquire();
  for (int f = 0; f < num_fields; ++f) {
    {
      Span waiting(options.trace, Activity::wait, "fft exchange");
      z_to_y_->exchange.wait(f);
    }
    for_units(g.zs().count, work_, &z_to_y_->exchange,
              [&](std::ptrdiff_t z, Work<Real>& work, int) {
                y_stage(f, z, work);
                if (g.py == 1) x_stage(f, z, work);
              });
    if (g.py > 1) y_to_x_->exchange.start(f);
  }
  z_to_y_->exchange.release();
  if (g.py == 1) return;
  for (int f = 0; f < num_fields; ++f) {
    y_to_x_->exchange.wait(f);
    for_units(g.zs().count, work_, &y_to_x_->exchange,
              [&](std::ptrdiff_t z, Work<Real>& work, int) { x_stage(f, z, work); });
  }
  y_to_x_->exchange.release();
}

template <class Real>
std::ptrdiff_t Transform<Real>::Engine::buffer_bytes() const {
  std::ptrdiff_t bytes = 0;
  for (const auto& work : work_) bytes += work.bytes();
  if (x_to_y_) bytes += x_to_y_->exchange.buffer_bytes();
  if (y_to_z_) bytes += y_to_z_->exchange.buffer_bytes();
  if (z_to_y_) bytes += z_to_y_->exchange.buffer_bytes();
  if (y_to_x_) bytes += y_to_x_->exchange.buffer_bytes();
  return bytes;
}

template <class Real>
std::string Transform<Real>::Engine::describe() const {
  const auto& n = g.problem.extents;
  const auto one_way = g.kys().count * num_groups(g.kxs().count, lanes<Real>) * g.z.points *
                       unit<Real> * static_cast<std::ptrdiff_t>(sizeof(Real));
  return fmt::format(
      "{} transform of {} x {} x {} points (z, y, x), modes kept {} x {} x {}, {} x {} ranks, "
      "kernel {}, exchange {}, {} thread(s), {} bytes a field each way through the z exchange",
      g.real() ? "real" : "complex", n[0], n[1], n[2], g.z.kept(), g.y.kept(), g.x.kept(), g.pz,
      g.py, kernel_name, options.method, options.threads, one_way);
}

#define TAILRACE_FFT_INSTANTIATE(Real)                                                            \
  template class Transform<Real>::Engine;                                                         \
  template void Transform<Real>::Engine::forward(std::span<const Real* const>,                    \
                                                 std::span<std::complex<Real>* const>);           \
  template void Transform<Real>::Engine::backward(std::span<const std::complex<Real>* const>,     \
                                                  std::span<Real* const>);                        \
  template void Transform<Real>::Engine::forward(std::span<const std::complex<Real>* const>,      \
                                                 std::span<std::complex<Real>* const>);           \
  template void Transform<Real>::Engine::backward(std::span<const std::complex<Real>* const>,     \
                                                  std::span<std::complex<Real>* const>);
TAILRACE_FFT_INSTANTIATE(float)
TAILRACE_FFT_INSTANTIATE(double)
#undef TAILRACE_FFT_INSTANTIATE

}  // namespace tailrace::fft
