// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "core/last_resort.hpp"
#include "geometry.hpp"
#include "route.hpp"
#include "stages.hpp"
#include "stores.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::fft {

/// Everything that the plain and the fused transforms of one problem share.
template <class Real>
class Transform<Real>::Engine {
 public:
  static Engine& of(Transform& transform) { return *transform.engine_; }
  Engine(const Comm& comm, const Problem& problem, const Options& wanted)
      : Engine(comm, complete(comm, problem, wanted), wanted) {}

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
      if (stages.stores.stream()) fence_stores();
      if (thread == 0 && exchange != nullptr) exchange->progress();
    }
  }
  std::vector<Work<Real>> make_work(int num_panels, std::ptrdiff_t tiles) const;
  // Exchanges cut for any use; a grid with one column has none between x and y.
  std::unique_ptr<RowExchange<Real>> make_x_to_y(Cut cut) const;
  std::unique_ptr<RowExchange<Real>> make_y_to_x(Cut cut) const;
  std::unique_ptr<ColumnExchange<Real>> make_y_to_z(Cut cut) const;
  std::unique_ptr<ColumnExchange<Real>> make_z_to_y(Cut cut) const;
  /// Every exchange of every rank moves nothing: its readers read where the writers wrote.
  bool direct = false;
  std::ptrdiff_t kx_groups() const { return num_groups(g.kxs().count, lanes<Real>); }

  /// Fails on all ranks alike: `make` makes something that is collective over rows, columns or
  /// nobody, and may fail in some of them.
  template <class Make>
  auto make_on_all(Make&& make) const -> decltype(make()) {
    decltype(make()) made{};
    std::optional<Error> failure;
    try {
      made = make();
    } catch (const Error& error) {
      failure = error;
    } catch (const std::bad_alloc&) {
      failure = Error(Errc::io, "no memory for the work space of a transform", ENOMEM);
    }
    agree(everybody.raw(), failure ? &*failure : nullptr);
    return made;
  }
  template <class Exchange, class... Arguments>
  std::unique_ptr<Exchange> make_exchange(const Arguments&... arguments) const {
    return make_on_all([&] { return std::make_unique<Exchange>(arguments...); });
  }
  /// Throws if all ranks refuse the call; see `refuse_call`.
  [[noreturn]] void refuse(const std::string& fault) const {
    refuse_call(everybody, WaitPolicy{}, Error(Errc::invalid_input, "Transform: " + fault));
  }

  Options options;
  std::string grid_why;
  Comm everybody, row, column;
  Geometry g;
  Kernels<Real> kernels;
  std::string kernel_name;
  std::string stores;      ///< of store_kinds(), of each stage if they differ
  std::string reads_name;  ///< of read_kinds()
  Reads reads = Reads::plain;
  Stages<Real> stages;
  Modes modes;
  std::string row_method, column_method;  ///< as given to the exchanges; no row method on slabs
  std::string method_text;
  std::optional<Layout> physical_layout, spectral_layout;

 private:
  /// A problem with its grid filled in, and why.
  struct Planned {
    Problem problem;
    std::string grid_why;
  };
  static Planned complete(const Comm& comm, const Problem& problem, const Options& wanted);
  Engine(const Comm& comm, const Planned& planned, const Options& wanted);

  static int thread_number();
  void choose_methods(const Comm& comm);
  void make_layouts(int num_ranks);
  void make_forward_route();
  void make_backward_route();

  // One unit of one stage of field f: a plane z, or a row ky.
  template <class Item>
  void forward_x(const Item* field, int f, std::ptrdiff_t z, Work<Real>& work);
  void forward_y(int f, std::ptrdiff_t z, Work<Real>& work);
  void forward_z(int f, std::ptrdiff_t ky, Work<Real>& work, Complex* modes);
  void backward_z(const Complex* modes, int f, std::ptrdiff_t ky, Work<Real>& work);
  void backward_y(int f, std::ptrdiff_t z, Work<Real>& work);
  template <class Item>
  void backward_x(int f, std::ptrdiff_t z, Work<Real>& work, Item* field);
  void wait(BlockExchange& exchange, int piece) const;

  // Routes of plain transforms, made at first use so that a purely fused program does not pay.
  std::unique_ptr<RowExchange<Real>> x_to_y_, y_to_x_;
  std::unique_ptr<ColumnExchange<Real>> y_to_z_, z_to_y_;
  std::vector<Work<Real>> work_;
};

/// Chooses the kernel library for a problem: the named one, or the fastest by measurement on the
/// lines of this problem (rank 0 measures; all ranks use the same). Results are checked against the
/// first entry of the table. Collective, blocking. Throws `Errc::invalid_input` on all ranks.
template <class Real>
Kernels<Real> choose_kernels(const Comm& comm, const Geometry& geometry, std::string& name);

/// How stages read, by its name in read_kinds(); "auto" becomes what measures best on all ranks
/// together, where there is more than a cache holds. Collective, blocking. Throws
/// `Errc::invalid_input` on all ranks if `name` is unknown.
template <class Real>
Reads choose_reads(const Comm& comm, const Stages<Real>& stages, const Kernels<Real>& kernels,
                   std::string& name);

}  // namespace tailrace::fft
