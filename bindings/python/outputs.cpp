// SPDX-License-Identifier: BSD-3-Clause
// Output and Session: who writes, with which settings, and what.
#include "contents.hpp"
#include "output_options.hpp"
#include "tailrace/session.hpp"

namespace tailrace::python {

namespace {

/// What those who write call: a base class, as it must outlive the object that is held.
struct Callables {
  nb::list kept;
};

class PySession final : private Callables, public Held<Session> {
 public:
  PySession(nb::handle user, const Given<std::string>& servers, const nb::kwargs& settings)
      : Held("Session", user) {
    OutputOptions options;
    prepare_agreed(comm(), [&] {
      options = options_of(settings, kept);
      options.servers = servers.take("servers");
    });
    nb::gil_scoped_release released;
    hold(std::make_unique<Session>(comm().raw(), options));
  }
  void require_compute() const {
    if (!(**this).computes()) refuse("this rank serves output: it calls `serve`, nothing else");
  }
  nb::object compute() const {
    require_compute();
    const MPI_Comm raw = (**this).compute().raw();
    const auto made = nb::module_::import_("mpi4py.MPI").attr("Intracomm");
#ifdef MPI_ABI
    return made.attr("fromint")(MPI_Comm_toint(raw));
#else
    return made.attr("f2py")(MPI_Comm_c2f(raw));
#endif
  }
  int serve() {
    auto& session = **this;
    if (session.computes()) refuse("this rank computes: only server ranks call `serve`");
    nb::gil_scoped_release released;
    return session.serve();
  }
  /// Throws what is wrong with files under way.
  void close() override {
    close_after([](Session& session) {
      if (session.computes()) session.close();
    });
  }
};

/// `servers`, which programs of 0.1 said by `mode`, their second argument.
std::string servers_of(const Given<std::string>& given, const nb::kwargs& settings) {
  auto servers = given.take("servers");
  const nb::object mode = settings.attr("pop")("mode", nb::none());
  if (mode.is_none() && servers != "synchronous") return servers;
  const auto old = mode.is_none() ? servers : Given<std::string>(mode).take("mode");
  const std::string now =
      pick<const char*>("mode", old, {{"hidden", "hidden"}, {"synchronous", "none"}});
  const auto text = fmt::format("Output: mode=\"{}\" is now servers=\"{}\"", old, now);
  if (PyErr_WarnEx(PyExc_DeprecationWarning, text.c_str(), 1) != 0) throw nb::python_error();
  return servers == "auto" || servers == "synchronous" ? now : servers;
}

const char* result_name(WriteResult result) {
  switch (result) {
    case WriteResult::staged:
      return "staged";
    case WriteResult::written:
      return "written";
    case WriteResult::dropped:
      return "dropped";
    case WriteResult::lowered:
      return "lowered";
    case WriteResult::spilled:
      return "spilled";
  }
  return "?";
}

class PyOutput final : private Callables, public Held<Output> {
 public:
  PyOutput(nb::handle user, const Given<std::string>& servers, const nb::kwargs& settings)
      : Held("Output", user) {
    OutputOptions options;
    prepare_agreed(comm(), [&] {
      const auto writers = servers_of(servers, settings);
      options = options_of(settings, kept);
      options.servers = writers;
    });
    nb::gil_scoped_release released;
    hold(std::make_unique<Output>(comm(), options));
  }
  PyOutput(PySession& session, const Given<std::string>& given, const nb::kwargs& settings)
      : Held("Output", session->compute().raw()) {
    std::string name;
    OutputOptions options;
    prepare_agreed(comm(), [&] {
      name = given.take("name");
      options = options_of(settings, kept);
    });
    rename("Output " + name);
    nb::gil_scoped_release released;
    hold(std::make_unique<Output>(session->open(name, options)));
  }
  const char* write(nb::object path, const ContentsArguments& arguments) {
    auto& output = **this;
    Contents contents;
    std::string text;
    contents.fail(fault_of([&] {
      text = path_of(path);
      contents.take(arguments, comm());
    }));
    nb::gil_scoped_release released;
    return result_name(output.write(text, contents.get()));
  }
  /// Throws what is wrong with files under way.
  void close() override {
    close_after([](Output& output) { output.finish(); });
  }
};

#define WHO_WRITES                                                                               \
  "servers: str = 'auto', *, placement: str = 'spread', transport: str = 'auto', memory_bytes: " \
  "int = 1073741824, senders_at_once: int = 4, chunk_bytes: int = 4194304, progress: str = "     \
  "'calls', threads: int = 1, watchdog_s: float = -1.0, folder: str | os.PathLike[str] = '.', "  \
  "functions: dict[str, collections.abc.Callable[[int, list[tailrace.worker.Part]], None]] | "   \
  "None = None, tasks: dict[str, collections.abc.Callable[[int, int], float]] | None = None, "   \
  "server_program: collections.abc.Sequence[str] = ()"

#define WHAT_IS_WRITTEN                                                                            \
  "strategy: str = 'auto', hints: collections.abc.Mapping[str, object] | None = None, writers: "   \
  "int = 0, stripe_bytes: int = 1048576, buffered_files: int = 2, method: str = 'auto', "          \
  "checksums: bool = True, priority: int = 0, when_full: str = 'wait', stall_budget: float = "     \
  "0.0, wait_limit_s: float = -1.0, spill_folder: str | os.PathLike[str] = '', on_failure: str "   \
  "= 'stop', retry_s: float = 0.0, fallback_path: str | os.PathLike[str] = '', format: str = "     \
  "'auto', compress: str = '', variables: bool = True, products: "                                 \
  "collections.abc.Sequence[tailrace.product.Product] = (), series: str | os.PathLike[str] = '', " \
  "trace: Trace | None = None"

constexpr const char* output_doc =
    "Writes dicts of arrays as HDF5 files that h5py, xarray and ParaView read, or as Zarr stores\n"
    "(paths that end in \".zarr\").\n\n"
    "`servers` says who writes: \"none\" (the ranks, within `write`), \"hidden\" (threads of some\n"
    "ranks, while the program continues), \"thread\" (a server thread on each node), \"process\" "
    "(a\n"
    "server process; one node only) or \"auto\" (\"hidden\"). For ranks that only serve see\n"
    "`Session`. `strategy`, `writers`, `hints`: docs/files.md. `when_full`: \"wait\", \"drop\",\n"
    "\"thin\", \"lower\" or \"spill\"; `on_failure`: \"stop\", \"proceed\" or \"continue\" (the "
    "same);\n"
    "`products`: docs/servers.md. `series`: an HDF5 file or a Zarr store that shows all steps\n"
    "along an axis `time` (docs/files.md); \"FILE steps_per_file=N\" merges steps of HDF5 (N: a\n"
    "number or auto).\n"
    "Collective, blocking.\n\n"
    "`functions` are called by the stage \"call name=NAME\" of products: function(step, parts)\n"
    "changes part.data[...], a NumPy array, and returns nothing. `tasks` are called by the stage\n"
    "\"tasks name=NAME count=N\": function(step, task) returns a number. If a function raises an\n"
    "exception, the product fails.\n\n"
    ">>> import numpy as np, tailrace\n"
    ">>> from mpi4py import MPI\n"
    ">>> comm = MPI.COMM_WORLD\n"
    ">>> layout = tailrace.slabs((8, 6), axis=0, num_ranks=comm.size)\n"
    ">>> u = np.full(layout.shape(comm.rank), 2.0)\n"
    ">>> with tailrace.Output(comm) as output:\n"
    "...     output.write(\"u.h5\", {\"u\": u}, layout, attributes={\"time\": 0.5})\n"
    "'staged'\n"
    ">>> with tailrace.Input(comm, \"u.h5\") as file:\n"
    "...     file.names, file.extents(\"u\"), file.attribute(\"time\")\n"
    "...     bool((file.read(\"u\", layout) == u).all())\n"
    "(['u'], (8, 6), 0.5)\n"
    "True";

void bind_output(nb::module_& module) {
  nb::class_<PyVariable>(
      module, "Variable",
      "An array of a file, with its layout, names of axes, attributes and compression (as for\n"
      "`Output`; \"none\": not compressed).")
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object>(),
           nb::arg("array").none(), nb::arg("layout").none() = nb::none(),
           nb::arg("dims").none() = nb::none(), nb::arg("attributes").none() = nb::none(),
           nb::arg("compress").none() = "",
           nb::sig("def __init__(self, array: typing.Any, layout: Layout | None = None, dims: "
                   "collections.abc.Sequence[str] | None = None, attributes: "
                   "collections.abc.Mapping[str, typing.Any] | None = None, compress: str = '') "
                   "-> None"));
  nb::class_<PyOutput> bound(module, "Output", output_doc);
  bound
      .def(
          "__init__",
          [](PyOutput* self, nb::object comm, Given<std::string> servers, nb::kwargs settings) {
            new (self) PyOutput(comm, servers, settings);
          },
          nb::arg("comm").none(), nb::arg("servers").none() = "auto", nb::arg("settings"),
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, " WHO_WRITES ", " WHAT_IS_WRITTEN
                  ") -> None"))
      .def(
          "write",
          [](PyOutput& self, nb::object path, nb::object variables, nb::object layout,
             nb::object step, nb::object attributes, nb::object coordinates) {
            return self.write(path, {variables, layout, step, attributes, coordinates});
          },
          nb::arg("path").none(), nb::arg("variables").none(),
          nb::arg("layout").none() = nb::none(), nb::kw_only(), nb::arg("step").none() = 0,
          nb::arg("attributes").none() = nb::none(), nb::arg("coordinates").none() = nb::none(),
          nb::sig("def write(self, path: str | os.PathLike[str], variables: "
                  "collections.abc.Mapping[str, typing.Any], layout: Layout | None = None, *, "
                  "step: int = 0, attributes: collections.abc.Mapping[str, typing.Any] | None = "
                  "None, coordinates: collections.abc.Mapping[str, typing.Any] | None = None) -> "
                  "str"),
          "Writes arrays (or `Variable`s) by name; they may be changed when it returns. An array\n"
          "has the shape of this rank's box, with any strides, or is 1D with the items of all its\n"
          "boxes; it may lie on a CUDA device (CuPy, JAX, PyTorch). Returns the outcome: "
          "\"staged\"\n"
          "(the file will follow), \"written\", \"dropped\", \"lowered\" or \"spilled\". Raises on "
          "all\n"
          "ranks alike. Collective over the ranks that compute; blocking for the copy, and as\n"
          "`when_full` says.")
      .def("progress", &without_lock<PyOutput, &Output::progress>,
           "Gives completed files their names, and advances transfers. It costs little and never\n"
           "waits; call it once per step.")
      .def("finish", &without_lock<PyOutput, &Output::finish>,
           "Waits until every file is complete; raises like `write`. Collective, blocking.")
      .def_prop_ro(
          "statistics", [](PyOutput& self) { return statistics_of(self->statistics()); },
          nb::sig("def statistics(self) -> dict[str, float]"),
          "Counts, bytes and seconds so far, on this rank.")
      .def(
          "describe", [](PyOutput& self) { return self->describe(); },
          "Which ranks, threads or processes write, and why.")
      .def(
          "describe_statistics", [](PyOutput& self) { return self->statistics().describe(); },
          "The cost of output to the simulation, as a text.")
      .def_prop_ro(
          "last_complete", [](PyOutput& self) { return text_of_path(self->last_complete()); },
          "Path of the last file known to be complete, or \"\".");
  bind_closing(bound, "Finishes all files, and ends the writers. Collective.");
}

constexpr const char* session_doc =
    "The ranks of a program, split into those that compute and those that serve output.\n\n"
    "`servers`: \"N\" or \"N per node\" ranks that only serve; \"none\", \"hidden\", \"thread\" "
    "or\n"
    "\"process\" as for `Output`, where all ranks compute; or \"auto\", which measures. The other\n"
    "settings are those of `Output` that say who writes; `open` takes the rest. Collective, "
    "blocking.\n\n"
    "    with tailrace.Session(MPI.COMM_WORLD, servers=\"1 per node\") as session:\n"
    "        if session.computes:\n"
    "            solve(session.compute, session.open(\"fields\"))\n"
    "        else:\n"
    "            session.serve()\n";

void bind_session(nb::module_& module) {
  nb::class_<PySession> bound(module, "Session", session_doc);
  bound
      .def(
          "__init__",
          [](PySession* self, nb::object comm, Given<std::string> servers, nb::kwargs settings) {
            new (self) PySession(comm, servers, settings);
          },
          nb::arg("comm").none(), nb::arg("servers").none() = "auto", nb::arg("settings"),
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, " WHO_WRITES
                  ", trace: Trace | None = None) -> None"))
      .def_prop_ro(
          "computes", [](PySession& self) { return self->computes(); },
          "Whether this rank computes; a rank that does not must call `serve`.")
      .def_prop_ro("compute", &PySession::compute,
                   nb::sig("def compute(self) -> mpi4py.MPI.Intracomm"),
                   "The communicator of the compute ranks; valid until `close`.")
      .def("serve", &PySession::serve,
           "Serves until all compute ranks have closed; 0, or 1 if output was lost. Blocking.")
      .def_prop_ro("num_servers", [](PySession& self) { return self->num_servers(); })
      .def_prop_ro("transport", [](PySession& self) { return self->transport(); })
      .def("describe", [](PySession& self) { return self->describe(); })
      .def(
          "open",
          [](PySession& self, Given<std::string> name, nb::kwargs settings) {
            self.require_compute();
            return new PyOutput(self, name, settings);
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), nb::arg("name").none(),
          nb::arg("settings"),
          nb::sig("def open(self, name: str, *, " WHAT_IS_WRITTEN ") -> Output"),
          "Opens an output; messages contain its `name`. All compute ranks make the same calls in "
          "the\n"
          "same order. Takes the settings of `Output`, except those that determine who writes.\n"
          "Collective, blocking.");
  bind_closing(bound, "Finishes all outputs and ends the servers. Collective.");
}

}  // namespace

void bind_outputs(nb::module_& module) {
  bind_output(module);
  bind_session(module);
}

}  // namespace tailrace::python
