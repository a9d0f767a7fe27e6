// SPDX-License-Identifier: BSD-3-Clause
// ArrayTransform: parallel transforms of any axes of an array, in single and double precision.
#include <complex>

#include "array_transforms.hpp"
#include "arrays.hpp"
#include "tailrace/more/array_transform.hpp"

namespace tailrace::python {

namespace {

struct ArrayTransformArguments {
  nb::object shape;
  Given<bool> complex_field;
  nb::object axes, kinds, kept, swap_with, grid;
  Given<double> scale;
  Given<std::string> kernel, method;
  Given<int> threads;
};

/// As many numbers as there are axes to transform; none for None.
std::vector<std::ptrdiff_t> numbers_for_axes(nb::handle given, std::size_t num_axes,
                                             const char* what) {
  if (given.is_none()) return {};
  auto numbers = numbers_of(given, what);
  if (numbers.size() != num_axes) {
    refuse(fmt::format("{}: {} numbers; needs one for each of the {} axes", what, numbers.size(),
                       num_axes));
  }
  return numbers;
}

fft::AxisKind kind_of(nb::handle name) {
  if (!nb::isinstance<nb::str>(name)) refuse("kinds: needs names such as 'fourier' or 'dct2'");
  return pick<fft::AxisKind>("kinds", nb::cast<std::string>(name),
                             {{"fourier", fft::AxisKind::fourier},
                              {"dct1", fft::AxisKind::dct1},
                              {"dct2", fft::AxisKind::dct2},
                              {"dct3", fft::AxisKind::dct3},
                              {"dct4", fft::AxisKind::dct4},
                              {"dst1", fft::AxisKind::dst1},
                              {"dst2", fft::AxisKind::dst2},
                              {"dst3", fft::AxisKind::dst3},
                              {"dst4", fft::AxisKind::dst4}});
}

/// One name for all axes, or a name for each.
std::vector<fft::AxisKind> kinds_of(nb::handle given, std::size_t num_axes) {
  if (given.is_none()) return std::vector(num_axes, fft::AxisKind::fourier);
  if (nb::isinstance<nb::str>(given)) return std::vector(num_axes, kind_of(given));
  std::vector<fft::AxisKind> kinds;
  if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) {
    refuse("kinds: needs a name, or a list of one for each axis");
  }
  for (const auto name : given) kinds.push_back(kind_of(name));
  if (kinds.size() != num_axes) {
    refuse(
        fmt::format("kinds: {} names; needs one for each of the {} axes", kinds.size(), num_axes));
  }
  return kinds;
}

fft::ArrayProblem array_problem_of(const ArrayTransformArguments& arguments) {
  fft::ArrayProblem problem;
  problem.extents = numbers_of(arguments.shape, "shape");
  problem.complex_field = arguments.complex_field.take("complex_field");
  problem.scale = arguments.scale.take("scale");
  const auto num_dims = std::ssize(problem.extents);
  std::vector<std::ptrdiff_t> axes;
  if (arguments.axes.is_none()) {
    for (std::ptrdiff_t axis = 0; axis < num_dims; ++axis) axes.push_back(axis);
  } else {
    axes = numbers_of(arguments.axes, "axes");
    if (axes.empty()) refuse("axes: needs one at least");
  }
  const auto kinds = kinds_of(arguments.kinds, axes.size());
  const auto kept = numbers_for_axes(arguments.kept, axes.size(), "kept");
  const auto swap_with = numbers_for_axes(arguments.swap_with, axes.size(), "swap_with");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    fft::TransformedAxis one;
    one.axis = to_int(axes[i] < 0 ? axes[i] + num_dims : axes[i]);
    one.kind = kinds[i];
    if (!kept.empty()) one.kept = kept[i];
    if (!swap_with.empty()) one.swap_with = to_int(swap_with[i]);
    problem.axes.push_back(one);
  }
  if (!arguments.grid.is_none()) {
    const auto grid = numbers_of(arguments.grid, "grid");
    if (grid.empty()) refuse("grid: needs ranks along each axis");
    for (const auto parts : grid) problem.grid.push_back(to_int(parts));
  }
  return problem;
}

template <class Real>
class PyArrayTransform final : public Held<fft::ArrayTransform<Real>> {
 public:
  using Base = Held<fft::ArrayTransform<Real>>;
  using Complex = std::complex<Real>;
  using Shape = std::vector<std::ptrdiff_t>;
  PyArrayTransform(nb::handle user, const ArrayTransformArguments& arguments)
      : Base("ArrayTransform", user) {
    fft::ArrayProblem problem;
    fft::ArrayOptions options;
    prepare_agreed(this->comm(), [&] {
      problem = array_problem_of(arguments);
      options.kernel = arguments.kernel.take("kernel");
      options.method = arguments.method.take("method");
      options.threads = arguments.threads.take("threads");
    });
    nb::gil_scoped_release released;
    this->hold(std::make_unique<fft::ArrayTransform<Real>>(this->comm(), problem, options));
    const auto& made = **this;
    complex_field_ = problem.complex_field;
    real_modes_ = made.real_modes();
    physical_ = shape_of(made.physical_box(), problem.extents.size());
    spectral_ = shape_of(made.spectral_box(), problem.extents.size());
  }

  ItemType physical_type() const { return complex_field_ ? complex_type : real_type; }
  ItemType spectral_type() const { return real_modes_ ? real_type : complex_type; }
  const Shape& physical() const { return physical_; }
  const Shape& spectral() const { return spectral_; }

  nb::object forward(nb::object field, nb::object out) {
    const auto [from, to] = arrays(field, out, "field", physical_, physical_type(), "mode array",
                                   spectral_, spectral_type());
    nb::gil_scoped_release released;
    auto& transform = **this;
    if (complex_field_) {
      transform.forward(span_of<const Complex>(from), span_of<Complex>(to));
    } else if (real_modes_) {
      transform.forward(span_of<const Real>(from), span_of<Real>(to));
    } else {
      transform.forward(span_of<const Real>(from), span_of<Complex>(to));
    }
    nb::gil_scoped_acquire again;
    return out;
  }
  nb::object backward(nb::object modes, nb::object out) {
    const auto [from, to] = arrays(modes, out, "mode array", spectral_, spectral_type(), "field",
                                   physical_, physical_type());
    nb::gil_scoped_release released;
    auto& transform = **this;
    if (complex_field_) {
      transform.backward(span_of<const Complex>(from), span_of<Complex>(to));
    } else if (real_modes_) {
      transform.backward(span_of<const Real>(from), span_of<Real>(to));
    } else {
      transform.backward(span_of<const Complex>(from), span_of<Real>(to));
    }
    nb::gil_scoped_acquire again;
    return out;
  }

 private:
  static constexpr ItemType complex_type =
      sizeof(Real) == 4 ? ItemType::complex64 : ItemType::complex128;
  static constexpr ItemType real_type = sizeof(Real) == 4 ? ItemType::float32 : ItemType::float64;

  static Shape shape_of(const Box& box, std::size_t num_dims) {
    Shape shape(box.extents.begin(), box.extents.begin() + static_cast<std::ptrdiff_t>(num_dims));
    return shape;
  }
  template <class Item>
  static std::span<Item> span_of(const Array& array) {
    std::size_t items = 1;
    for (const auto extent : array.shape) items *= static_cast<std::size_t>(extent);
    return {reinterpret_cast<Item*>(array.data), items};
  }
  /// The arrays of a call; `out` becomes a new one if it is None.
  std::pair<Array, Array> arrays(nb::handle in, nb::object& out, const char* in_name,
                                 const Shape& in_shape, ItemType in_type, const char* out_name,
                                 const Shape& out_shape, ItemType out_type) {
    static_cast<void>(**this);  // refuses one that is closed
    std::vector<Array> found;
    prepare_or_refuse(this->comm(), this->name(), [&] {
      if (out.is_none()) out = empty_array(out_shape, out_type);
      found.push_back(checked(in, Use::read, in_name, in_shape, in_type));
      found.push_back(checked(out, Use::write, out_name, out_shape, out_type));
    });
    return {std::move(found[0]), std::move(found[1])};
  }
  static Array checked(nb::handle object, Use use, const char* what, const Shape& shape,
                       ItemType type) {
    Array array(object, use, what);
    if (array.type != type) {
      refuse(fmt::format("{}: has items {}; needs {}", what, name_of(array.type), name_of(type)));
    }
    if (array.shape != shape) {
      refuse(fmt::format("{}: has shape {}; needs {}", what, describe_shape(array.shape),
                         describe_shape(shape)));
    }
    if (!array.contiguous()) {
      refuse(fmt::format("{}: is not contiguous; see numpy.ascontiguousarray", what));
    }
    return array;
  }
  bool complex_field_ = false, real_modes_ = false;
  Shape physical_, spectral_;
};

constexpr const char* array_transform_doc =
    "A parallel transform of some axes of an array; `tailrace.fft.ArrayTransform` makes one.\n\n"
    "Fields have shape `shape` on this rank, modes `spectral_shape`, in the same order of axes.\n"
    "backward(forward(u)) is u / normalization where the scale is 1.\n\n"
    ">>> import numpy as np, tailrace.fft\n"
    ">>> from mpi4py import MPI\n"
    ">>> channel = tailrace.fft.ArrayTransform(\n"
    "...     MPI.COMM_WORLD, (8, 9, 8), kinds=['fourier', 'dct1', 'fourier'])\n"
    ">>> u = np.random.default_rng(1).random(channel.shape)\n"
    ">>> u_hat = channel.forward(u)\n"
    ">>> bool(np.allclose(channel.backward(u_hat) * channel.normalization, u))\n"
    "True\n"
    ">>> channel.close()";

template <class Real>
void bind_array_transform(nb::module_& module, const char* class_name) {
  using Class = PyArrayTransform<Real>;
  nb::class_<Class> bound(module, class_name, array_transform_doc);
  bound
      .def(
          "__init__",
          [](Class* self, nb::object comm, nb::object shape, Given<bool> complex_field,
             nb::object axes, nb::object kinds, nb::object kept, nb::object swap_with,
             nb::object grid, Given<double> scale, Given<std::string> kernel,
             Given<std::string> method, Given<int> threads) {
            new (self) Class(comm, {shape, complex_field, axes, kinds, kept, swap_with, grid, scale,
                                    kernel, method, threads});
          },
          nb::arg("comm").none(), nb::arg("shape").none(), nb::arg("complex_field").none() = false,
          nb::kw_only(), nb::arg("axes").none() = nb::none(), nb::arg("kinds").none() = nb::none(),
          nb::arg("kept").none() = nb::none(), nb::arg("swap_with").none() = nb::none(),
          nb::arg("grid").none() = nb::none(), nb::arg("scale").none() = 1.0,
          nb::arg("kernel").none() = "auto", nb::arg("method").none() = "auto",
          nb::arg("threads").none() = 1,
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, shape: "
                  "collections.abc.Sequence[int], complex_field: bool = False, *, axes: "
                  "collections.abc.Sequence[int] | None = None, kinds: str | "
                  "collections.abc.Sequence[str] | None = None, kept: "
                  "collections.abc.Sequence[int] | None = None, swap_with: "
                  "collections.abc.Sequence[int] | None = None, grid: "
                  "collections.abc.Sequence[int] | None = None, scale: float = 1.0, kernel: str = "
                  "'auto', method: str = 'auto', threads: int = 1) -> None"))
      .def("forward", &Class::forward, nb::arg("field").none(), nb::arg("out").none() = nb::none(),
           nb::sig("def forward(self, field: typing.Any, out: typing.Any = None) -> typing.Any"),
           "Field to modes. Returns `out`, or a new array; `out` may be the field if it has the\n"
           "shape and type of the modes. Collective, blocking.")
      .def("backward", &Class::backward, nb::arg("modes").none(),
           nb::arg("out").none() = nb::none(),
           nb::sig("def backward(self, modes: typing.Any, out: typing.Any = None) -> typing.Any"),
           "Modes to field, not normalised. Collective, blocking.")
      .def_prop_ro(
          "shape",
          [](const Class& self) {
            return tuple_of(self.physical().data(), std::ssize(self.physical()));
          },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Of a field on this rank.")
      .def_prop_ro(
          "spectral_shape",
          [](const Class& self) {
            return tuple_of(self.spectral().data(), std::ssize(self.spectral()));
          },
          nb::sig("def spectral_shape(self) -> tuple[int, ...]"), "Of the modes on this rank.")
      .def_prop_ro(
          "dtype", [](const Class& self) { return dtype_of(self.physical_type()); },
          nb::sig("def dtype(self) -> numpy.dtype[typing.Any]"), "Of a field.")
      .def_prop_ro(
          "spectral_dtype", [](const Class& self) { return dtype_of(self.spectral_type()); },
          nb::sig("def spectral_dtype(self) -> numpy.dtype[typing.Any]"))
      .def_prop_ro(
          "layout", [](Class& self) { return self->physical_layout(); },
          "Of the fields: what `Output.write` and `Exchange` take.")
      .def_prop_ro("box", [](Class& self) { return self->physical_box(); })
      .def_prop_ro("spectral_layout", [](Class& self) { return self->spectral_layout(); })
      .def_prop_ro("spectral_box", [](Class& self) { return self->spectral_box(); })
      .def_prop_ro("normalization", [](Class& self) { return self->normalization(); })
      .def_prop_ro("kernel", [](Class& self) { return std::string(self->kernel()); })
      .def_prop_ro(
          "grid",
          [](Class& self) {
            const auto& ranks = self->problem().grid;
            const std::vector<std::ptrdiff_t> grid(ranks.begin(), ranks.end());
            return tuple_of(grid.data(), std::ssize(grid));
          },
          nb::sig("def grid(self) -> tuple[int, ...]"), "Ranks along each axis of a field.")
      .def_prop_ro("buffer_bytes", [](Class& self) { return self->buffer_bytes(); })
      .def("describe", [](Class& self) { return self->describe(); });
  bind_closing(bound, "Frees buffers. Collective.");
}

}  // namespace

void bind_array_transforms(nb::module_& module) {
  bind_array_transform<double>(module, "ArrayTransformDouble");
  bind_array_transform<float>(module, "ArrayTransformSingle");
}

}  // namespace tailrace::python
