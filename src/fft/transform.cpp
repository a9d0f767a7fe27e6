// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/last_resort.hpp"
#include "core/same_on_all.hpp"
#include "engine.hpp"
#include "move/block_exchange.hpp"

namespace tailrace::fft {

namespace {

// Calls body(first, count) for groups of at most `most` of `total` fields.
template <class Body>
void in_groups(std::size_t total, int most, Body&& body) {
  for (std::size_t first = 0; first < total; first += static_cast<std::size_t>(most)) {
    body(first, std::min(static_cast<std::size_t>(most), total - first));
  }
}

/// Threads may differ.
void require_agreement(const Comm& comm, const Problem& problem, const Options& wanted,
                       std::size_t real_bytes) {
  const auto numbers_of = [](const auto& list) {
    return fmt::format("{}", fmt::join(list, " x "));
  };
  const bool real = problem.kind == Kind::real_to_complex;
  const std::array arguments{
      CommonArgument{"precision", real_bytes == 4 ? "single" : "double"},
      CommonArgument{"kind", real ? "real_to_complex" : "complex_to_complex"},
      CommonArgument{"extents", numbers_of(problem.extents)},
      CommonArgument{"cutoff", numbers_of(problem.cutoff)},
      CommonArgument{"grid", numbers_of(problem.grid)},
      CommonArgument{"max_fields", std::to_string(problem.max_fields)},
      CommonArgument{"mode_order",
                     problem.mode_order == ModeOrder::ky_kz_kx ? "ky_kz_kx" : "kz_ky_kx"},
      CommonArgument{"scale", fmt::format("{}", problem.scale)},
      CommonArgument{"kernel", wanted.kernel},
      CommonArgument{"method", wanted.method},
      CommonArgument{"row_method", wanted.row_method},
      CommonArgument{"stores", wanted.stores},
      CommonArgument{"reads", wanted.reads},
      CommonArgument{"chunks", std::to_string(wanted.chunks)}};
  require_same(comm, "Transform", arguments);
}

/// The addresses of arrays, of which each must hold `num_items` items.
template <class Item, class Engine>
std::vector<Item*> checked(const Engine& engine, std::initializer_list<std::span<Item>> arrays,
                           std::ptrdiff_t num_items, std::string_view what) {
  std::vector<Item*> places;
  for (const auto& array : arrays) {
    if (std::ssize(array) != num_items) {
      engine.refuse(
          fmt::format("the {} array of field {} holds {} items, but this rank's part has {}", what,
                      places.size(), array.size(), num_items));
    }
    places.push_back(array.data());
  }
  return places;
}

template <class Engine>
void check_call(const Engine& engine, bool kind_fits, std::size_t inputs, std::size_t outputs) {
  if (!kind_fits) engine.refuse("it is of the other kind (real or complex physical arrays)");
  if (inputs != outputs) {
    engine.refuse(fmt::format("{} input fields and {} output fields: the numbers must be equal",
                              inputs, outputs));
  }
}

}  // namespace

template <class Real>
Transform<Real>::Transform(const Comm& comm, const Problem& problem, const Options& options)
    : engine_(make_together(comm, "Transform", [&] {
        require_agreement(comm, problem, options, sizeof(Real));
        return std::make_unique<Engine>(comm, problem, options);
      })) {}
template <class Real>
Transform<Real>::~Transform() = default;
template <class Real>
Transform<Real>::Transform(Transform&&) noexcept = default;

template <class Real>
const Layout& Transform<Real>::physical_layout() const {
  return *engine_->physical_layout;
}
template <class Real>
Box Transform<Real>::physical_box() const {
  const auto& g = engine_->g;
  return Box{3, {g.zs().start, g.ys().start, 0}, {g.zs().count, g.ys().count, g.x.points}};
}
template <class Real>
const Layout& Transform<Real>::spectral_layout() const {
  return *engine_->spectral_layout;
}
template <class Real>
Memory Transform<Real>::spectral_memory() const {
  const auto& g = engine_->g;
  Memory memory;
  memory.num_items = engine_->modes.num_modes();
  if (memory.num_items == 0) return memory;
  const auto steps = g.mode_steps();
  memory.boxes.push_back({0, {steps.kz, steps.ky, 1}});
  return memory;
}
template <class Real>
const Modes& Transform<Real>::modes() const {
  return engine_->modes;
}
template <class Real>
std::array<std::ptrdiff_t, 3> Transform<Real>::spectral_extents() const {
  return {engine_->g.z.kept(), engine_->g.y.kept(), engine_->g.x.kept()};
}

template <class Real>
void Transform<Real>::forward(FieldList<const Real> fields, FieldList<Complex> out) {
  check_call(*engine_, engine_->g.real(), fields.size(), out.size());
  const auto from = checked(*engine_, fields, physical_box().num_items(), "physical");
  forward(std::span<const Real* const>(from),
          std::span<Complex* const>(checked(*engine_, out, modes().num_modes(), "spectral")));
}
template <class Real>
void Transform<Real>::backward(FieldList<const Complex> in, FieldList<Real> fields) {
  check_call(*engine_, engine_->g.real(), in.size(), fields.size());
  const auto from = checked(*engine_, in, modes().num_modes(), "spectral");
  backward(
      std::span<const Complex* const>(from),
      std::span<Real* const>(checked(*engine_, fields, physical_box().num_items(), "physical")));
}
template <class Real>
void Transform<Real>::forward(FieldList<const Complex> fields, FieldList<Complex> out) {
  check_call(*engine_, !engine_->g.real(), fields.size(), out.size());
  const auto from = checked(*engine_, fields, physical_box().num_items(), "physical");
  forward(std::span<const Complex* const>(from),
          std::span<Complex* const>(checked(*engine_, out, modes().num_modes(), "spectral")));
}
template <class Real>
void Transform<Real>::backward(FieldList<const Complex> in, FieldList<Complex> fields) {
  check_call(*engine_, !engine_->g.real(), in.size(), fields.size());
  const auto from = checked(*engine_, in, modes().num_modes(), "spectral");
  backward(
      std::span<const Complex* const>(from),
      std::span<Complex* const>(checked(*engine_, fields, physical_box().num_items(), "physical")));
}

template <class Real>
void Transform<Real>::forward(std::span<const Real* const> fields, std::span<Complex* const> out) {
  check_call(*engine_, engine_->g.real(), fields.size(), out.size());
  in_groups(fields.size(), problem().max_fields, [&](std::size_t first, std::size_t count) {
    engine_->template forward<Real>(fields.subspan(first, count), out.subspan(first, count));
  });
}
template <class Real>
void Transform<Real>::backward(std::span<const Complex* const> in, std::span<Real* const> fields) {
  check_call(*engine_, engine_->g.real(), in.size(), fields.size());
  in_groups(fields.size(), problem().max_fields, [&](std::size_t first, std::size_t count) {
    engine_->template backward<Real>(in.subspan(first, count), fields.subspan(first, count));
  });
}
template <class Real>
void Transform<Real>::forward(std::span<const Complex* const> fields,
                              std::span<Complex* const> out) {
  check_call(*engine_, !engine_->g.real(), fields.size(), out.size());
  in_groups(fields.size(), problem().max_fields, [&](std::size_t first, std::size_t count) {
    engine_->template forward<Complex>(fields.subspan(first, count), out.subspan(first, count));
  });
}
template <class Real>
void Transform<Real>::backward(std::span<const Complex* const> in,
                               std::span<Complex* const> fields) {
  check_call(*engine_, !engine_->g.real(), in.size(), fields.size());
  in_groups(fields.size(), problem().max_fields, [&](std::size_t first, std::size_t count) {
    engine_->template backward<Complex>(in.subspan(first, count), fields.subspan(first, count));
  });
}

template <class Real>
const Problem& Transform<Real>::problem() const {
  return engine_->g.problem;
}
template <class Real>
std::string_view Transform<Real>::kernel() const {
  return engine_->kernel_name;
}
template <class Real>
std::string_view Transform<Real>::method() const {
  return engine_->method_text;
}
template <class Real>
std::string_view Transform<Real>::stores() const {
  return engine_->stores;
}
template <class Real>
std::string_view Transform<Real>::reads() const {
  return engine_->reads_name;
}
template <class Real>
std::string_view Transform<Real>::grid_why() const {
  return engine_->grid_why;
}
template <class Real>
std::string Transform<Real>::describe() const {
  return engine_->describe();
}
template <class Real>
std::ptrdiff_t Transform<Real>::buffer_bytes() const {
  return engine_->buffer_bytes();
}

template class Transform<float>;
template class Transform<double>;

std::span<const MethodInfo> exchange_methods() { return block_methods(); }

}  // namespace tailrace::fft
