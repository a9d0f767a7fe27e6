// SPDX-License-Identifier: BSD-3-Clause
// Transform: parallel Fourier transforms of three axes, in single and double precision.
#include <complex>

#include "arrays.hpp"
#include "tailrace/fft.hpp"

namespace tailrace::python {

namespace {

struct TransformArguments {
  nb::object extents, kind, cutoff, grid;
  Given<int> max_fields;
  Given<std::string> kernel, method;
  Given<int> threads;
  nb::object mode_order;
  Given<double> scale;
};

std::array<std::ptrdiff_t, 3> three(nb::handle object, const std::string& what) {
  const auto numbers = numbers_of(object, what);
  if (numbers.size() != 3) {
    refuse(fmt::format("{}: {} numbers; needs one for each axis (z, y, x)", what, numbers.size()));
  }
  return {numbers[0], numbers[1], numbers[2]};
}

fft::Problem problem_of(const TransformArguments& arguments) {
  fft::Problem problem;
  problem.extents = three(arguments.extents, "extents");
  problem.kind = pick<fft::Kind>("kind", nb::cast<std::string>(arguments.kind),
                                 {{"real_to_complex", fft::Kind::real_to_complex},
                                  {"complex_to_complex", fft::Kind::complex_to_complex}});
  if (!arguments.cutoff.is_none()) problem.cutoff = three(arguments.cutoff, "cutoff");
  if (!arguments.grid.is_none()) {
    const auto grid = numbers_of(arguments.grid, "grid");
    if (grid.size() != 2) refuse("grid: needs two numbers of ranks, along z and y");
    problem.grid = {to_int(grid[0]), to_int(grid[1])};
  }
  problem.max_fields = arguments.max_fields.take("max_fields");
  problem.mode_order = pick<fft::ModeOrder>(
      "mode_order", nb::cast<std::string>(arguments.mode_order),
      {{"ky_kz_kx", fft::ModeOrder::ky_kz_kx}, {"kz_ky_kx", fft::ModeOrder::kz_ky_kx}});
  problem.scale = arguments.scale.take("scale");
  return problem;
}

template <class Real>
class PyTransform final : public Held<fft::Transform<Real>> {
 public:
  using Base = Held<fft::Transform<Real>>;
  using Complex = std::complex<Real>;
  PyTransform(nb::handle user, const TransformArguments& arguments) : Base("Transform", user) {
    fft::Problem problem;
    fft::Options options;
    prepare_agreed(this->comm(), [&] {
      problem = problem_of(arguments);
      options.kernel = arguments.kernel.take("kernel");
      options.method = arguments.method.take("method");
      options.threads = arguments.threads.take("threads");
    });
    nb::gil_scoped_release released;
    this->hold(std::make_unique<fft::Transform<Real>>(this->comm(), problem, options));
    const auto& made = **this;
    real_ = problem.kind == fft::Kind::real_to_complex;
    const auto box = made.physical_box();
    physical_.assign(box.extents.begin(), box.extents.begin() + 3);
    spectral_ = {std::ssize(made.modes().ky), std::ssize(made.modes().kz),
                 std::ssize(made.modes().kx)};
    if (problem.mode_order == fft::ModeOrder::kz_ky_kx) std::swap(spectral_[0], spectral_[1]);
  }

  static constexpr ItemType complex_type =
      sizeof(Real) == 4 ? ItemType::complex64 : ItemType::complex128;
  ItemType physical_type() const {
    if (!real_) return complex_type;
    return sizeof(Real) == 4 ? ItemType::float32 : ItemType::float64;
  }
  const std::vector<std::ptrdiff_t>& physical() const { return physical_; }
  const std::vector<std::ptrdiff_t>& spectral() const { return spectral_; }

  nb::object forward(nb::object fields, nb::object modes) {
    return apply(fields, modes, "field", physical_, physical_type(), "mode array", spectral_,
                 complex_type, true);
  }
  nb::object backward(nb::object modes, nb::object fields) {
    return apply(modes, fields, "mode array", spectral_, complex_type, "field", physical_,
                 physical_type(), false);
  }

 private:
  using Shape = std::vector<std::ptrdiff_t>;
  nb::object apply(nb::object in, nb::object out, const char* in_name, const Shape& in_shape,
                   ItemType in_type, const char* out_name, const Shape& out_shape,
                   ItemType out_type, bool forward) {
    auto& transform = **this;
    std::vector<Array> sources, results;
    nb::object made = out;
    prepare_or_refuse(this->comm(), this->name(), [&] {
      const bool several = nb::isinstance<nb::list>(in) || nb::isinstance<nb::tuple>(in);
      const auto inputs = several ? nb::list(in) : nb::list(nb::make_tuple(in));
      if (out.is_none()) {
        nb::list list;
        for (std::size_t f = 0; f < nb::len(inputs); ++f) {
          list.append(empty_array(out_shape, out_type));
        }
        made = several ? nb::object(list) : nb::object(list[0]);
      }
      const auto outputs = several ? nb::list(made) : nb::list(nb::make_tuple(made));
      const auto most = static_cast<std::size_t>(transform.problem().max_fields);
      if (nb::len(inputs) != nb::len(outputs) || nb::len(inputs) > most) {
        refuse(
            fmt::format("{} input and {} output arrays; needs equal numbers, at most max_fields={}",
                        nb::len(inputs), nb::len(outputs), most));
      }
      for (const auto array : inputs) {
        sources.push_back(checked(array, Use::read, in_name, in_shape, in_type));
      }
      for (const auto array : outputs) {
        results.push_back(checked(array, Use::write, out_name, out_shape, out_type));
      }
    });
    nb::gil_scoped_release released;
    if (forward && real_) {
      transform.forward(places<const Real>(sources), places<Complex>(results));
    } else if (forward) {
      transform.forward(places<const Complex>(sources), places<Complex>(results));
    } else if (real_) {
      transform.backward(places<const Complex>(sources), places<Real>(results));
    } else {
      transform.backward(places<const Complex>(sources), places<Complex>(results));
    }
    nb::gil_scoped_acquire again;
    sources.clear();
    results.clear();
    return made;
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
  template <class Item>
  static std::vector<Item*> places(const std::vector<Array>& arrays) {
    std::vector<Item*> list;
    for (const auto& array : arrays) list.push_back(reinterpret_cast<Item*>(array.data));
    return list;
  }
  bool real_ = true;
  Shape physical_, spectral_;
};

nb::object wave_numbers(const std::vector<int>& numbers) {
  nb::list list;
  for (const int number : numbers) list.append(number);
  return nb::module_::import_("numpy").attr("array")(list, "int64");
}

constexpr const char* transform_doc =
    "A parallel 3D Fourier transform; `tailrace.fft.Transform` creates one.\n"
    "\n"
    "On this rank, fields have the index order (z, y, x) and the shape `shape`. Modes have the\n"
    "order [ky][kz][kx], or [kz][ky][kx] with mode_order='kz_ky_kx', and the shape\n"
    "`spectral_shape`. forward computes sums of u exp(-i k x), times `scale`, and backward sums "
    "of\n"
    "u exp(+i k x). If the scale is 1, backward(forward(u)) = nx ny nz u.\n"
    "\n"
    ">>> import numpy as np, tailrace.fft\n"
    ">>> from mpi4py import MPI\n"
    ">>> transform = tailrace.fft.Transform(MPI.COMM_WORLD, (8, 8, 8))\n"
    ">>> u = np.random.default_rng(1).random(transform.shape)\n"
    ">>> u_hat = transform.forward(u)\n"
    ">>> bool(np.allclose(transform.backward(u_hat), 8**3 * u))\n"
    "True\n"
    ">>> transform.close()";

template <class Real>
void bind_transform(nb::module_& module, const char* class_name) {
  using Class = PyTransform<Real>;
  nb::class_<Class> bound(module, class_name, transform_doc);
  bound
      .def(
          "__init__",
          [](Class* self, nb::object comm, nb::object extents, nb::object kind, nb::object cutoff,
             nb::object grid, Given<int> max_fields, Given<std::string> kernel,
             Given<std::string> method, Given<int> threads, nb::object mode_order,
             Given<double> scale) {
            new (self) Class(comm, {extents, kind, cutoff, grid, max_fields, kernel, method,
                                    threads, mode_order, scale});
          },
          nb::arg("comm").none(), nb::arg("extents").none(),
          nb::arg("kind").none() = "real_to_complex", nb::kw_only(),
          nb::arg("cutoff").none() = nb::none(), nb::arg("grid").none() = nb::none(),
          nb::arg("max_fields").none() = 1, nb::arg("kernel").none() = "auto",
          nb::arg("method").none() = "auto", nb::arg("threads").none() = 1,
          nb::arg("mode_order").none() = "ky_kz_kx", nb::arg("scale").none() = 1.0,
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, extents: "
                  "collections.abc.Sequence[int], kind: str = 'real_to_complex', *, cutoff: "
                  "collections.abc.Sequence[int] | None = None, grid: "
                  "collections.abc.Sequence[int] | None = None, max_fields: int = 1, kernel: str = "
                  "'auto', method: str = 'auto', threads: int = 1, mode_order: str = 'ky_kz_kx', "
                  "scale: "
                  "float = 1.0) -> None"))
      .def("forward", &Class::forward, nb::arg("fields").none(), nb::arg("out").none() = nb::none(),
           nb::sig("def forward(self, fields: typing.Any, out: typing.Any = None) -> typing.Any"),
           "Transforms fields to modes: an array, or a list of up to max_fields arrays. Returns "
           "`out`,\n"
           "or new arrays. Collective, blocking.")
      .def("backward", &Class::backward, nb::arg("modes").none(),
           nb::arg("out").none() = nb::none(),
           nb::sig("def backward(self, modes: typing.Any, out: typing.Any = None) -> typing.Any"),
           "Transforms modes to fields. Collective, blocking.")
      .def_prop_ro(
          "shape", [](const Class& self) { return tuple_of(self.physical().data(), 3); },
          nb::sig("def shape(self) -> tuple[int, int, int]"),
          "Shape of a field on this rank: (z, y, x).")
      .def_prop_ro(
          "spectral_shape", [](const Class& self) { return tuple_of(self.spectral().data(), 3); },
          nb::sig("def spectral_shape(self) -> tuple[int, int, int]"),
          "Shape of the modes on this rank: [ky][kz][kx], or according to `mode_order`.")
      .def_prop_ro(
          "dtype", [](const Class& self) { return dtype_of(self.physical_type()); },
          nb::sig("def dtype(self) -> numpy.dtype[typing.Any]"), "Type of the items of a field.")
      .def_prop_ro(
          "spectral_dtype", [](const Class&) { return dtype_of(Class::complex_type); },
          nb::sig("def spectral_dtype(self) -> numpy.dtype[typing.Any]"))
      .def_prop_ro(
          "layout", [](Class& self) { return self->physical_layout(); },
          "Layout of the fields, for `Output.write` and `Exchange`.")
      .def_prop_ro("box", [](Class& self) { return self->physical_box(); })
      .def_prop_ro(
          "spectral_layout", [](Class& self) { return self->spectral_layout(); },
          "Layout of the kept modes in their global order (kz, ky, kx).")
      .def_prop_ro("spectral_memory", [](Class& self) { return self->spectral_memory(); })
      .def_prop_ro(
          "wave_numbers",
          [](Class& self) {
            const auto& modes = self->modes();
            return nb::make_tuple(wave_numbers(modes.ky), wave_numbers(modes.kz),
                                  wave_numbers(modes.kx));
          },
          nb::sig("def wave_numbers(self) -> tuple[numpy.typing.NDArray[numpy.int64], "
                  "numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64]]"),
          "The wave numbers (ky, kz, kx) of this rank's modes, as signed integers.")
      .def_prop_ro("kernel", [](Class& self) { return std::string(self->kernel()); })
      .def_prop_ro("method", [](Class& self) { return std::string(self->method()); })
      .def_prop_ro(
          "grid", [](Class& self) { return self->problem().grid; },
          nb::sig("def grid(self) -> tuple[int, int]"), "Ranks along z and y.")
      .def_prop_ro("buffer_bytes", [](Class& self) { return self->buffer_bytes(); })
      .def("describe", [](Class& self) { return self->describe(); });
  bind_closing(bound, "Frees buffers. Collective.");
}

}  // namespace

void bind_transforms(nb::module_& module) {
  bind_transform<double>(module, "TransformDouble");
  bind_transform<float>(module, "TransformSingle");
}

}  // namespace tailrace::python
