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

using Shape = std::vector<std::ptrdiff_t>;

Shape shape_of(const Box& box, std::size_t num_dims) {
  return {box.extents.begin(), box.extents.begin() + static_cast<std::ptrdiff_t>(num_dims)};
}

/// The shape of a rank's part; a rank without items has none along the axis that ranks divide.
Shape shape_on(const Layout& layout, int rank) {
  const auto& whole = layout.global_extents();
  Shape shape(whole.begin(), whole.begin() + layout.num_dims());
  if (layout.num_items(rank) > 0) return shape_of(layout.box(rank), shape.size());
  const auto first = shape_of(layout.box(0), shape.size());
  std::size_t divided = 0;
  while (divided + 1 < shape.size() && first[divided] == shape[divided]) ++divided;
  shape[first[divided] < shape[divided] ? divided : 0] = 0;
  return shape;
}

template <class Item>
std::span<Item> span_of(const Array& array) {
  return {reinterpret_cast<Item*>(array.data), static_cast<std::size_t>(array.num_items())};
}

void require_shape(const Array& array, const char* what, const Shape& shape, ItemType type) {
  if (array.type != type) {
    refuse(fmt::format("{}: has items {}; needs {}", what, name_of(array.type), name_of(type)));
  }
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  if (array.shape != shape && !(empty && array.num_items() == 0)) {
    refuse(fmt::format("{}: has shape {}; needs {}", what, describe_shape(array.shape),
                       describe_shape(shape)));
  }
  if (!array.contiguous()) {
    refuse(fmt::format("{}: is not contiguous; see numpy.ascontiguousarray", what));
  }
}

Array checked(nb::handle object, Use use, const char* what, const Shape& shape, ItemType type) {
  Array array(object, use, what);
  require_shape(array, what, shape, type);
  return array;
}

template <class Real>
class PyArrayTransform final : public Held<fft::ArrayTransform<Real>> {
 public:
  using Base = Held<fft::ArrayTransform<Real>>;
  using Complex = std::complex<Real>;
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
  bool complex_field_ = false, real_modes_ = false;
  Shape physical_, spectral_;
};

bool is_single(ItemType type) { return type == ItemType::float32 || type == ItemType::complex64; }
bool is_complex(ItemType type) {
  return type == ItemType::complex64 || type == ItemType::complex128;
}
ItemType real_or_complex(ItemType of, bool complex) {
  if (complex) return is_single(of) ? ItemType::complex64 : ItemType::complex128;
  return is_single(of) ? ItemType::float32 : ItemType::float64;
}
void require_numbers(ItemType type, const char* what) {
  if (is_complex(type) || type == ItemType::float32 || type == ItemType::float64) return;
  refuse(fmt::format("{}: has items {}; needs float32, float64, complex64 or complex128", what,
                     name_of(type)));
}

bool has_fourier(const fft::ArrayProblem& problem) {
  return std::ranges::any_of(problem.axes,
                             [](auto& one) { return one.kind == fft::AxisKind::fourier; });
}

/// A transform without an object: arguments, then arrays, then the call.
class OneTransform {
 public:
  OneTransform(bool inverse, nb::handle user, nb::handle in, nb::object out, nb::handle dtype,
               ArrayTransformArguments arguments)
      : inverse_(inverse),
        in_name_(inverse ? "modes" : "field"),
        out_name_(inverse ? "field" : "modes"),
        comm_(user.is_none() ? communicator(nb::module_::import_("mpi4py.MPI").attr("COMM_WORLD"))
                             : communicator(user)),
        out_(std::move(out)) {
    check_mpi(MPI_Comm_size(comm_, &num_ranks_));
    check_mpi(MPI_Comm_rank(comm_, &rank_));
    all_ranks([&] { read(in, dtype, arguments); });
    if (num_ranks_ > 1) complete_rows();
    all_ranks([&] { find_arrays(); });
  }

  nb::object run() {
    const auto type = inverse_ ? to_->type : from_->type;
    if (is_single(type)) {
      run_with<float>();
    } else {
      run_with<double>();
    }
    return out_;
  }

 private:
  void all_ranks(const std::function<void()>& prepare) const {
    const auto fault = fault_of(prepare);
    if (num_ranks_ == 1) {
      if (fault) throw *fault;
      return;
    }
    nb::gil_scoped_release released;
    agree(comm_, fault ? &*fault : nullptr);
  }

  void read(nb::handle in, nb::handle dtype, ArrayTransformArguments& arguments) {
    from_.emplace(in, Use::read, in_name_);
    require_numbers(from_->type, in_name_);
    if (!out_.is_none()) to_.emplace(out_, Use::write, "out");
    // The number of axes is known from the array; their lengths may not be yet.
    fits_shape_ = !arguments.shape.is_none();
    if (!fits_shape_) arguments.shape = tuple_of(from_->shape.data(), std::ssize(from_->shape));
    problem_ = array_problem_of(arguments);
    if (problem_.extents.size() != from_->shape.size()) {
      refuse(fmt::format("shape: {} extents; needs {}, one for each axis of {}",
                         problem_.extents.size(), from_->shape.size(), in_name_));
    }
    if (problem_.grid.empty() && !problem_.extents.empty()) {
      problem_.grid.assign(problem_.extents.size(), 1);
      problem_.grid.front() = num_ranks_;
    }
    options_.kernel = arguments.kernel.take("kernel");
    options_.method = arguments.method.take("method");
    options_.threads = arguments.threads.take("threads");
    field_type_ = from_->type;
    if (!inverse_) {
      problem_.complex_field = is_complex(field_type_);
      return;
    }
    field_type_ =
        !dtype.is_none() ? item_type_of(dtype)
        : to_            ? to_->type
              : real_or_complex(from_->type, is_complex(from_->type) && !has_fourier(problem_));
    require_numbers(field_type_, "dtype");
    problem_.complex_field = is_complex(field_type_);
    if (!fits_shape_) find_points();
  }

  /// The extents of the field, from those of the modes of one rank.
  void find_points() {
    if (num_ranks_ > 1) {
      refuse("shape: needs the shape of the whole field on several ranks");
    }
    if (to_) {
      if (to_->shape.size() == problem_.extents.size()) problem_.extents = to_->shape;
      return;
    }
    for (auto& one : problem_.axes) {
      if (one.kept > 0) refuse("shape: needs the shape of the field where modes are not kept");
    }
    if (problem_.complex_field) return;
    for (auto one = problem_.axes.rbegin(); one != problem_.axes.rend(); ++one) {
      if (one->kind != fft::AxisKind::fourier) continue;
      auto& points = problem_.extents.at(static_cast<std::size_t>(one->axis));
      points = std::max<std::ptrdiff_t>(2 * (points - 1), 1);
      return;
    }
  }

  /// Rows of all ranks make the field, unless its shape was given.
  void complete_rows() {
    nb::gil_scoped_release released;
    std::array<std::int64_t, 2> sums{problem_.extents.empty() ? 0 : problem_.extents.front(),
                                     fits_shape_ ? 1 : 0};
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_INT64_T, MPI_SUM, comm_));
    if (sums[1] != 0 && sums[1] != num_ranks_) {
      require_all(comm_, false, "shape: is given on some ranks and not on others");
    }
    if (!fits_shape_ && !problem_.extents.empty()) problem_.extents.front() = sums[0];
  }

  void find_arrays() {
    const auto points = fft::physical_layout(problem_, num_ranks_);
    const auto waves = fft::spectral_layout(problem_, num_ranks_);
    real_modes_ = !problem_.complex_field && !has_fourier(problem_);
    const auto field = shape_on(points, rank_);
    const auto modes = shape_on(waves, rank_);
    const auto modes_type = real_or_complex(field_type_, !real_modes_);
    require_shape(*from_, in_name_, inverse_ ? modes : field, inverse_ ? modes_type : field_type_);
    const auto& shape = inverse_ ? field : modes;
    const auto type = inverse_ ? field_type_ : modes_type;
    if (!to_) {
      out_ = empty_array(shape, type);
      to_.emplace(out_, Use::write, "out");
    }
    require_shape(*to_, "out", shape, type);
  }

  template <class Real>
  void run_with() {
    using Complex = std::complex<Real>;
    if (problem_.complex_field) {
      run_as<Complex, Complex>();
    } else if (real_modes_) {
      run_as<Real, Real>();
    } else {
      run_as<Real, Complex>();
    }
  }
  template <class Field, class Modes>
  void run_as() {
    nb::gil_scoped_release released;
    if (inverse_) {
      fft::inverse(comm_, problem_, span_of<const Modes>(*from_), span_of<Field>(*to_), options_);
    } else {
      fft::transform(comm_, problem_, span_of<const Field>(*from_), span_of<Modes>(*to_), options_);
    }
  }

  bool inverse_;
  const char* in_name_;
  const char* out_name_;
  MPI_Comm comm_;
  int num_ranks_ = 1, rank_ = 0;
  nb::object out_;
  std::optional<Array> from_, to_;
  ItemType field_type_ = ItemType::float64;
  bool fits_shape_ = false, real_modes_ = false;
  fft::ArrayProblem problem_;
  fft::ArrayOptions options_;
};

constexpr const char* transform_doc =
    "The transform of `field`, in `out` or in a new array; no object is needed.\n"
    "\n"
    "On several ranks `field` holds this rank's rows, as in\n"
    "`numpy.array_split(whole, comm.size)[comm.rank]`, unless `grid` divides other axes. `shape` "
    "is\n"
    "the shape of the whole array (None: all rows together). The other arguments, and the\n"
    "distribution of the modes, are those of `ArrayTransform`. `comm` (None: MPI.COMM_WORLD) "
    "keeps\n"
    "the plans of its last 8 problems until it is freed. Collective, blocking.\n"
    "\n"
    ">>> import numpy as np, tailrace.fft\n"
    ">>> from mpi4py import MPI\n"
    ">>> u = np.random.default_rng(1).random((8, 9, 8))\n"
    ">>> u_hat = tailrace.fft.transform(u, MPI.COMM_SELF)\n"
    ">>> bool(np.allclose(u_hat, np.fft.rfftn(u)))\n"
    "True\n"
    ">>> bool(np.allclose(tailrace.fft.inverse(u_hat, MPI.COMM_SELF), u))\n"
    "True";
constexpr const char* inverse_doc =
    "The inverse of `transform`, with the same arguments: inverse(transform(u)) is u.\n"
    "\n"
    "`shape` is the shape of the whole field. None is possible on one rank: the shape is then "
    "that\n"
    "of `out`, or that of the modes with an even number of points along the halved axis. `dtype` "
    "is\n"
    "the type of the field; None: that of `out`, or real. Collective, blocking.";

void bind_transform_calls(nb::module_& module) {
  module.def(
      "transform",
      [](nb::object field, nb::object comm, nb::object out, nb::object shape, nb::object axes,
         nb::object kinds, nb::object kept, nb::object swap_with, nb::object grid,
         Given<double> scale, Given<std::string> kernel, Given<std::string> method,
         Given<int> threads) {
        return OneTransform(false, comm, field, out, nb::none(),
                            {shape, Given<bool>(nb::bool_(false)), axes, kinds, kept, swap_with,
                             grid, scale, kernel, method, threads})
            .run();
      },
      nb::arg("field").none(), nb::arg("comm").none() = nb::none(),
      nb::arg("out").none() = nb::none(), nb::kw_only(), nb::arg("shape").none() = nb::none(),
      nb::arg("axes").none() = nb::none(), nb::arg("kinds").none() = nb::none(),
      nb::arg("kept").none() = nb::none(), nb::arg("swap_with").none() = nb::none(),
      nb::arg("grid").none() = nb::none(), nb::arg("scale").none() = 1.0,
      nb::arg("kernel").none() = "auto", nb::arg("method").none() = "auto",
      nb::arg("threads").none() = 1,
      nb::sig("def transform(field: typing.Any, comm: mpi4py.MPI.Intracomm | None = None, out: "
              "typing.Any = None, *, shape: collections.abc.Sequence[int] | None = None, axes: "
              "collections.abc.Sequence[int] | None = None, kinds: str | "
              "collections.abc.Sequence[str] | None = None, kept: collections.abc.Sequence[int] | "
              "None = None, swap_with: collections.abc.Sequence[int] | None = None, grid: "
              "collections.abc.Sequence[int] | None = None, scale: float = 1.0, kernel: str = "
              "'auto', method: str = 'auto', threads: int = 1) -> typing.Any"),
      transform_doc);
  module.def(
      "inverse",
      [](nb::object modes, nb::object comm, nb::object out, nb::object shape, nb::object dtype,
         nb::object axes, nb::object kinds, nb::object kept, nb::object swap_with, nb::object grid,
         Given<double> scale, Given<std::string> kernel, Given<std::string> method,
         Given<int> threads) {
        return OneTransform(true, comm, modes, out, dtype,
                            {shape, Given<bool>(nb::bool_(false)), axes, kinds, kept, swap_with,
                             grid, scale, kernel, method, threads})
            .run();
      },
      nb::arg("modes").none(), nb::arg("comm").none() = nb::none(),
      nb::arg("out").none() = nb::none(), nb::kw_only(), nb::arg("shape").none() = nb::none(),
      nb::arg("dtype").none() = nb::none(), nb::arg("axes").none() = nb::none(),
      nb::arg("kinds").none() = nb::none(), nb::arg("kept").none() = nb::none(),
      nb::arg("swap_with").none() = nb::none(), nb::arg("grid").none() = nb::none(),
      nb::arg("scale").none() = 1.0, nb::arg("kernel").none() = "auto",
      nb::arg("method").none() = "auto", nb::arg("threads").none() = 1,
      nb::sig("def inverse(modes: typing.Any, comm: mpi4py.MPI.Intracomm | None = None, out: "
              "typing.Any = None, *, shape: collections.abc.Sequence[int] | None = None, dtype: "
              "numpy.typing.DTypeLike | None = None, axes: collections.abc.Sequence[int] | None = "
              "None, kinds: str | collections.abc.Sequence[str] | None = None, kept: "
              "collections.abc.Sequence[int] | None = None, swap_with: "
              "collections.abc.Sequence[int] | None = None, grid: collections.abc.Sequence[int] | "
              "None = None, scale: float = 1.0, kernel: str = 'auto', method: str = 'auto', "
              "threads: int = 1) -> typing.Any"),
      inverse_doc);
}

constexpr const char* array_transform_doc =
    "A parallel transform of some axes of an array; `tailrace.fft.ArrayTransform` creates one.\n"
    "\n"
    "On this rank, fields have the shape `shape` and modes `spectral_shape`, with the same order "
    "of\n"
    "axes. If the scale is 1, backward(forward(u)) is u / normalization.\n"
    "\n"
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
           "Transforms a field to modes. Returns `out`, or a new array. `out` may be the field if "
           "the\n"
           "modes have the same shape and type. Collective, blocking.")
      .def("backward", &Class::backward, nb::arg("modes").none(),
           nb::arg("out").none() = nb::none(),
           nb::sig("def backward(self, modes: typing.Any, out: typing.Any = None) -> typing.Any"),
           "Transforms modes to a field, without normalisation. Collective, blocking.")
      .def_prop_ro(
          "shape",
          [](const Class& self) {
            return tuple_of(self.physical().data(), std::ssize(self.physical()));
          },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Shape of a field on this rank.")
      .def_prop_ro(
          "spectral_shape",
          [](const Class& self) {
            return tuple_of(self.spectral().data(), std::ssize(self.spectral()));
          },
          nb::sig("def spectral_shape(self) -> tuple[int, ...]"),
          "Shape of the modes on this rank.")
      .def_prop_ro(
          "dtype", [](const Class& self) { return dtype_of(self.physical_type()); },
          nb::sig("def dtype(self) -> numpy.dtype[typing.Any]"), "Type of the items of a field.")
      .def_prop_ro(
          "spectral_dtype", [](const Class& self) { return dtype_of(self.spectral_type()); },
          nb::sig("def spectral_dtype(self) -> numpy.dtype[typing.Any]"))
      .def_prop_ro(
          "layout", [](Class& self) { return self->physical_layout(); },
          "Layout of the fields, for `Output.write` and `Exchange`.")
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
  bind_transform_calls(module);
}

}  // namespace tailrace::python
