// SPDX-License-Identifier: BSD-3-Clause
// Output and Input: named arrays in files.
#include "attribute.hpp"
#include "contents.hpp"
#include "tailrace/input.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::python {

namespace {

OutputMode mode_of(std::string_view mode) {
  return pick<OutputMode>(
      "mode", mode, {{"hidden", OutputMode::hidden}, {"synchronous", OutputMode::synchronous}});
}

struct OutputArguments {
  Given<std::string> mode, strategy, method;
  nb::object hints;
  Given<int> writers;
  Given<std::ptrdiff_t> stripe_bytes;
  Given<int> buffered_files;
  Given<bool> checksums;
};

class PyOutput final : public Held<Output> {
 public:
  PyOutput(nb::handle user, const OutputArguments& arguments) : Held("Output", user) {
    OutputOptions options;
    prepare_agreed(comm(), [&] {
      options.mode = mode_of(arguments.mode.take("mode"));
      options.strategy = arguments.strategy.take("strategy");
      options.writers = arguments.writers.take("writers");
      options.stripe_bytes = arguments.stripe_bytes.take("stripe_bytes");
      options.buffered_files = arguments.buffered_files.take("buffered_files");
      options.method = arguments.method.take("method");
      options.checksums = arguments.checksums.take("checksums");
      options.hints = hints_of(arguments.hints);
    });
    nb::gil_scoped_release released;
    hold(std::make_unique<Output>(comm(), options));
  }

  void write(nb::object path, const ContentsArguments& arguments) {
    auto& output = **this;
    Contents contents;
    std::string text;
    contents.fail(fault_of([&] {
      text = path_of(path);
      contents.take(arguments, comm());
    }));
    nb::gil_scoped_release released;
    output.write(text, contents.get());
  }
  /// Errors of files under way are thrown, as by `finish`.
  void close() override {
    if (closed()) return;
    std::exception_ptr failure;
    try {
      nb::gil_scoped_release released;
      (**this).finish();
    } catch (const Error&) {
      failure = std::current_exception();
    }
    Held::close();
    if (failure) std::rethrow_exception(failure);
  }
};

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
      array.emplace(out, Use::write, "out");
      if (!dtype.is_none() && item_type_of(dtype) != array->type) {
        refuse(fmt::format("out: has items {}, but dtype={} is asked for", name_of(array->type),
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

constexpr const char* output_doc =
    "Writes dicts of arrays as HDF5 files that h5py, xarray and ParaView read.\n\n"
    "`mode`: \"hidden\" (the call copies, a background thread writes) or \"synchronous\".\n"
    "`strategy`, `writers`, `hints`: who writes what (docs/files.md). Collective, blocking.\n\n"
    ">>> import numpy as np, tailrace\n"
    ">>> from mpi4py import MPI\n"
    ">>> comm = MPI.COMM_WORLD\n"
    ">>> layout = tailrace.slabs((8, 6), axis=0, num_ranks=comm.size)\n"
    ">>> u = np.full(layout.shape(comm.rank), 2.0)\n"
    ">>> with tailrace.Output(comm) as output:\n"
    "...     output.write(\"u.h5\", {\"u\": u}, layout, attributes={\"time\": 0.5})\n"
    ">>> with tailrace.Input(comm, \"u.h5\") as file:\n"
    "...     file.names, file.extents(\"u\"), file.attribute(\"time\")\n"
    "...     bool((file.read(\"u\", layout) == u).all())\n"
    "(['u'], (8, 6), 0.5)\n"
    "True";

void bind_output(nb::module_& module) {
  nb::class_<PyVariable>(module, "Variable",
                         "An array of a file with what is its own: layout, names of its axes,\n"
                         "attributes.")
      .def(nb::init<nb::object, nb::object, nb::object, nb::object>(), nb::arg("array").none(),
           nb::arg("layout").none() = nb::none(), nb::arg("dims").none() = nb::none(),
           nb::arg("attributes").none() = nb::none(),
           nb::sig("def __init__(self, array: typing.Any, layout: Layout | None = None, dims: "
                   "collections.abc.Sequence[str] | None = None, attributes: "
                   "collections.abc.Mapping[str, typing.Any] | None = None) -> None"));
  nb::class_<PyOutput> bound(module, "Output", output_doc);
  bound
      .def(
          "__init__",
          [](PyOutput* self, nb::object comm, Given<std::string> mode, Given<std::string> strategy,
             nb::object hints, Given<int> writers, Given<std::ptrdiff_t> stripe_bytes,
             Given<int> buffered_files, Given<std::string> method, Given<bool> checksums) {
            new (self) PyOutput(comm, {mode, strategy, method, hints, writers, stripe_bytes,
                                       buffered_files, checksums});
          },
          nb::arg("comm").none(), nb::kw_only(), nb::arg("mode").none() = "hidden",
          nb::arg("strategy").none() = "auto", nb::arg("hints").none() = nb::none(),
          nb::arg("writers").none() = 0, nb::arg("stripe_bytes").none() = 1 << 20,
          nb::arg("buffered_files").none() = 2, nb::arg("method").none() = "auto",
          nb::arg("checksums").none() = true,
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, *, mode: str = 'hidden', "
                  "strategy: str = 'auto', hints: collections.abc.Mapping[str, object] | None = "
                  "None, writers: int = 0, stripe_bytes: int = 1048576, buffered_files: int = 2, "
                  "method: str = 'auto', checksums: bool = True) -> None"))
      .def(
          "write",
          [](PyOutput& self, nb::object path, nb::object variables, nb::object layout,
             nb::object step, nb::object attributes, nb::object coordinates) {
            self.write(path, {variables, layout, step, attributes, coordinates});
          },
          nb::arg("path").none(), nb::arg("variables").none(),
          nb::arg("layout").none() = nb::none(), nb::kw_only(), nb::arg("step").none() = 0,
          nb::arg("attributes").none() = nb::none(), nb::arg("coordinates").none() = nb::none(),
          nb::sig("def write(self, path: str | os.PathLike[str], variables: "
                  "collections.abc.Mapping[str, typing.Any], layout: Layout | None = None, *, "
                  "step: int = 0, attributes: collections.abc.Mapping[str, typing.Any] | None = "
                  "None, coordinates: collections.abc.Mapping[str, typing.Any] | None = None) -> "
                  "None"),
          "Writes arrays (or `Variable`s) by name; they may be changed when it returns. An array\n"
          "has the shape of this rank's box, with any strides, or is 1D with the items of all its\n"
          "boxes. Raises on all ranks alike. Collective; blocking for the copy only if hidden.")
      .def("progress", &without_lock<PyOutput, &Output::progress>,
           "Gives finished files their names. Cheap, never waits; call it once a step.")
      .def("finish", &without_lock<PyOutput, &Output::finish>,
           "Waits until every file is complete; raises like `write`. Collective, blocking.")
      .def_prop_ro(
          "statistics", [](PyOutput& self) { return statistics_of(self->statistics()); },
          nb::sig("def statistics(self) -> dict[str, float]"),
          "Counts, bytes and seconds so far, on this rank.")
      .def_prop_ro(
          "last_complete", [](PyOutput& self) { return text_of_path(self->last_complete()); },
          "Path of the last file known to be complete, or \"\".");
  bind_closing(bound, "`finish`, and the end of the background thread. Collective.");
}

void bind_input(nb::module_& module) {
  nb::class_<PyInput> bound(
      module, "Input",
      "Reads arrays of an HDF5 or netCDF-4 file, any layout on any number of\n"
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
           "This rank's part of variable `name`, into `out` or a new array. Collective, blocking.")
      .def("read_all", &PyInput::read_all, nb::arg("name").none(),
           nb::arg("dtype").none() = nb::none(),
           nb::sig("def read_all(self, name: str, dtype: numpy.typing.DTypeLike | None = None) -> "
                   "numpy.typing.NDArray[typing.Any]"),
           "The whole array, on every rank. Collective, blocking.")
      .def_prop_ro(
          "names", [](PyInput& self) { return self->names(); }, "Of all variables but coordinates.")
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
          "An attribute of the file, in its own type: int, float, complex, bool, str, a list, or "
          "a\n"
          "scalar or array of NumPy. KeyError if the file has none of that name; InvalidInput, "
          "which\n"
          "says why, if it cannot be read.")
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
          "Sums over the ranks; times are those of the slowest. Collective, blocking.");
  bind_closing(bound, "Closes the file. Collective.");
}

}  // namespace

void bind_files(nb::module_& module) {
  bind_output(module);
  bind_input(module);
}

}  // namespace tailrace::python
