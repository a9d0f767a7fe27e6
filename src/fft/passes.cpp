// SPDX-License-Identifier: BSD-3-Clause
// Plain transforms. Forward: x and y stages plane by plane into the send blocks of the exchange
// with the z stage; then z stage line by line out of the receive blocks. Memory is read and written
// once a stage; every transposition happens between registers and cache. Limit for n points of b
// bytes on one node: 2 reads and 2 writes of n b bytes each way, so 8 n b bytes a forward and
// backward pair.
#include "engine.hpp"
#include "mode_rows.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::fft {

template <class Real>
void Transform<Real>::Engine::wait(BlockExchange& exchange, int piece) const {
  Span span(options.trace, Activity::wait, "fft exchange");
  exchange.wait(piece);
}

// Between its x and y stages a plane of a slab grid stays in the work space of the thread.
template <class Real>
template <class Item>
void Transform<Real>::Engine::forward_x(const Item* field, int f, std::ptrdiff_t z,
                                        Work<Real>& work) {
  const auto ny = g.ys().count;
  const auto nx = g.x.points;
  for (std::ptrdiff_t y0 = 0; y0 < ny; y0 += lanes<Real>) {
    const auto rows = std::min(lanes<Real>, ny - y0);
    const Item* first = field + (z * ny + y0) * nx;
    work.ahead.clear();
    work.ahead.add(first + rows * nx, rows * nx * static_cast<std::ptrdiff_t>(sizeof(Item)));
    stages.load_rows(first, rows, work.panel(0), work.ahead);
    const Real* result = work.run(*kernels.x, Direction::forward, 0);
    stages.scatter_kx(result, y0, rows, [&](int ry, std::ptrdiff_t group) {
      work.ahead.fetch(lanes<Real>);
      return g.py == 1 ? stages.y_run(work.tile(), group) : x_to_y_->send(ry, f, z, group);
    });
  }
}

template <class Real>
void Transform<Real>::Engine::forward_y(int f, std::ptrdiff_t z, Work<Real>& work) {
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    const Real* result = nullptr;
    if (g.py == 1) {  // what x left there is a panel
      result = kernels.y->run(Direction::forward, stages.y_run(work.tile(), group), work.spare());
    } else {
      stages.gather_y([&](int ry) { return x_to_y_->receive(ry, f, z, group); }, work.panel(0));
      result = work.run(*kernels.y, Direction::forward, 0);
    }
    for (int rz = 0; rz < g.pz; ++rz) {
      const auto kys = g.ky_of[static_cast<std::size_t>(rz)];
      Real* out = y_to_z_->send(rz, f, 0, group, z);
      const auto* rows = g.y.row.data() + kys.start;
      stages.scatter_units(kys.count, out, y_to_z_->step(z),
                           [&](std::ptrdiff_t ky) { return result + rows[ky] * unit<Real>; });
    }
  }
}

template <class Real>
void Transform<Real>::Engine::forward_z(int f, std::ptrdiff_t ky, Work<Real>& work,
                                        Complex* modes_) {
  const auto num_kx = g.kxs().count;
  const auto steps = g.mode_steps();
  auto* modes_of_ky = reinterpret_cast<Real*>(modes_) + 2 * ky * steps.ky;
  const auto scale = static_cast<Real>(g.problem.scale);
  const bool streams = stages.stores.modes == Stores::streaming;
  ModeRows<Real> rows(num_kx, work.tile());
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    stages.gather_z(*y_to_z_, f, ky, group, work.panel(0), work.ahead);
    const Real* result = work.run(*kernels.z, Direction::forward, 0);
    const auto kx0 = group * lanes<Real>;
    const auto count = std::min(lanes<Real>, num_kx - kx0);
    work.ahead.during([&](auto&& fetch) {
      for (std::ptrdiff_t l = 0; l < g.z.kept(); ++l) {
        const Real* in = result + g.z.row[static_cast<std::size_t>(l)] * unit<Real>;
        auto* to = modes_of_ky + 2 * l * steps.kz;
        const auto re = load(in) * scale, im = load(in + lanes<Real>) * scale;
        fetch(1);
        if (streams) {
          rows.put(to, l, kx0, re, im);
        } else {
          store_interleaved<Real>(to + 2 * kx0, count, re, im);
        }
      }
    });
  }
}

template <class Real>
void Transform<Real>::Engine::backward_z(const Complex* modes_, int f, std::ptrdiff_t ky,
                                         Work<Real>& work) {
  const auto steps = g.mode_steps();
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    stages.gather_modes(modes_ + ky * steps.ky, steps, group, work.panel(0), work.ahead);
    const Real* result = work.run(*kernels.z, Direction::backward, 0);
    stages.scatter_z(result, *z_to_y_, f, ky, group, work.ahead);
  }
}

template <class Real>
void Transform<Real>::Engine::backward_y(int f, std::ptrdiff_t z, Work<Real>& work) {
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    stages.gather_ky(*z_to_y_, f, z, group, work.panel(0), work.ahead);
    const Real* result = work.run(*kernels.y, Direction::backward, 0);
    stages.scatter_y(result, group, [&](int ry, std::ptrdiff_t y_group) {
      work.ahead.fetch(lanes<Real>);
      return g.py == 1 ? stages.kx_run(work.tile(), y_group) : y_to_x_->send(ry, f, z, y_group);
    });
  }
}

template <class Real>
template <class Item>
void Transform<Real>::Engine::backward_x(int f, std::ptrdiff_t z, Work<Real>& work, Item* field) {
  const auto ny = g.ys().count;
  const auto nx = g.x.points;
  if (g.py == 1) {  // the next plane comes while this one is written
    Stages<Real>::look_ahead(*z_to_y_, f, z, kx_groups() - 1, work.ahead, kx_groups());
  } else {
    work.ahead.clear();
  }
  for (std::ptrdiff_t y0 = 0; y0 < ny; y0 += lanes<Real>) {
    const auto y_group = y0 / lanes<Real>;
    const Real* result = nullptr;
    if (stages.kx_run_is_panel()) {
      Real* panel = stages.kx_run_as_panel(stages.kx_run(work.tile(), y_group));
      result = kernels.x->run(Direction::backward, panel, work.panel(0));
    } else {
      stages.gather_kx(
          [&](int ry) -> const Real* {
            return g.py == 1 ? stages.kx_run(work.tile(), y_group)
                             : y_to_x_->receive(ry, f, z, y_group);
          },
          work.panel(0));
      result = work.run(*kernels.x, Direction::backward, 0);
    }
    stages.store_rows(result, std::min(lanes<Real>, ny - y0), field + (z * ny + y0) * nx,
                      work.spare(), work.ahead);
  }
}

template <class Real>
template <class Item>
void Transform<Real>::Engine::forward(std::span<const Item* const> fields,
                                      std::span<Complex* const> out) {
  make_forward_route();
  const auto num_fields = static_cast<int>(fields.size());
  auto& to_z = y_to_z_->exchange;
  to_z.acquire();
  if (x_to_y_) {
    Span span(options.trace, Activity::compute, "fft x forward");
    auto& to_y = x_to_y_->exchange;
    to_y.acquire();
    for (int f = 0; f < num_fields; ++f) {
      for_units(g.zs().count, work_, &to_y, [&](std::ptrdiff_t z, Work<Real>& work, int) {
        forward_x(fields[static_cast<std::size_t>(f)], f, z, work);
      });
      to_y.start(f);
    }
  }
  {
    Span span(options.trace, Activity::compute, x_to_y_ ? "fft y forward" : "fft xy forward");
    for (int f = 0; f < num_fields; ++f) {
      if (x_to_y_) wait(x_to_y_->exchange, f);
      for_units(g.zs().count, work_, &to_z, [&](std::ptrdiff_t z, Work<Real>& work, int) {
        if (!x_to_y_) forward_x(fields[static_cast<std::size_t>(f)], f, z, work);
        forward_y(f, z, work);
      });
      to_z.start(f);
    }
    if (x_to_y_) x_to_y_->exchange.release();
  }
  Span span(options.trace, Activity::compute, "fft z forward");
  for (int f = 0; f < num_fields; ++f) {
    wait(to_z, f);
    for_units(g.kys().count, work_, &to_z, [&](std::ptrdiff_t ky, Work<Real>& work, int) {
      forward_z(f, ky, work, out[static_cast<std::size_t>(f)]);
    });
  }
  to_z.release();
}

template <class Real>
template <class Item>
void Transform<Real>::Engine::backward(std::span<const Complex* const> in,
                                       std::span<Item* const> fields) {
  make_backward_route();
  const auto num_fields = static_cast<int>(fields.size());
  auto& to_y = z_to_y_->exchange;
  to_y.acquire();
  {
    Span span(options.trace, Activity::compute, "fft z backward");
    for (int f = 0; f < num_fields; ++f) {
      for_units(g.kys().count, work_, &to_y, [&](std::ptrdiff_t ky, Work<Real>& work, int) {
        backward_z(in[static_cast<std::size_t>(f)], f, ky, work);
      });
      to_y.start(f);
    }
  }
  if (y_to_x_) y_to_x_->exchange.acquire();
  {
    Span span(options.trace, Activity::compute, y_to_x_ ? "fft y backward" : "fft yx backward");
    for (int f = 0; f < num_fields; ++f) {
      wait(to_y, f);
      for_units(g.zs().count, work_, &to_y, [&](std::ptrdiff_t z, Work<Real>& work, int) {
        backward_y(f, z, work);
        if (!y_to_x_) backward_x(f, z, work, fields[static_cast<std::size_t>(f)]);
      });
      if (y_to_x_) y_to_x_->exchange.start(f);
    }
    to_y.release();
  }
  if (!y_to_x_) return;
  Span span(options.trace, Activity::compute, "fft x backward");
  for (int f = 0; f < num_fields; ++f) {
    wait(y_to_x_->exchange, f);
    for_units(g.zs().count, work_, &y_to_x_->exchange,
              [&](std::ptrdiff_t z, Work<Real>& work, int) {
                backward_x(f, z, work, fields[static_cast<std::size_t>(f)]);
              });
  }
  y_to_x_->exchange.release();
}

#define TAILRACE_FFT_INSTANTIATE(Real)                                                        \
  template void Transform<Real>::Engine::forward(std::span<const Real* const>,                \
                                                 std::span<std::complex<Real>* const>);       \
  template void Transform<Real>::Engine::backward(std::span<const std::complex<Real>* const>, \
                                                  std::span<Real* const>);                    \
  template void Transform<Real>::Engine::forward(std::span<const std::complex<Real>* const>,  \
                                                 std::span<std::complex<Real>* const>);       \
  template void Transform<Real>::Engine::backward(std::span<const std::complex<Real>* const>, \
                                                  std::span<std::complex<Real>* const>);
TAILRACE_FFT_INSTANTIATE(float)
TAILRACE_FFT_INSTANTIATE(double)
#undef TAILRACE_FFT_INSTANTIATE

}  // namespace tailrace::fft
