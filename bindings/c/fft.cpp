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
auto with(const tailrace_transform* transform, Body&& body) {
  return std::visit(std::forward<Body>(body), get(transform)->transform);
}

/// Addresses as those of numbers.
template <class T>
std::vector<T*> pointers(auto given) {
  std::vector<T*> all;
  for (auto* const one : given) all.push_back(static_cast<T*>(one));
  return all;
}

template <class T>
auto make_transform(const tailrace_comm* comm, const fft::Problem& problem,
                    const tailrace_transform_options& wanted) {
  const auto ranks = get(comm);
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
      throw Error(Errc::invalid_input,
                  fmt::format("arrays of {} items and {} modes are given, this rank has {} and {}",
                              num_items, num_modes, made.num_items, made.num_modes));
    }
    if (num_items > 0) list_of(fields, num_fields, "fields");
    if (num_modes > 0) list_of(modes, num_fields, "modes");
  });
}

}  // namespace

}  // namespace tailrace::c

using namespace tailrace;
using namespace tailrace::c;

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

int tailrace_transform_create(const tailrace_comm* comm, const int64_t extents[3],
                              const tailrace_transform_options* options,
                              tailrace_transform** transform) {
  return guarded(__func__, [&] {
    const auto ranks = get(comm);
    const auto wanted = options != nullptr ? *options : tailrace_transform_defaults();
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
    put(transform, single ? make_transform<Single>(comm, problem, wanted)
                          : make_transform<Double>(comm, problem, wanted));
  });
}

int tailrace_transform_destroy(tailrace_transform** transform) {
  return guarded(__func__, [&] {
    require_address(transform, "transform");
    end(transform);
  });
}

int tailrace_transform_forward(tailrace_transform* transform, int num_fields,
                               const void* const* fields, int64_t num_items, void* const* modes,
                               int64_t num_modes) {
  return guarded(__func__, [&] {
    const auto made = get(transform);
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
  });
}

int tailrace_transform_backward(tailrace_transform* transform, int num_fields,
                                const void* const* modes, int64_t num_modes, void* const* fields,
                                int64_t num_items) {
  return guarded(__func__, [&] {
    const auto made = get(transform);
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
  });
}

int tailrace_transform_physical_layout(const tailrace_transform* transform,
                                       tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    with(transform,
         [&](auto& made) { put(layout, std::make_shared<Layout>(made.physical_layout())); });
  });
}

int tailrace_transform_physical_box(const tailrace_transform* transform, tailrace_box* box) {
  return guarded(__func__, [&] {
    require_address(box, "box");
    with(transform, [&](auto& made) { *box = to_c(made.physical_box()); });
  });
}

int tailrace_transform_spectral_layout(const tailrace_transform* transform,
                                       tailrace_layout** layout) {
  return guarded(__func__, [&] {
    require_address(layout, "layout");
    with(transform,
         [&](auto& made) { put(layout, std::make_shared<Layout>(made.spectral_layout())); });
  });
}

int tailrace_transform_spectral_memory(const tailrace_transform* transform,
                                       tailrace_memory** memory) {
  return guarded(__func__, [&] {
    require_address(memory, "memory");
    with(transform,
         [&](auto& made) { put(memory, std::make_shared<Memory>(made.spectral_memory())); });
  });
}

int tailrace_transform_modes(const tailrace_transform* transform, int axis, const int** k,
                             int64_t* count) {
  return guarded(__func__, [&] {
    require_address(k, "k");
    require_address(count, "count");
    require(axis >= 0 && axis < 3, "axis must be 0 (z), 1 (y) or 2 (x)");
    with(transform, [&](auto& made) {
      const auto& modes = made.modes();
      const auto& numbers = axis == 0 ? modes.kz : axis == 1 ? modes.ky : modes.kx;
      *k = numbers.data();
      *count = std::ssize(numbers);
    });
  });
}

int tailrace_transform_sizes(const tailrace_transform* transform, int64_t* num_items,
                             int64_t* num_modes) {
  return guarded(__func__, [&] {
    require_address(num_items, "num_items");
    require_address(num_modes, "num_modes");
    const auto made = get(transform);
    *num_items = made->num_items;
    *num_modes = made->num_modes;
  });
}

int tailrace_transform_grid(const tailrace_transform* transform, int grid[2]) {
  return guarded(__func__, [&] {
    require_address(grid, "grid");
    with(transform, [&](auto& made) { std::ranges::copy(made.problem().grid, grid); });
  });
}

namespace {

/// Sets `*result` to a text that `ask` takes from the transform.
template <class Ask>
void give_text(const tailrace_transform* transform, const char** result, Ask&& ask) {
  require_address(result, "the place for the text");
  *result =
      text_of(transform, with(transform, [&](const auto& made) { return std::string(ask(made)); }));
}

}  // namespace

int tailrace_transform_grid_why(const tailrace_transform* transform, const char** text) {
  return guarded(__func__, [&] {
    give_text(transform, text, [](const auto& made) { return made.grid_why(); });
  });
}

int tailrace_transform_kernel(const tailrace_transform* transform, const char** name) {
  return guarded(__func__, [&] {
    give_text(transform, name, [](const auto& made) { return made.kernel(); });
  });
}

int tailrace_transform_method(const tailrace_transform* transform, const char** text) {
  return guarded(__func__, [&] {
    give_text(transform, text, [](const auto& made) { return made.method(); });
  });
}

int tailrace_transform_describe(const tailrace_transform* transform, const char** text) {
  return guarded(__func__, [&] {
    give_text(transform, text, [](const auto& made) { return made.describe(); });
  });
}

int tailrace_transform_buffer_bytes(const tailrace_transform* transform, int64_t* num_bytes) {
  return guarded(__func__, [&] {
    require_address(num_bytes, "num_bytes");
    with(transform, [&](const auto& made) { *num_bytes = made.buffer_bytes(); });
  });
}
