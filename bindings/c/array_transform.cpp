// SPDX-License-Identifier: BSD-3-Clause
#include "tailrace/more/array_transform.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "call_check.hpp"
#include "objects.hpp"
#include "tailrace/c/array_transform.h"

namespace tailrace::c {

namespace {

using SingleArrays = fft::ArrayTransform<float>;
using DoubleArrays = fft::ArrayTransform<double>;

struct ArrayTransformObject {
  std::shared_ptr<Comm> comm;
  std::variant<SingleArrays, DoubleArrays> transform;
  int type;
  std::ptrdiff_t num_items, num_modes;
  bool is_complex() const { return type == TAILRACE_COMPLEX64 || type == TAILRACE_COMPLEX128; }
};

}  // namespace

TAILRACE_BEHIND(tailrace_array_transform, ArrayTransformObject)

namespace {

template <class T>
std::shared_ptr<ArrayTransformObject> make_arrays(Ref<tailrace_comm> ranks,
                                                  const fft::ArrayProblem& problem,
                                                  const tailrace_array_transform_options& wanted) {
  const fft::ArrayOptions options{.kernel = text_or(wanted.kernel, "auto"),
                                  .method = text_or(wanted.method, "auto"),
                                  .threads = wanted.threads};
  T made(*ranks, problem, options);
  const auto num_items = made.physical_layout().num_items(ranks->rank());
  const auto num_modes = made.spectral_layout().num_items(ranks->rank());
  return std::make_shared<ArrayTransformObject>(
      ArrayTransformObject{ranks, std::move(made), wanted.type, num_items, num_modes});
}

void array_transform_create(Ref<tailrace_comm> ranks, int num_dims, const int64_t* extents,
                            const tailrace_array_transform_options& wanted,
                            tailrace_array_transform** transform) {
  fft::ArrayProblem problem;
  const bool single = wanted.type == TAILRACE_FLOAT32 || wanted.type == TAILRACE_COMPLEX64;
  problem.complex_field = wanted.type == TAILRACE_COMPLEX64 || wanted.type == TAILRACE_COMPLEX128;
  problem.scale = wanted.scale;
  prepare_together(*ranks, [&] {
    require_address(transform, "transform");
    require(num_dims >= 1 && num_dims <= TAILRACE_MAX_DIMS, "num_dims must be 1 to 5");
    require(wanted.num_axes >= 0 && wanted.num_axes <= num_dims,
            "num_axes must be 0 (all) to num_dims");
    require(single || wanted.type == TAILRACE_FLOAT64 || wanted.type == TAILRACE_COMPLEX128,
            "type must be float32, float64, complex64 or complex128");
    problem.extents = sizes(extents, num_dims, "extents");
    problem.grid.assign(wanted.grid, wanted.grid + num_dims);
    for (int i = 0; i < wanted.num_axes; ++i) {
      problem.axes.push_back({.axis = wanted.axes[i],
                              .kind = enumerator<fft::AxisKind>(wanted.kinds[i], 9, "kinds"),
                              .kept = wanted.kept[i],
                              .swap_with = wanted.swap_with[i]});
    }
  });
  put(transform, single ? make_arrays<SingleArrays>(ranks, problem, wanted)
                        : make_arrays<DoubleArrays>(ranks, problem, wanted));
}

/// Checks the arrays of a call.
void check_arrays(const ArrayTransformObject& made, const void* field, std::int64_t num_items,
                  const void* modes, std::int64_t num_modes) {
  check_call(*made.comm, [&] {
    if (num_items != made.num_items || num_modes != made.num_modes) {
      throw Error(Errc::invalid_input,
                  fmt::format("arrays of {} items and {} modes are given, this rank has {} and {}",
                              num_items, num_modes, made.num_items, made.num_modes));
    }
    if (num_items > 0) require_address(field, "field");
    if (num_modes > 0) require_address(modes, "modes");
  });
}

template <class T, class Address>
std::span<T> span_of(Address* address, std::ptrdiff_t count) {
  return {static_cast<T*>(address), static_cast<std::size_t>(count)};
}

void array_transform_forward(Ref<tailrace_array_transform> made, const void* field,
                             int64_t num_items, void* modes, int64_t num_modes) {
  check_arrays(*made, field, num_items, modes, num_modes);
  std::visit(
      [&]<class Real>(fft::ArrayTransform<Real>& run) {
        using Complex = std::complex<Real>;
        if (made->is_complex()) {
          run.forward(span_of<const Complex>(field, num_items), span_of<Complex>(modes, num_modes));
        } else if (run.real_modes()) {
          run.forward(span_of<const Real>(field, num_items), span_of<Real>(modes, num_modes));
        } else {
          run.forward(span_of<const Real>(field, num_items), span_of<Complex>(modes, num_modes));
        }
      },
      made->transform);
}

void array_transform_backward(Ref<tailrace_array_transform> made, const void* modes,
                              int64_t num_modes, void* field, int64_t num_items) {
  check_arrays(*made, field, num_items, modes, num_modes);
  std::visit(
      [&]<class Real>(fft::ArrayTransform<Real>& run) {
        using Complex = std::complex<Real>;
        if (made->is_complex()) {
          run.backward(span_of<const Complex>(modes, num_modes),
                       span_of<Complex>(field, num_items));
        } else if (run.real_modes()) {
          run.backward(span_of<const Real>(modes, num_modes), span_of<Real>(field, num_items));
        } else {
          run.backward(span_of<const Complex>(modes, num_modes), span_of<Real>(field, num_items));
        }
      },
      made->transform);
}

/// Calls `body` with the transform, in the one or the other precision.
template <class Body>
auto with_arrays(Ref<tailrace_array_transform> made, Body&& body) {
  return std::visit(std::forward<Body>(body), made->transform);
}

Made<tailrace_layout> array_transform_physical_layout(Ref<tailrace_array_transform> transform) {
  return with_arrays(transform,
                     [](auto& made) { return std::make_shared<Layout>(made.physical_layout()); });
}

Made<tailrace_layout> array_transform_spectral_layout(Ref<tailrace_array_transform> transform) {
  return with_arrays(transform,
                     [](auto& made) { return std::make_shared<Layout>(made.spectral_layout()); });
}

void array_transform_sizes(Ref<tailrace_array_transform> made, int64_t* num_items,
                           int64_t* num_modes) {
  *num_items = made->num_items;
  *num_modes = made->num_modes;
}

int array_transform_modes_type(Ref<tailrace_array_transform> made) {
  const bool real = with_arrays(made, [](auto& one) { return one.real_modes(); });
  const bool single = made->type == TAILRACE_FLOAT32 || made->type == TAILRACE_COMPLEX64;
  if (real) return made->type;
  return single ? TAILRACE_COMPLEX64 : TAILRACE_COMPLEX128;
}

double array_transform_normalization(Ref<tailrace_array_transform> transform) {
  return with_arrays(transform, [](auto& made) { return made.normalization(); });
}

std::string array_transform_describe(Ref<tailrace_array_transform> transform) {
  return with_arrays(transform, [](const auto& made) { return made.describe(); });
}

std::string array_transform_kernel(Ref<tailrace_array_transform> transform) {
  return with_arrays(transform, [](const auto& made) { return std::string(made.kernel()); });
}

int64_t array_transform_buffer_bytes(Ref<tailrace_array_transform> transform) {
  return with_arrays(transform, [](const auto& made) { return made.buffer_bytes(); });
}

}  // namespace

}  // namespace tailrace::c

tailrace_array_transform_options tailrace_array_transform_defaults(void) {
  return {.type = TAILRACE_FLOAT64,
          .num_axes = 0,
          .axes = {0, 1, 2, 3, 4},
          .kinds = {0, 0, 0, 0, 0},
          .kept = {0, 0, 0, 0, 0},
          .swap_with = {-1, -1, -1, -1, -1},
          .grid = {0, 0, 0, 0, 0},
          .scale = 1,
          .kernel = "auto",
          .method = "auto",
          .threads = 1};
}

#include "calls/array_transform.inc"
