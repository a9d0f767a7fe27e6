// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/fft.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include <fmt/format.h>

#include "call_check.hpp"
#include "objects.hpp"
#include "tailrace/c/fft.h"

namespace tailrace::c {

namespace {

using Single = fft::Transform<float>;
using Double = fft::Transform<double>;

struct TransformObject {
  std::shared_ptr<Comm> comm;
  std::shared_ptr<Trace> trace;  ///< it must outlive the transform
  std::variant<Single, Double> transform;
  bool real;
  std::ptrdiff_t num_items, num_modes;
};

}  // namespace

TAILRACE_BEHIND(tailrace_transform, TransformObject)

namespace {

/// Calls `body` with the transform, in the one or the other precision.
template <class Body>
auto with(Ref<tailrace_transform> made, Body&& body) {
  return std::visit(std::forward<Body>(body), made->transform);
}

/// Addresses as those of numbers.
template <class T>
std::vector<T*> pointers(auto given) {
  std::vector<T*> all;
  for (auto* const one : given) all.push_back(static_cast<T*>(one));
  return all;
}

template <class T>
auto make_transform(Ref<tailrace_comm> ranks, const fft::Problem& problem,
                    const tailrace_transform_options& wanted) {
  const auto trace = get_if(wanted.trace);
  const fft::Options options{.kernel = text_or(wanted.kernel, "auto"),
                             .method = text_or(wanted.method, "auto"),
                             .threads = wanted.threads,
                             .chunks = wanted.chunks,
                             .trace = trace.get(),
                             .row_method = text_or(wanted.row_method, "")};
  T made(*ranks, problem, options);
  const auto num_items = made.physical_box().num_items();
  const auto num_modes = made.modes().num_modes();
  const bool real = problem.kind == fft::Kind::real_to_complex;
  return std::make_shared<TransformObject>(
      TransformObject{ranks, trace, std::move(made), real, num_items, num_modes});
}

/// Checks the arrays of a call.
void check_fields(const TransformObject& made, int num_fields, const void* const* fields,
                  std::int64_t num_items, const void* const* modes, std::int64_t num_modes) {
  check_call(*made.comm, [&] {
    list(fields, num_fields, "fields");
    list(modes, num_fields, "modes");
    if (num_items != made.num_items || num_modes != made.num_modes) {
      throw Error(
          Errc::invalid_input,
          fmt::format("arrays of {} items and {} modes are given, but this rank has {} and {}",
                      num_items, num_modes, made.num_items, made.num_modes));
    }
    if (num_items > 0) list_of(fields, num_fields, "fields");
    if (num_modes > 0) list_of(modes, num_fields, "modes");
  });
}

void transform_create(Ref<tailrace_comm> ranks, const int64_t extents[3],
                      const tailrace_transform_options& wanted, tailrace_transform** transform) {
  fft::Problem problem;
  problem.grid = {wanted.grid[0], wanted.grid[1]};
  problem.max_fields = wanted.max_fields;
  problem.scale = wanted.scale;
  std::ranges::copy(wanted.cutoff, problem.cutoff.begin());
  const bool single = wanted.type == TAILRACE_FLOAT32 || wanted.type == TAILRACE_COMPLEX64;
  const bool real = wanted.type == TAILRACE_FLOAT32 || wanted.type == TAILRACE_FLOAT64;
  problem.kind = real ? fft::Kind::real_to_complex : fft::Kind::complex_to_complex;
  prepare_together(*ranks, [&] {
    require_address(transform, "transform");
    std::ranges::copy(list(extents, 3, "extents"), problem.extents.begin());
    require(single || wanted.type == TAILRACE_FLOAT64 || wanted.type == TAILRACE_COMPLEX128,
            "type must be float32, float64, complex64 or complex128");
    problem.mode_order = enumerator<fft::ModeOrder>(wanted.mode_order, 2, "mode_order");
    get_if(wanted.trace);
  });
  put(transform, single ? make_transform<Single>(ranks, problem, wanted)
                        : make_transform<Double>(ranks, problem, wanted));
}

void transform_forward(Ref<tailrace_transform> made, int num_fields, const void* const* fields,
                       int64_t num_items, void* const* modes, int64_t num_modes) {
  check_fields(*made, num_fields, fields, num_items, modes, num_modes);
  const auto from = list(fields, num_fields, "fields");
  const auto to = list(modes, num_fields, "modes");
  std::visit(
      [&]<class Real>(fft::Transform<Real>& run) {
        using Complex = std::complex<Real>;
        const auto out = pointers<Complex>(to);
        if (made->real) {
          run.forward(std::span<const Real* const>(pointers<const Real>(from)), out);
        } else {
          run.forward(std::span<const Complex* const>(pointers<const Complex>(from)), out);
        }
      },
      made->transform);
}

void transform_backward(Ref<tailrace_transform> made, int num_fields, const void* const* modes,
                        int64_t num_modes, void* const* fields, int64_t num_items) {
  check_fields(*made, num_fields, fields, num_items, modes, num_modes);
  const auto from = list(modes, num_fields, "modes");
  const auto to = list(fields, num_fields, "fields");
  std::visit(
      [&]<class Real>(fft::Transform<Real>& run) {
        using Complex = std::complex<Real>;
        const auto in = pointers<const Complex>(from);
        if (made->real) {
          run.backward(in, std::span<Real* const>(pointers<Real>(to)));
        } else {
          run.backward(in, std::span<Complex* const>(pointers<Complex>(to)));
        }
      },
      made->transform);
}

Made<tailrace_layout> transform_physical_layout(Ref<tailrace_transform> transform) {
  return with(transform,
              [](auto& made) { return std::make_shared<Layout>(made.physical_layout()); });
}

tailrace_box transform_physical_box(Ref<tailrace_transform> transform) {
  return with(transform, [](auto& made) { return to_c(made.physical_box()); });
}

Made<tailrace_layout> transform_spectral_layout(Ref<tailrace_transform> transform) {
  return with(transform,
              [](auto& made) { return std::make_shared<Layout>(made.spectral_layout()); });
}

Made<tailrace_memory> transform_spectral_memory(Ref<tailrace_transform> transform) {
  return with(transform,
              [](auto& made) { return std::make_shared<Memory>(made.spectral_memory()); });
}

void transform_modes(Ref<tailrace_transform> transform, int axis, const int** k, int64_t* count) {
  require(axis >= 0 && axis < 3, "axis must be 0 (z), 1 (y) or 2 (x)");
  with(transform, [&](auto& made) {
    const auto& modes = made.modes();
    const auto& numbers = axis == 0 ? modes.kz : axis == 1 ? modes.ky : modes.kx;
    *k = numbers.data();
    *count = std::ssize(numbers);
  });
}

void transform_sizes(Ref<tailrace_transform> made, int64_t* num_items, int64_t* num_modes) {
  *num_items = made->num_items;
  *num_modes = made->num_modes;
}

void transform_grid(Ref<tailrace_transform> transform, int grid[2]) {
  with(transform, [&](auto& made) { std::ranges::copy(made.problem().grid, grid); });
}

std::string transform_grid_why(Ref<tailrace_transform> transform) {
  return with(transform, [](const auto& made) { return std::string(made.grid_why()); });
}

std::string transform_kernel(Ref<tailrace_transform> transform) {
  return with(transform, [](const auto& made) { return std::string(made.kernel()); });
}

std::string transform_method(Ref<tailrace_transform> transform) {
  return with(transform, [](const auto& made) { return std::string(made.method()); });
}

std::string transform_describe(Ref<tailrace_transform> transform) {
  return with(transform, [](const auto& made) { return std::string(made.describe()); });
}

int64_t transform_buffer_bytes(Ref<tailrace_transform> transform) {
  return with(transform, [](const auto& made) { return made.buffer_bytes(); });
}

}  // namespace

}  // namespace tailrace::c

tailrace_transform_options tailrace_transform_defaults(void) {
  return {.type = TAILRACE_FLOAT64,
          .cutoff = {-1, -1, -1},
          .grid = {0, 0},
          .max_fields = 1,
          .kernel = "auto",
          .method = "auto",
          .row_method = "",
          .threads = 1,
          .chunks = 0,
          .trace = nullptr,
          .mode_order = TAILRACE_KY_KZ_KX,
          .scale = 1};
}

#include "calls/fft.inc"
