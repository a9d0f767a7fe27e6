// SPDX-License-Identifier: BSD-3-Clause
// Reduction: sums, smallest and largest values over the ranks.
#include "tailrace/reduction.hpp"

#include "arrays.hpp"

namespace tailrace::python {

namespace {

ReduceOp op_of(std::string_view op) {
  return pick<ReduceOp>("op", op,
                        {{"sum", ReduceOp::sum}, {"min", ReduceOp::min}, {"max", ReduceOp::max}});
}

std::optional<NumberType> number_of(ItemType type) {
  switch (type) {
    case ItemType::float32:
      return NumberType::float32;
    case ItemType::float64:
      return NumberType::float64;
    case ItemType::complex64:
      return NumberType::complex64;
    case ItemType::complex128:
      return NumberType::complex128;
    case ItemType::int32:
      return NumberType::int32;
    case ItemType::int64:
      return NumberType::int64;
    default:
      return std::nullopt;
  }
}

NumberType require_number(ItemType type, const std::string& what) {
  const auto number = number_of(type);
  if (!number) {
    refuse(
        fmt::format("{}: {} cannot be reduced; needs float32, float64, complex64, complex128, "
                    "int32 or int64",
                    what, name_of(type)));
  }
  return *number;
}

class PyReduction final : public Held<Reduction> {
 public:
  using Op = Given<std::string>;
  using Root = Given<int>;
  PyReduction(nb::handle user, nb::handle dtype, const Given<std::ptrdiff_t>& max_items,
              const Given<std::string>& method)
      : Held("Reduction", user) {
    ReductionShape shape;
    std::string its_method;
    prepare_agreed(comm(), [&] {
      shape.type = require_number(item_type_of(dtype), "dtype");
      shape.max_items = max_items.take("max_items");
      its_method = method.take("method");
    });
    nb::gil_scoped_release released;
    hold(std::make_unique<Reduction>(comm(), shape, its_method));
  }
  ~PyReduction() override { end(); }
  void close() override { end(); }

  void allreduce(nb::handle values, Op op) {
    apply(values, op, {}, [&](auto span, ReduceOp how, int) { (**this).allreduce(span, how); });
    arrays_.clear();
  }
  void start_allreduce(nb::handle values, Op op) {
    apply(values, op, {},
          [&](auto span, ReduceOp how, int) { (**this).start_allreduce(span, how); });
  }
  void reduce(nb::handle values, Op op, Root root) {
    apply(values, op, root,
          [&](auto span, ReduceOp how, int to) { (**this).reduce(span, how, to); });
    arrays_.clear();
  }
  void start_reduce(nb::handle values, Op op, Root root) {
    apply(values, op, root,
          [&](auto span, ReduceOp how, int to) { (**this).start_reduce(span, how, to); });
  }
  void finish() {
    auto& reduction = **this;
    {
      nb::gil_scoped_release released;
      reduction.finish();
    }
    arrays_.clear();
  }
  nb::object dots(nb::handle pairs);

 private:
  void end() {
    Held::close();
    arrays_.clear();
  }
  template <class Action>
  void apply(nb::handle values, const Op& op, std::optional<Root> root, Action&& action) {
    static_cast<void>(**this);  // open?
    ReduceOp how{};
    int to = 0;
    prepare_or_refuse(comm(), name(), [&] {
      how = op_of(op.take("op"));
      if (root) to = root->take("root");
      if (!arrays_.empty()) refuse("an operation is under way: `finish` it first");
      Array array(values, Use::write, "values");
      if (!array.contiguous()) refuse("values: are not contiguous");
      require_number(array.type, "values");
      arrays_.push_back(std::move(array));
    });
    const auto& array = arrays_.back();
    try {
      nb::gil_scoped_release released;
      with_number_type(*number_of(array.type), [&]<class T>(T) {
        action(std::span<T>(reinterpret_cast<T*>(array.data),
                            static_cast<std::size_t>(array.num_items())),
               how, to);
      });
    } catch (...) {
      arrays_.clear();
      throw;
    }
  }
  std::vector<Array> arrays_;  // of the operation under way
};

nb::object PyReduction::dots(nb::handle pairs) {
  auto& reduction = **this;
  std::vector<Array> arrays;
  prepare_or_refuse(comm(), name(), [&] {
    for (const auto pair : nb::iter(pairs)) {
      std::size_t before = arrays.size();
      for (const auto item : nb::iter(pair)) {
        arrays.emplace_back(item, Use::read, fmt::format("vector {}", arrays.size()));
        const auto& array = arrays.back();
        const auto number = require_number(array.type, "dots");
        if (!array.contiguous()) refuse("dots: a vector is not contiguous");
        if (array.type != arrays.front().type) refuse("dots: vectors of different types");
        if (number == NumberType::int32 || number == NumberType::int64) {
          refuse("dots: needs vectors of float32, float64, complex64 or complex128");
        }
      }
      if (arrays.size() != before + 2) refuse("dots: needs pairs of vectors");
      if (arrays[before].num_items() != arrays[before + 1].num_items()) {
        refuse("dots: the two vectors of a pair have different lengths");
      }
    }
    if (arrays.empty()) refuse("dots: no vectors");
  });
  const bool complex =
      arrays[0].type == ItemType::complex64 || arrays[0].type == ItemType::complex128;
  const auto num_pairs = std::ssize(arrays) / 2;
  auto results =
      empty_array(std::span(&num_pairs, 1), complex ? ItemType::complex128 : ItemType::float64);
  const Array out(results, Use::write, "results");
  nb::gil_scoped_release released;
  with_number_type(*number_of(arrays[0].type), [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      std::vector<DotPair<T>> spans;
      for (std::size_t p = 0; p < arrays.size(); p += 2) {
        const auto size = static_cast<std::size_t>(arrays[p].num_items());
        spans.push_back({std::span(reinterpret_cast<const T*>(arrays[p].data), size),
                         std::span(reinterpret_cast<const T*>(arrays[p + 1].data), size)});
      }
      using Result = std::conditional_t<std::is_floating_point_v<T>, double, std::complex<double>>;
      reduction.dots(std::span<const DotPair<T>>(spans),
                     std::span(reinterpret_cast<Result*>(out.data), spans.size()));
    }
  });
  return results;
}

constexpr const char* reduction_doc =
    "Sums (\"sum\"), minima (\"min\") and maxima (\"max\") over the ranks, in place.\n"
    "\n"
    "`max_items` is the length of the longest vector. Only one operation may be in progress.\n"
    "Collective, blocking.\n"
    "\n"
    ">>> import numpy as np, tailrace\n"
    ">>> from mpi4py import MPI\n"
    ">>> with tailrace.Reduction(MPI.COMM_WORLD, max_items=3) as reduction:\n"
    "...     values = np.array([1.0, 5.0, 2.0])\n"
    "...     reduction.allreduce(values, \"max\")\n"
    "...     dots = reduction.dots([(values, values)])\n"
    ">>> values\n"
    "array([1., 5., 2.])\n"
    ">>> bool(dots[0] == 30 * MPI.COMM_WORLD.size)\n"
    "True";

#define VALUES "values: typing.Any, op: str = 'sum'"

}  // namespace

void bind_reductions(nb::module_& module) {
  nb::class_<PyReduction> bound(module, "Reduction", reduction_doc);
  bound
      .def(
          "__init__",
          [](PyReduction* self, nb::object comm, nb::object dtype, Given<std::ptrdiff_t> max_items,
             Given<std::string> method) { new (self) PyReduction(comm, dtype, max_items, method); },
          nb::arg("comm").none(), nb::arg("dtype").none() = "float64",
          nb::arg("max_items").none() = 1, nb::arg("method").none() = "auto",
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, dtype: numpy.typing.DTypeLike = "
                  "'float64', max_items: int = 1, method: str = 'auto') -> None"))
      .def("allreduce", &PyReduction::allreduce, nb::arg("values").none(),
           nb::arg("op").none() = "sum", nb::sig("def allreduce(self, " VALUES ") -> None"),
           "Replaces the array by its reduction over all ranks. Collective, blocking.")
      .def("start_allreduce", &PyReduction::start_allreduce, nb::arg("values").none(),
           nb::arg("op").none() = "sum", nb::sig("def start_allreduce(self, " VALUES ") -> None"),
           "Begins the reduction; do not use the array until `finish` returns.")
      .def("reduce", &PyReduction::reduce, nb::arg("values").none(), nb::arg("op").none() = "sum",
           nb::arg("root").none() = 0,
           nb::sig("def reduce(self, " VALUES ", root: int = 0) -> None"),
           "Like `allreduce`, but only rank `root` gets the result.")
      .def("start_reduce", &PyReduction::start_reduce, nb::arg("values").none(),
           nb::arg("op").none() = "sum", nb::arg("root").none() = 0,
           nb::sig("def start_reduce(self, " VALUES ", root: int = 0) -> None"),
           "Begins the reduction; do not use the array until `finish` returns.")
      .def("start_barrier", &without_lock<PyReduction, &Reduction::start_barrier>,
           "Begins a barrier; `finish` returns when all ranks have begun it.")
      .def("barrier", &without_lock<PyReduction, &Reduction::barrier>,
           "Returns after all ranks have called it.")
      .def("dots", &PyReduction::dots, nb::arg("pairs").none(),
           nb::sig("def dots(self, pairs: collections.abc.Sequence[tuple[typing.Any, typing.Any]]"
                   ") -> numpy.typing.NDArray[typing.Any]"),
           "Dot products sum(conj(x) * y) over all ranks, one for each pair of vectors.")
      .def("progress", &without_lock<PyReduction, &Reduction::progress>,
           "Advances the operation; True if `finish` would not wait. Local.")
      .def("finish", &PyReduction::finish, "Waits for the result. Collective, blocking.")
      .def_prop_ro("method", [](PyReduction& self) { return std::string(self->method()); })
      .def_prop_ro("why", [](PyReduction& self) { return self->why(); })
      .def_prop_ro("buffer_bytes", [](PyReduction& self) { return self->buffer_bytes(); });
  bind_closing(bound, "Frees buffers. Collective.");
}

}  // namespace tailrace::python
