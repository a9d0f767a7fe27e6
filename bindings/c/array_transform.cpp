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
};

}  // namespace

TAILRACE_BEHIND(tailrace_array_transform, ArrayTransformObject)

namespace {

fft::ArrayOptions array_options_of(const tailrace_array_transform_options& wanted) {
  return {.kernel = text_or(wanted.kernel, "auto"),
          .method = text_or(wanted.method, "auto"),
          .threads = wanted.threads};
}

bool is_single(int type) { return type == TAILRACE_FLOAT32 || type == TAILRACE_COMPLEX64; }
bool is_complex(int type) { return type == TAILRACE_COMPLEX64 || type == TAILRACE_COMPLEX128; }

/// Throws `Errc::invalid_input` for what no problem has. Local.
fft::ArrayProblem array_problem_of(int num_dims, const int64_t* extents,
                                   const tailrace_array_transform_options& wanted) {
  fft::ArrayProblem problem;
  problem.complex_field = is_complex(wanted.type);
  problem.scale = wanted.scale;
  require(num_dims >= 1 && num_dims <= TAILRACE_MAX_DIMS, "num_dims must be 1 to 5");
  require(wanted.num_axes >= 0 && wanted.num_axes <= num_dims,
          "num_axes must be 0 (all) to num_dims");
  require(is_single(wanted.type) || wanted.type == TAILRACE_FLOAT64 ||
              wanted.type == TAILRACE_COMPLEX128,
          "type must be float32, float64, complex64 or complex128");
  problem.extents = sizes(extents, num_dims, "extents");
  problem.grid.assign(wanted.grid, wanted.grid + num_dims);
  for (int i = 0; i < wanted.num_axes; ++i) {
    problem.axes.push_back({.axis = wanted.axes[i],
                            .kind = enumerator<fft::AxisKind>(wanted.kinds[i], 9, "kinds"),
                            .kept = wanted.kept[i],
                            .swap_with = wanted.swap_with[i]});
  }
  return problem;
}

template <class T>
std::shared_ptr<ArrayTransformObject> make_arrays(Ref<tailrace_comm> ranks,
                                                  const fft::ArrayProblem& problem,
                                                  const tailrace_array_transform_options& wanted) {
  T made(*ranks, problem, array_options_of(wanted));
  const auto num_items = made.physical_layout().num_items(ranks->rank());
  const auto num_modes = made.spectral_layout().num_items(ranks->rank());
  return std::make_shared<ArrayTransformObject>(
      ArrayTransformObject{ranks, std::move(made), wanted.type, num_items, num_modes});
}

void array_transform_create(Ref<tailrace_comm> ranks, int num_dims, const int64_t* extents,
                            const tailrace_array_transform_options& wanted,
                            tailrace_array_transform** transform) {
  fft::ArrayProblem problem;
  prepare_together(*ranks, [&] {
    require_address(transform, "transform");
    problem = array_problem_of(num_dims, extents, wanted);
  });
  put(transform, is_single(wanted.type) ? make_arrays<SingleArrays>(ranks, problem, wanted)
                                        : make_arrays<DoubleArrays>(ranks, problem, wanted));
}

/// Checks the arrays of a call.
void check_arrays(const ArrayTransformObject& made, const void* field, std::int64_t num_items,
                  const void* modes, std::int64_t num_modes) {
  check_call(*made.comm, [&] {
    if (num_items != made.num_items || num_modes != made.num_modes) {
      throw Error(
          Errc::invalid_input,
          fmt::format("arrays of {} items and {} modes are given, but this rank has {} and {}",
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
        if (is_complex(made->type)) {
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
        if (is_complex(made->type)) {
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
  if (real) return made->type;
  return is_single(made->type) ? TAILRACE_COMPLEX64 : TAILRACE_COMPLEX128;
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

/// Calls body.operator()<Field, Modes>() with the types of the items.
template <class Real, class Body>
void with_types_of(const fft::ArrayProblem& problem, Body&& body) {
  using Complex = std::complex<Real>;
  const bool has_fourier = problem.axes.empty() || std::ranges::any_of(problem.axes, [](auto& one) {
                             return one.kind == fft::AxisKind::fourier;
                           });
  if (problem.complex_field) {
    body.template operator()<Complex, Complex>();
  } else if (has_fourier) {
    body.template operator()<Real, Complex>();
  } else {
    body.template operator()<Real, Real>();
  }
}

/// Calls body.operator()<Field, Modes>(problem) once all ranks have arguments that may be right.
template <class Body>
void transform_once(const Comm& ranks, int num_dims, const int64_t* extents,
                    const tailrace_array_transform_options& wanted, const void* field,
                    int64_t num_items, const void* modes, int64_t num_modes, Body&& body) {
  fft::ArrayProblem problem;
  prepare_together(ranks, [&] {
    problem = array_problem_of(num_dims, extents, wanted);
    require(num_items >= 0 && num_modes >= 0, "num_items and num_modes must not be negative");
    if (num_items > 0) require_address(field, "field");
    if (num_modes > 0) require_address(modes, "modes");
  });
  const auto with_problem = [&]<class Field, class Modes>() {
    body.template operator()<Field, Modes>(problem);
  };
  if (is_single(wanted.type)) {
    with_types_of<float>(problem, with_problem);
  } else {
    with_types_of<double>(problem, with_problem);
  }
}

void fft_transform(Ref<tailrace_comm> ranks, int num_dims, const int64_t* extents,
                   const tailrace_array_transform_options& wanted, const void* field,
                   int64_t num_items, void* modes, int64_t num_modes) {
  transform_once(*ranks, num_dims, extents, wanted, field, num_items, modes, num_modes,
                 [&]<class Field, class Modes>(const fft::ArrayProblem& problem) {
                   fft::transform(ranks->raw(), problem, span_of<const Field>(field, num_items),
                                  span_of<Modes>(modes, num_modes), array_options_of(wanted));
                 });
}

void fft_inverse(Ref<tailrace_comm> ranks, int num_dims, const int64_t* extents,
                 const tailrace_array_transform_options& wanted, const void* modes,
                 int64_t num_modes, void* field, int64_t num_items) {
  transform_once(*ranks, num_dims, extents, wanted, field, num_items, modes, num_modes,
                 [&]<class Field, class Modes>(const fft::ArrayProblem& problem) {
                   fft::inverse(ranks->raw(), problem, span_of<const Modes>(modes, num_modes),
                                span_of<Field>(field, num_items), array_options_of(wanted));
                 });
}

Made<tailrace_layout> fft_physical_layout(Ref<tailrace_comm> ranks, int num_dims,
                                          const int64_t* extents,
                                          const tailrace_array_transform_options& wanted) {
  return std::make_shared<Layout>(
      fft::physical_layout(array_problem_of(num_dims, extents, wanted), ranks->num_ranks()));
}

Made<tailrace_layout> fft_spectral_layout(Ref<tailrace_comm> ranks, int num_dims,
                                          const int64_t* extents,
                                          const tailrace_array_transform_options& wanted) {
  return std::make_shared<Layout>(
      fft::spectral_layout(array_problem_of(num_dims, extents, wanted), ranks->num_ranks()));
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
