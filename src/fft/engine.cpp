// SPDX-License-Identifier: BSD-3-Clause
// What plain and fused transforms of one problem share: who holds what, by which kernels, stores
// and methods.
#include "engine.hpp"

#include <omp.h>

#include <fmt/format.h>

#include "core/same_on_all.hpp"

namespace tailrace::fft {

template <class Real>
int Transform<Real>::Engine::thread_number() {
  return omp_get_thread_num();
}

namespace {

std::vector<int> numbers(const Axis& axis, Range range) {
  return {axis.k.begin() + range.start, axis.k.begin() + range.end()};
}

/// This rank's part of `num_parts`; a lone part has the node in common with `comm`.
Comm part_of(const Comm& comm, int num_parts, int part) {
  return num_parts == 1 ? comm.duplicate() : comm.split(part, comm.rank());
}

bool is_direct(const std::string& method) {
  return MethodSpec::parse(method).name == "node_direct";
}

}  // namespace

template <class Real>
auto Transform<Real>::Engine::complete(const Comm& comm, const Problem& problem,
                                       const Options& wanted) -> Planned {
  constexpr int most_threads = 4096;
  require_all(comm.raw(), wanted.threads >= 1 && wanted.threads <= most_threads,
              fmt::format("threads {}: must be 1 to {}", wanted.threads, most_threads));
  require_all(comm.raw(), wanted.chunks >= 0,
              fmt::format("chunks {}: must be 0 (chooses) or more", wanted.chunks));
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
      everybody(comm.duplicate()),
      row(part_of(comm, planned.problem.grid[0], comm.rank() / planned.problem.grid[1])),
      column(part_of(comm, planned.problem.grid[1], comm.rank() % planned.problem.grid[1])),
      g(Geometry::make(planned.problem, comm.rank())),
      kernel_name(wanted.kernel),
      reads_name(wanted.reads),
      stages(g) {
  kernels = choose_kernels<Real>(comm, g, kernel_name);
  auto work = make_work(1, 0);
  const auto transform_of = [&work](const Kernel<Real>& kernel) {
    return [&] { work.front().run(kernel, Direction::forward, 0); };  // of zeros
  };
  stages.stores = choose_stores(
      comm, wanted.stores,
      stage_shapes(g, sizeof(Real),
                   {transform_of(*kernels.x), transform_of(*kernels.y), transform_of(*kernels.z)}));
  stores = fft::describe(stages.stores);
  reads = choose_reads(comm, stages, kernels, reads_name);
  modes.order = g.problem.mode_order;
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
  direct =
      true_on_all(comm, is_direct(column_method) && (row_method.empty() || is_direct(row_method)));
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
    const auto items =
        std::max(g.py == 1 ? tiles * stages.tile_items() : 0, g.z.kept() * lanes<Real>);
    for (int t = 0; t < options.threads; ++t) {
      work.emplace_back(g, kernels, num_panels, items).ahead.use(reads);
    }
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
      "kernel {}, exchange {}, stores {}, reads {}, {} thread(s), {} bytes a field each way "
      "through the z "
      "exchange; "
      "grid {}",
      g.real() ? "real" : "complex", n[0], n[1], n[2], g.z.kept(), g.y.kept(), g.x.kept(), g.pz,
      g.py, kernel_name, method_text, stores, reads_name, options.threads, one_way, grid_why);
}

template class Transform<float>::Engine;
template class Transform<double>::Engine;

}  // namespace tailrace::fft
