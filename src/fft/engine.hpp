// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "geometry.hpp"
#include "route.hpp"
#include "stages.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {

/// Everything that the plain and the fused transforms of one problem share.
template <class Real>
class Transform<Real>::Engine {
 public:
  Engine(const Comm& comm, const Problem& problem, const Options& options);

  template <class Item>
  void forward(std::span<const Item* const> fields, std::span<Complex* const> modes);
  template <class Item>
  void backward(std::span<const Complex* const> modes, std::span<Item* const> fields);

  std::ptrdiff_t buffer_bytes() const;
  std::string describe() const;

  // Runs body(unit, work) for units 0 ... count, on the threads of this rank; the calling thread
  // lets `exchange` advance.
  template <class Body>
  void for_units(std::ptrdiff_t count, std::vector<Work<Real>>& work, BlockExchange* exchange,
                 Body&& body) const {
#pragma omp parallel for num_threads(options.threads) schedule(static) if (options.threads > 1)
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const int thread = thread_number();
      body(i, work[static_cast<std::size_t>(thread)], thread);
      if (thread == 0 && exchange != nullptr) exchange->progress();
    }
  }
  std::vector<Work<Real>> make_work(int num_panels, std::ptrdiff_t tiles) const;

  Options options;
  Comm row, column;
  Geometry g;
  Kernels<Real> kernels;
  std::string kernel_name;
  Stages<Real> stages;
  Modes modes;
  std::optional<Layout> physical_layout, spectral_layout;

 private:
  static int thread_number();
  void forward_y(int field, std::ptrdiff_t z, Work<Real>& work, const Real* tile);
  void make_routes(bool forward_too);
  void make_layouts(int num_ranks);

  // Routes of plain transforms, made at first use so that a purely fused program does not pay.
  std::unique_ptr<XToY<Real>> x_to_y_;
  std::unique_ptr<YToZ<Real>> y_to_z_;
  std::unique_ptr<ZToY<Real>> z_to_y_;
  std::unique_ptr<YToX<Real>> y_to_x_;
  std::vector<Work<Real>> work_;
};

/// Chooses the kernel library for a problem: the named one, or the fastest by measurement on the lines
/// of this problem (rank 0 measures; all ranks use the same). Results are checked against the first
/// entry of the table. Collective, blocking. Throws `Errc::invalid_input` on all ranks.
template <class Real>
Kernels<Real> choose_kernels(const Comm& comm, const Geometry& geometry, std::string& name);

}  // namespace tailrace::fft
