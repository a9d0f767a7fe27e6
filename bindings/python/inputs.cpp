// SPDX-License-Identifier: BSD-3-Clause
// Input: named arrays of files.
#include "attribute.hpp"
#include "contents.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::python {

namespace {

class PyInput final : public Held<Input> {
 public:
  PyInput(nb::handle user, nb::handle path, const Given<int>& group_size,
          const Given<std::ptrdiff_t>& buffer_bytes, const Given<bool>& checks, nb::handle hints)
      : Held("Input", user) {
    InputOptions options;
    std::string text;
    prepare_agreed(comm(), [&] {
      text = path_of(path);
      options.group_size = group_size.take("group_size");
      options.buffer_bytes = buffer_bytes.take("buffer_bytes");
      options.checks = checks.take("checks");
      options.hints = hints_of(hints);
    });
    nb::gil_scoped_release released;
    with_place(text, -1, [&] { hold(std::make_unique<Input>(comm(), text, options)); });
  }

  /// New arrays have the box's shape, or one axis if the rank has several boxes.
  nb::object read(const Given<std::string>& name, nb::object layout, nb::object out,
                  nb::object dtype) {
    auto& input = **this;
    std::string variable;
    std::optional<Layout> its_layout;
    std::optional<Array> array;
    Memory memory;
    prepare_agreed(comm(), [&] {
      variable = name.take("name");
      if (!nb::try_cast(layout, its_layout) || !its_layout) refuse("layout: needs a Layout");
      if (its_layout->num_ranks() != comm().num_ranks()) {
        refuse(fmt::format("layout: is for {} ranks, the communicator has {}",
                           its_layout->num_ranks(), comm().num_ranks()));
      }
      const auto boxes = its_layout->boxes(comm().rank());
      if (out.is_none()) {
        const auto type = dtype.is_none() ? input.type(variable) : item_type_of(dtype);
        out = empty_array(shape_of(*its_layout, boxes), type);
      }
      array.emplace(out, Use::write, "out", Where::anywhere);
      if (!dtype.is_none() && item_type_of(dtype) != array->type) {
        refuse(fmt::format("out: has items {}, but dtype={} is requested", name_of(array->type),
                           text_of(dtype)));
      }
      memory = memory_of(*array, boxes, "out");
    });
    nb::gil_scoped_release released;
    input.read(variable, array->type, *its_layout, memory, array->data);
    nb::gil_scoped_acquire again;
    array.reset();
    return out;
  }
  nb::object read_all(const Given<std::string>& name, nb::object dtype) {
    auto& input = **this;
    std::string variable;
    nb::object out;
    std::optional<Array> array;
    prepare_agreed(comm(), [&] {
      variable = name.take("name");
      const auto type = dtype.is_none() ? input.type(variable) : item_type_of(dtype);
      out = empty_array(input.extents(variable), type);
      array.emplace(out, Use::write, "out");
    });
    nb::gil_scoped_release released;
    input.read_all(variable, array->type, array->data);
    nb::gil_scoped_acquire again;
    array.reset();
    return out;
  }

 private:
  std::vector<std::ptrdiff_t> shape_of(const Layout& layout, const std::vector<Box>& boxes) const {
    if (boxes.size() > 1) return {layout.num_items(comm().rank())};
    std::vector<std::ptrdiff_t> shape(static_cast<std::size_t>(layout.num_dims()), 0);
    if (boxes.size() == 1) {
      std::copy_n(boxes[0].extents.begin(), shape.size(), shape.begin());
    }
    return shape;
  }
};

nb::object attribute(const Input& input, const std::string& name) {
  if (!input.has_attribute(name)) {
    throw nb::key_error(("the file has no attribute " + name).c_str());
  }
  return object_of(input.attribute(name));
}

}  // namespace

void bind_inputs(nb::module_& module) {
  nb::class_<PyInput> bound(
      module, "Input",
      "Reads arrays of an HDF5 or netCDF-4 file into any layout, on any number of\n"
      "ranks. Collective, blocking.");
  bound
      .def(
          "__init__",
          [](PyInput* self, nb::object comm, nb::object path, Given<int> group_size,
             Given<std::ptrdiff_t> buffer_bytes, Given<bool> checks, nb::object hints) {
            new (self) PyInput(comm, path, group_size, buffer_bytes, checks, hints);
          },
          nb::arg("comm").none(), nb::arg("path").none(), nb::kw_only(),
          nb::arg("group_size").none() = 0, nb::arg("buffer_bytes").none() = 16 << 20,
          nb::arg("checks").none() = true, nb::arg("hints").none() = nb::none(),
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str], *, "
                  "group_size: int = 0, buffer_bytes: int = 16777216, checks: bool = True, hints: "
                  "collections.abc.Mapping[str, object] | None = None) -> None"))
      .def("read", &PyInput::read, nb::arg("name").none(), nb::arg("layout").none(),
           nb::arg("out").none() = nb::none(), nb::arg("dtype").none() = nb::none(),
           nb::sig("def read(self, name: str, layout: Layout, out: typing.Any = None, dtype: "
                   "numpy.typing.DTypeLike | None = None) -> numpy.typing.NDArray[typing.Any]"),
           "Reads this rank's part of variable `name` into `out`, which may be on a GPU, or into a "
           "new\n"
           "array. Collective, blocking.")
      .def("read_all", &PyInput::read_all, nb::arg("name").none(),
           nb::arg("dtype").none() = nb::none(),
           nb::sig("def read_all(self, name: str, dtype: numpy.typing.DTypeLike | None = None) -> "
                   "numpy.typing.NDArray[typing.Any]"),
           "The whole array, on every rank. Collective, blocking.")
      .def_prop_ro(
          "names", [](PyInput& self) { return self->names(); },
          "Names of all variables except coordinates.")
      .def(
          "extents",
          [](PyInput& self, const std::string& name) {
            const auto extents = self->extents(name);
            return tuple_of(extents.data(), std::ssize(extents));
          },
          nb::arg("name"), nb::sig("def extents(self, name: str) -> tuple[int, ...]"))
      .def(
          "dtype",
          [](PyInput& self, const std::string& name) { return dtype_of(self->type(name)); },
          nb::arg("name"), nb::sig("def dtype(self, name: str) -> numpy.dtype[typing.Any]"))
      .def(
          "attribute",
          [](PyInput& self, const std::string& name) { return attribute(*self, name); },
          nb::arg("name"), nb::sig("def attribute(self, name: str) -> typing.Any"),
          "An attribute of the file, in its type: int, float, complex, bool, str, a list, or a "
          "scalar\n"
          "or array of NumPy. Raises KeyError if the file has no attribute of that name, and\n"
          "InvalidInput with the reason if it cannot be read.")
      .def(
          "coordinate",
          [](PyInput& self, const std::string& name) { return self->coordinate(name); },
          nb::arg("name"))
      .def_prop_ro(
          "statistics", [](PyInput& self) { return statistics_of(self->statistics()); },
          nb::sig("def statistics(self) -> dict[str, float]"))
      .def(
          "total_statistics",
          [](PyInput& self) {
            auto& file = *self;
            const auto total = [&] {
              nb::gil_scoped_release released;
              return file.total_statistics();
            }();
            return statistics_of(total);
          },
          nb::sig("def total_statistics(self) -> dict[str, float]"),
          "Sums over the ranks; times are those of the slowest rank. Collective, blocking.");
  bind_closing(bound, "Closes the file. Collective.");
}

}  // namespace tailrace::python
