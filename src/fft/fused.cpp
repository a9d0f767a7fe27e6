// SPDX-License-Identifier: BSD-3-Clause
// Transforms fused with the work between them. On a slab grid one plane at a time goes from
// spectral in x, y through physical space and back without leaving the cache; on a pencil grid the
// same code runs with the two exchanges of a row of ranks between its x and y parts. Exchanges are
// cut into chunks of planes (or ky), so that the first are on their way while the last are
// computed.
#include "tailrace/more/fused.hpp"

#include "engine.hpp"
#include "panel_time.hpp"
#include "tailrace/more/memory_rates.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::fft {

template <class Real>
class Fused<Real>::State {
 public:
  State(Transform<Real>& transform, const FusedShape& shape)
      : engine_(Transform<Real>::Engine::of(transform)),
        g_(engine_.g),
        stages_(engine_.stages),
        shape_(shape) {
    int chunks = engine_.options.chunks;
    if (chunks <= 0) chunks = engine_.direct ? 1 : 4;  // nothing to overlap where nothing is sent
    const auto cut = [&](int fields) { return Cut{false, fields, chunks}; };
    z_to_y_ = engine_.make_z_to_y(cut(shape.num_fields));
    y_to_z_ = engine_.make_y_to_z(cut(shape.num_exchanged));
    y_to_x_ = engine_.make_y_to_x(cut(shape.num_fields));
    x_to_y_ = engine_.make_x_to_y(cut(shape.num_products));
    const int panels =
        std::max(shape.num_fields + shape.num_products, shape.num_fields + shape.num_exchanged);
    work_ = engine_.make_work(panels, shape.num_fields + shape.num_products);
    for (int t = 0; t < engine_.options.threads; ++t) pointers_.emplace_back(shape);
  }

  void spectral_pass(FusedOperator<Real>& op, bool receive, bool send) {
    Span span(engine_.options.trace, Activity::compute, "spectral pass");
    if (receive) wait_all(y_to_z_->exchange);
    if (send) z_to_y_->exchange.acquire();
    const int chunks = z_to_y_->cut.num_pieces();
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto range = z_to_y_->cut.units(g_.kys().count, chunk);
      engine_.for_units(range.count, work_, &z_to_y_->exchange,
                        [&](std::ptrdiff_t i, Work<Real>& work, int thread) {
                          spectral_line(op, range.start + i, receive, send, work, thread);
                        });
      if (send) z_to_y_->exchange.start(chunk);
    }
    if (receive) y_to_z_->exchange.release();
  }

  void physical_pass(FusedOperator<Real>& op) {
    Span span(engine_.options.trace, Activity::compute, "physical pass");
    wait_all(z_to_y_->exchange);
    y_to_z_->exchange.acquire();
    if (g_.py == 1) {
      each_plane(y_to_z_->exchange, [&](std::ptrdiff_t z, Work<Real>& work, int thread) {
        plane_backward_y(z, work);
        plane_x(op, z, work, thread);
        plane_forward_y(op, z, work, thread);
      });
      z_to_y_->exchange.release();
      return;
    }
    y_to_x_->exchange.acquire();
    each_plane(y_to_x_->exchange,
               [&](std::ptrdiff_t z, Work<Real>& work, int) { plane_backward_y(z, work); });
    z_to_y_->exchange.release();
    x_to_y_->exchange.acquire();
    wait_all(y_to_x_->exchange);
    each_plane(x_to_y_->exchange, [&](std::ptrdiff_t z, Work<Real>& work, int thread) {
      plane_x(op, z, work, thread);
    });
    y_to_x_->exchange.release();
    wait_all(x_to_y_->exchange);
    each_plane(y_to_z_->exchange, [&](std::ptrdiff_t z, Work<Real>& work, int thread) {
      plane_forward_y(op, z, work, thread);
    });
    x_to_y_->exchange.release();
  }

  std::ptrdiff_t buffer_bytes() const {
    std::ptrdiff_t bytes = z_to_y_->exchange.buffer_bytes() + y_to_z_->exchange.buffer_bytes();
    if (y_to_x_) bytes += y_to_x_->exchange.buffer_bytes() + x_to_y_->exchange.buffer_bytes();
    for (const auto& work : work_) bytes += work.bytes();
    return bytes;
  }

  PassCosts measure_costs(double spectral_bytes) const {
    const auto rates = MemoryRates::measure(engine_.everybody, rates_bytes, 3);
    const auto number = [](std::ptrdiff_t count) { return static_cast<double>(count); };
    const auto fields = number(shape_.num_fields), products = number(shape_.num_products);
    const auto exchanged = number(shape_.num_exchanged);
    const auto unit_bytes = number(u) * sizeof(Real);
    // Bytes of one field between the stages, on this rank.
    const auto lines = number(g_.kys().count * groups());
    const auto panels_y = number(g_.zs().count * groups());
    const auto panels_x = number(g_.zs().count * num_groups(g_.ys().count, w));
    const auto at_z = lines * number(g_.z.points) * unit_bytes;
    const auto at_y = panels_y * number(g_.y.kept()) * unit_bytes;
    const auto scattered = [&](Stores stores) {
      return stores == Stores::streaming ? rates.scattered_streaming : rates.scattered_ordinary;
    };
    const auto columns = scattered(stages_.stores.columns);
    PassCosts costs;
    costs.spectral_memory_s =
        (exchanged * at_z + spectral_bytes) / rates.contiguous + fields * at_z / columns;
    costs.physical_memory_s = fields * at_y / rates.contiguous + exchanged * at_y / columns;
    if (g_.py > 1) {
      const auto at_x = panels_x * number(g_.x.kept()) * unit_bytes;
      const auto moved = (fields + products) * at_x;
      costs.physical_memory_s += moved / rates.contiguous + moved / scattered(stages_.stores.rows);
    }
    const auto seconds = [](const auto& kernel, std::ptrdiff_t n, Direction direction) {
      return panel_s<Real>(*kernel, n, direction);
    };
    const auto& kernels = engine_.kernels;
    constexpr auto forward = Direction::forward, backward = Direction::backward;
    costs.spectral_kernel_s = lines * (exchanged * seconds(kernels.z, g_.z.points, forward) +
                                       fields * seconds(kernels.z, g_.z.points, backward));
    costs.physical_kernel_s = panels_x * (fields * seconds(kernels.x, g_.x.points, backward) +
                                          products * seconds(kernels.x, g_.x.points, forward)) +
                              panels_y * (fields * seconds(kernels.y, g_.y.points, backward) +
                                          products * seconds(kernels.y, g_.y.points, forward));
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &costs, 4, MPI_DOUBLE, MPI_MAX, engine_.everybody.raw()));
    return costs;
  }

 private:
  static constexpr std::ptrdiff_t w = lanes<Real>;
  static constexpr std::ptrdiff_t u = unit<Real>;
  static constexpr std::ptrdiff_t rates_bytes = 64 << 20;  // more than most caches

  // One thread's lists of addresses for the tiles; made once.
  struct Pointers {
    explicit Pointers(const FusedShape& shape)
        : fields(static_cast<std::size_t>(shape.num_fields)),
          products(static_cast<std::size_t>(shape.num_products)),
          exchanged(static_cast<std::size_t>(shape.num_exchanged)) {}
    std::vector<Real*> fields, products, exchanged;
  };

  void wait_all(BlockExchange& exchange) {
    Span waiting(engine_.options.trace, Activity::wait, "exchange");
    for (std::ptrdiff_t piece = 0; piece < exchange.shape().num_pieces(); ++piece) {
      exchange.wait(piece);
    }
  }

  // body(z, work, thread) for the local planes, chunk by chunk into `exchange`.
  template <class Body>
  void each_plane(BlockExchange& exchange, Body&& body) {
    for (int chunk = 0; chunk < y_to_z_->cut.num_pieces(); ++chunk) {
      const auto range = y_to_z_->cut.units(g_.zs().count, chunk);
      engine_.for_units(range.count, work_, &exchange,
                        [&](std::ptrdiff_t i, Work<Real>& work, int thread) {
                          body(range.start + i, work, thread);
                        });
      exchange.start(chunk);
    }
  }

  std::ptrdiff_t groups() const { return engine_.kx_groups(); }
  // Room in a thread's tile: fields between backward y and x, then products between forward x and
  // y.
  Real* field_tile(const Work<Real>& work, int f) const {
    return work.tile() + f * stages_.tile_items();
  }
  Real* product_tile(const Work<Real>& work, int f) const {
    return field_tile(work, shape_.num_fields + f);
  }

  void spectral_line(FusedOperator<Real>& op, std::ptrdiff_t ky, bool receive, bool send,
                     Work<Real>& work, int thread) {
    auto& lists = pointers_[static_cast<std::size_t>(thread)];
    for (std::ptrdiff_t group = 0; group < groups(); ++group) {
      for (int e = 0; receive && e < shape_.num_exchanged; ++e) {
        stages_.gather_z(*y_to_z_, e, ky, group, work.panel(e), work.ahead);
        lists.exchanged[static_cast<std::size_t>(e)] =
            work.run(*engine_.kernels.z, Direction::forward, e);
      }
      const int first = shape_.num_exchanged;
      for (int f = 0; f < shape_.num_fields; ++f) {
        lists.fields[static_cast<std::size_t>(f)] = work.panel(first + f);
      }
      SpectralTile<Real> tile{ky, group * w, std::min(w, g_.kxs().count - group * w), g_.z.row, {},
                              {}, thread};
      if (receive) tile.in = lists.exchanged;
      if (send) tile.out = lists.fields;
      op.spectral(tile);
      for (int f = 0; send && f < shape_.num_fields; ++f) {
        Stages<Real>::zero_dropped(g_.z, work.panel(first + f));
        const Real* result = work.run(*engine_.kernels.z, Direction::backward, first + f);
        stages_.scatter_z(result, *z_to_y_, f, ky, group, work.ahead);
      }
    }
  }

  void plane_backward_y(std::ptrdiff_t z, Work<Real>& work) {
    for (int f = 0; f < shape_.num_fields; ++f) {
      for (std::ptrdiff_t group = 0; group < groups(); ++group) {
        stages_.gather_ky(*z_to_y_, f, z, group, work.panel(0), work.ahead);
        const Real* result = work.run(*engine_.kernels.y, Direction::backward, 0);
        stages_.scatter_y(result, group, [&](int ry, std::ptrdiff_t y_group) {
          work.ahead.fetch(w);
          return y_to_x_ ? y_to_x_->send(ry, f, z, y_group)
                         : stages_.kx_run(field_tile(work, f), y_group);
        });
      }
    }
  }

  void plane_x(FusedOperator<Real>& op, std::ptrdiff_t z, Work<Real>& work, int thread) {
    auto& lists = pointers_[static_cast<std::size_t>(thread)];
    for (std::ptrdiff_t y0 = 0; y0 < g_.ys().count; y0 += w) {
      for (int f = 0; f < shape_.num_fields; ++f) {
        stages_.gather_kx(
            [&](int ry) -> const Real* {
              return y_to_x_ ? y_to_x_->receive(ry, f, z, y0 / w)
                             : stages_.kx_run(field_tile(work, f), y0 / w);
            },
            work.panel(f));
        lists.fields[static_cast<std::size_t>(f)] =
            work.run(*engine_.kernels.x, Direction::backward, f);
      }
      for (int p = 0; p < shape_.num_products; ++p) {
        lists.products[static_cast<std::size_t>(p)] = work.panel(shape_.num_fields + p);
      }
      const auto rows = std::min(w, g_.ys().count - y0);
      op.physical({g_.zs().start + z, g_.ys().start + y0, rows, g_.x.points * w, lists.fields,
                   lists.products, thread});
      for (int p = 0; p < shape_.num_products; ++p) {
        const Real* result =
            work.run(*engine_.kernels.x, Direction::forward, shape_.num_fields + p);
        stages_.scatter_kx(result, y0, rows, [&](int ry, std::ptrdiff_t group) {
          return x_to_y_ ? x_to_y_->send(ry, p, z, group)
                         : stages_.y_run(product_tile(work, p), group);
        });
      }
    }
  }

  void plane_forward_y(FusedOperator<Real>& op, std::ptrdiff_t z, Work<Real>& work, int thread) {
    auto& lists = pointers_[static_cast<std::size_t>(thread)];
    for (std::ptrdiff_t group = 0; group < groups(); ++group) {
      for (int p = 0; p < shape_.num_products; ++p) {
        auto*& product = lists.products[static_cast<std::size_t>(p)];
        if (!x_to_y_) {  // what x left there is a panel
          product = engine_.kernels.y->run(
              Direction::forward, stages_.y_run(product_tile(work, p), group), work.panel(p));
          continue;
        }
        stages_.gather_y([&](int ry) { return x_to_y_->receive(ry, p, z, group); }, work.panel(p));
        product = work.run(*engine_.kernels.y, Direction::forward, p);
      }
      for (int rz = 0; rz < g_.pz; ++rz) {
        const auto kys = g_.ky_of[static_cast<std::size_t>(rz)];
        if (kys.count == 0) continue;
        for (int e = 0; e < shape_.num_exchanged; ++e) {
          lists.exchanged[static_cast<std::size_t>(e)] = y_to_z_->send(rz, e, 0, group, z);
        }
        op.combine({kys.start, kys.count,
                    std::span(g_.y.row).subspan(static_cast<std::size_t>(kys.start),
                                                static_cast<std::size_t>(kys.count)),
                    group * w, std::min(w, g_.kxs().count - group * w), lists.products,
                    lists.exchanged, y_to_z_->step(z),
                    stages_.stores.columns == Stores::streaming});
      }
    }
  }

  typename Transform<Real>::Engine& engine_;
  const Geometry& g_;
  const Stages<Real>& stages_;
  FusedShape shape_;
  std::unique_ptr<ColumnExchange<Real>> z_to_y_, y_to_z_;
  std::unique_ptr<RowExchange<Real>> y_to_x_, x_to_y_;  // null on a slab grid
  std::vector<Work<Real>> work_;
  std::vector<Pointers> pointers_;
};

template <class Real>
Fused<Real>::Fused(Transform<Real>& transform, const FusedShape& shape)
    : state_(std::make_unique<State>(transform, shape)) {}
template <class Real>
Fused<Real>::~Fused() = default;
template <class Real>
void Fused<Real>::spectral_pass(FusedOperator<Real>& op, bool receive, bool send) {
  state_->spectral_pass(op, receive, send);
}
template <class Real>
void Fused<Real>::physical_pass(FusedOperator<Real>& op) {
  state_->physical_pass(op);
}
template <class Real>
std::ptrdiff_t Fused<Real>::buffer_bytes() const {
  return state_->buffer_bytes();
}

template <class Real>
PassCosts Fused<Real>::measure_costs(double spectral_bytes) const {
  return state_->measure_costs(spectral_bytes);
}

template class Fused<float>;
template class Fused<double>;

}  // namespace tailrace::fft
