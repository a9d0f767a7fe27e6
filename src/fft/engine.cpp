// SPDX-License-Identifier: BSD-3-Clause
// Plain transforms. Forward: x and y stages plane by plane into the send blocks of the exchange
// with the z stage; then z stage line by line out of the receive blocks. Memory is read and written
// once a stage; every transposition happens between registers and cache. Limit for n points of b
// bytes on one node: 2 reads and 2 writes of n b bytes each way, so 8 n b bytes a forward and
// backward pair.
#include "engine.hpp"

#include <omp.h>

#include <fmt/format.h>

namespace tailrace::fft {

template <class Real>
int Transform<Real>::Engine::thread_number() {
  return omp_get_thread_num();
}

namespace {

std::vector<int> numbers(const Axis& axis, Range range) {
  return {axis.k.begin() + range.start, axis.k.begin() + range.end()};
}

bool is_direct(const std::string& method) {
  return MethodSpec::parse(method).name == "node_direct";
}

}  // namespace

template <class Real>
auto Transform<Real>::Engine::complete(const Comm& comm, const Problem& problem,
                                       const Options& wanted) -> Planned {
  require_all(comm.raw(), wanted.threads >= 1,
              fmt::format("threads {}: must be at least 1", wanted.threads));
  const auto fault = find_fault(problem, comm.num_ranks());
  require_all(comm.raw(), fault.empty(), fault);
  const auto choice =
      choose_grid(problem, static_cast<std::ptrdiff_t>(sizeof(Complex)), NodeMap(comm));
  Planned planned{problem, choice.why};
  planned.problem.grid = choice.grid;
  return planned;
}

template <class Real>
Transform<Real>::Engine::Engine(const Comm& comm, const Planned& planned, const Options& wanted)
    : options(wanted),
      grid_why(planned.grid_why),
      everybody(comm.raw()),
      row(comm.split(comm.rank() / planned.problem.grid[1], comm.rank())),
      column(comm.split(comm.rank() % planned.problem.grid[1], comm.rank())),
      g(Geometry::make(planned.problem, comm.rank())),
      kernel_name(wanted.kernel),
      stages(g) {
  kernels = choose_kernels<Real>(comm, g, kernel_name);
  stages.stores = choose_stores(comm, wanted.stores, stage_shapes(g, sizeof(Real)));
  stores = fft::describe(stages.stores);
  modes.ky = numbers(g.y, g.kys());
  modes.kz = numbers(g.z, {0, g.z.kept()});
  modes.kx = numbers(g.x, g.kxs());
  make_layouts(comm.num_ranks());
  choose_methods(comm);
}

// Once for each communicator, by the shape of the forward transform: the way back moves as much.
template <class Real>
void Transform<Real>::Engine::choose_methods(const Comm& comm) {
  const Cut cut{true, g.problem.max_fields, 1};
  column_method = choose_method(
      comm, column, ColumnExchange<Real>::blocks(g.rz, g.kxs().count, g.ky_of, g.z_of, cut),
      options.method);
  const auto asked = options.row_method.empty() ? options.method : options.row_method;
  if (g.py > 1) {
    row_method = choose_method(
        comm, row, RowExchange<Real>::blocks(g.ry, g.zs().count, g.kx_of, g.y_of, cut), asked);
  }
  method_text = row_method.empty() || row_method == column_method
                    ? column_method
                    : fmt::format("{} in rows, {} in columns", row_method, column_method);
  int all = is_direct(column_method) && (row_method.empty() || is_direct(row_method)) ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, comm.raw()));
  direct = all != 0;
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
  return make_on_all([&] {
    std::vector<Work<Real>> work;
    const auto lines =
        stages.stores.modes == Stores::streaming ? 2 * g.z.kept() * g.kxs().count : 0;
    const auto items = std::max(g.py == 1 ? tiles * stages.tile_items() : 0, lines);
    for (int t = 0; t < options.threads; ++t) work.emplace_back(g, kernels, num_panels, items);
    return work;
  });
}

template <class Real>
auto Transform<Real>::Engine::make_x_to_y(Cut cut) const -> std::unique_ptr<RowExchange<Real>> {
  if (g.py == 1) return nullptr;
  return make_exchange<RowExchange<Real>>(row, g.ry, g.zs().count, g.kx_of, g.y_of, cut,
                                          row_method);
}
template <class Real>
auto Transform<Real>::Engine::make_y_to_x(Cut cut) const -> std::unique_ptr<RowExchange<Real>> {
  if (g.py == 1) return nullptr;
  return make_exchange<RowExchange<Real>>(row, g.ry, g.zs().count, g.y_of, g.kx_of, cut,
                                          row_method);
}
template <class Real>
auto Transform<Real>::Engine::make_y_to_z(Cut cut) const -> std::unique_ptr<ColumnExchange<Real>> {
  return make_exchange<ColumnExchange<Real>>(column, g.rz, g.kxs().count, g.ky_of, g.z_of, cut,
                                             column_method);
}
template <class Real>
auto Transform<Real>::Engine::make_z_to_y(Cut cut) const -> std::unique_ptr<ColumnExchange<Real>> {
  return make_exchange<ColumnExchange<Real>>(column, g.rz, g.kxs().count, g.z_of, g.ky_of, cut,
                                             column_method);
}

template <class Real>
void Transform<Real>::Engine::make_forward_route() {
  if (work_.empty()) work_ = make_work(1, 1);
  if (y_to_z_) return;
  const Cut cut{true, g.problem.max_fields, 1};
  x_to_y_ = make_x_to_y(cut);
  y_to_z_ = make_y_to_z(cut);
}
template <class Real>
void Transform<Real>::Engine::make_backward_route() {
  if (work_.empty()) work_ = make_work(1, 1);
  if (z_to_y_) return;
  const Cut cut{true, g.problem.max_fields, 1};
  z_to_y_ = make_z_to_y(cut);
  y_to_x_ = make_y_to_x(cut);
}

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
    stages.load_rows(field + (z * ny + y0) * nx, rows, work.panel(0));
    const Real* result = work.run(*kernels.x, Direction::forward, 0);
    stages.scatter_kx(result, y0, rows, [&](int ry, std::ptrdiff_t group) {
      return g.py == 1 ? stages.y_run(work.tile(), group) : x_to_y_->send(ry, f, z, group);
    });
  }
}

template <class Real>
void Transform<Real>::Engine::forward_y(int f, std::ptrdiff_t z, Work<Real>& work) {
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    stages.gather_y(
        [&](int ry) -> const Real* {
          return g.py == 1 ? stages.y_run(work.tile(), group) : x_to_y_->receive(ry, f, z, group);
        },
        work.panel(0));
    const Real* result = work.run(*kernels.y, Direction::forward, 0);
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
  const auto items = 2 * g.z.kept() * num_kx;
  auto* modes_of_ky = reinterpret_cast<Real*>(modes_) + ky * items;
  const bool streams = stages.stores.modes == Stores::streaming;
  auto* lines = streams ? work.tile() : modes_of_ky;
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    y_to_z_->for_received(f, ky, group, [&](Range zs, const Real* units) {
      Stages<Real>::copy(units, work.panel(0) + zs.start * unit<Real>, zs.count);
    });
    const Real* result = work.run(*kernels.z, Direction::forward, 0);
    const auto kx0 = group * lanes<Real>;
    auto* line = lines + 2 * kx0;
    for (std::ptrdiff_t l = 0; l < g.z.kept(); ++l) {
      const Real* in = result + g.z.row[static_cast<std::size_t>(l)] * unit<Real>;
      store_interleaved<Real>(line + 2 * l * num_kx, std::min(lanes<Real>, num_kx - kx0), load(in),
                              load(in + lanes<Real>));
    }
  }
  if (streams) Stages<Real>::stream(lines, modes_of_ky, items);
}

template <class Real>
void Transform<Real>::Engine::backward_z(const Complex* modes_, int f, std::ptrdiff_t ky,
                                         Work<Real>& work) {
  const auto num_kx = g.kxs().count;
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    Real* panel = work.panel(0);
    const auto kx0 = group * lanes<Real>;
    const auto* line = reinterpret_cast<const Real*>(modes_ + ky * g.z.kept() * num_kx + kx0);
    for (std::ptrdiff_t l = 0; l < g.z.kept(); ++l) {
      Vector<Real> re, im;
      load_interleaved<Real>(line + 2 * l * num_kx, std::min(lanes<Real>, num_kx - kx0), re, im);
      Real* to = panel + g.z.row[static_cast<std::size_t>(l)] * unit<Real>;
      store(to, re);
      store(to + lanes<Real>, im);
    }
    Stages<Real>::zero_dropped(g.z, panel);
    stages.scatter_z(work.run(*kernels.z, Direction::backward, 0), *z_to_y_, f, ky, group);
  }
}

template <class Real>
void Transform<Real>::Engine::backward_y(int f, std::ptrdiff_t z, Work<Real>& work) {
  for (std::ptrdiff_t group = 0; group < kx_groups(); ++group) {
    stages.gather_ky(*z_to_y_, f, z, group, work.panel(0));
    const Real* result = work.run(*kernels.y, Direction::backward, 0);
    stages.scatter_y(result, group, [&](int ry, std::ptrdiff_t y_group) {
      return g.py == 1 ? stages.kx_run(work.tile(), y_group) : y_to_x_->send(ry, f, z, y_group);
    });
  }
}

template <class Real>
template <class Item>
void Transform<Real>::Engine::backward_x(int f, std::ptrdiff_t z, Work<Real>& work, Item* field) {
  const auto ny = g.ys().count;
  const auto nx = g.x.points;
  for (std::ptrdiff_t y0 = 0; y0 < ny; y0 += lanes<Real>) {
    const auto y_group = y0 / lanes<Real>;
    stages.gather_kx(
        [&](int ry) -> const Real* {
          return g.py == 1 ? stages.kx_run(work.tile(), y_group)
                           : y_to_x_->receive(ry, f, z, y_group);
        },
        work.panel(0));
    const Real* result = work.run(*kernels.x, Direction::backward, 0);
    stages.store_rows(result, std::min(lanes<Real>, ny - y0), field + (z * ny + y0) * nx,
                      work.spare());
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
      "kernel {}, exchange {}, stores {}, {} thread(s), {} bytes a field each way through the z "
      "exchange; "
      "grid {}",
      g.real() ? "real" : "complex", n[0], n[1], n[2], g.z.kept(), g.y.kept(), g.x.kept(), g.pz,
      g.py, kernel_name, method_text, stores, options.threads, one_way, grid_why);
}

#define TAILRACE_FFT_INSTANTIATE(Real)                                                        \
  template class Transform<Real>::Engine;                                                     \
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
