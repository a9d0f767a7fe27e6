// SPDX-License-Identifier: BSD-3-Clause
// Session and Stream: output by servers, with policies and products.
#include "tailrace/session.hpp"

#include "contents.hpp"
#include "stages.hpp"

namespace tailrace::python {

namespace {

struct SessionArguments {
  Given<std::string> servers, placement, transport, progress;
  Given<std::ptrdiff_t> memory_bytes;
  Given<int> threads;
  Given<double> watchdog_s;
  nb::object folder;
  nb::object functions, tasks;
};

/// What a session calls: a base class, as it must outlive the session.
struct Callables {
  nb::list kept;
};

class PySession final : private Callables, public Held<Session> {
 public:
  PySession(nb::handle user, const SessionArguments& arguments) : Held("Session", user) {
    SessionOptions options;
    prepare_agreed(comm(), [&] {
      options.servers = arguments.servers.take("servers");
      options.placement = arguments.placement.take("placement");
      options.transport = arguments.transport.take("transport");
      options.memory_bytes = arguments.memory_bytes.take("memory_bytes");
      options.progress = arguments.progress.take("progress");
      options.threads = arguments.threads.take("threads");
      options.watchdog_s = arguments.watchdog_s.take("watchdog_s");
      options.folder = path_of(arguments.folder);
      options.functions = functions_of(arguments.functions, arguments.tasks, kept);
    });
    nb::gil_scoped_release released;
    hold(std::make_unique<Session>(comm().raw(), options));
  }
  void require_compute() const {
    if (!(**this).computes()) refuse("this rank serves output: it calls `serve`, nothing else");
  }
  nb::object compute() const {
    require_compute();
    const auto handle = MPI_Comm_c2f((**this).compute().raw());
    return nb::module_::import_("mpi4py.MPI").attr("Intracomm").attr("f2py")(handle);
  }
  int serve() {
    auto& session = **this;
    if (session.computes()) refuse("this rank computes: only ranks that do not can `serve`");
    nb::gil_scoped_release released;
    return session.serve();
  }
  /// Throws what is wrong with files under way.
  void close() override {
    if (closed()) return;
    std::exception_ptr failure;
    if ((**this).computes()) {
      nb::gil_scoped_release released;
      try {
        (**this).close();
      } catch (const Error&) {
        failure = std::current_exception();
      }
    }
    Held::close();
    if (failure) std::rethrow_exception(failure);
  }
};

Product product_of(nb::handle given) {
  Product product;
  for (const auto [key, value] : nb::cast<nb::dict>(given)) {
    const auto name = text_of(key);
    const auto what = "Product." + name;
    bool good = true;
    if (name == "name")
      good = nb::try_cast(value, product.name);
    else if (name == "variables")
      good = nb::try_cast(value, product.variables);
    else if (name == "stages")
      good = nb::try_cast(value, product.stages);
    else if (name == "path")
      product.path = path_of(value);
    else if (name == "format")
      good = nb::try_cast(value, product.format);
    else if (name == "every")
      good = nb::try_cast(value, product.every);
    else
      refuse(what + ": there is no such setting");
    const bool list = name == "variables" || name == "stages";
    if (!good) {
      refuse(fmt::format("{}: needs {}, not {}", what,
                         list              ? "a list of texts"
                         : name == "every" ? "a whole number"
                                           : "a text",
                         repr_of(value)));
    }
  }
  return product;
}

struct StreamArguments {
  Given<int> priority;
  Given<std::string> when_full;
  Given<double> stall_budget, wait_limit_s;
  Given<std::string> spill_folder, on_failure;
  Given<double> retry_s;
  Given<std::string> fallback_path, format;
  Given<bool> variables;
  nb::object products, hints;
  Given<std::string> strategy;
};

StreamOptions options_of(const StreamArguments& arguments) {
  StreamOptions options{.priority = arguments.priority.take("priority"),
                        .when_full = pick<WhenFull>(
                            "when_full", arguments.when_full.take("when_full"), when_full_words),
                        .stall_budget = arguments.stall_budget.take("stall_budget"),
                        .wait_limit_s = arguments.wait_limit_s.take("wait_limit_s"),
                        .spill_folder = arguments.spill_folder.take("spill_folder"),
                        .retry_s = arguments.retry_s.take("retry_s"),
                        .fallback_path = arguments.fallback_path.take("fallback_path"),
                        .format = arguments.format.take("format"),
                        .variables = arguments.variables.take("variables")};
  options.on_failure =
      pick<OnFailure>("on_failure", arguments.on_failure.take("on_failure"), on_failure_words);
  constexpr const char* needed = "products: needs a list of Product";
  if (nb::hasattr(arguments.products, "_asdict")) refuse(needed);
  for (const auto product : nb::iter(arguments.products)) {
    if (!nb::hasattr(product, "_asdict")) refuse(needed);
    options.products.push_back(product_of(product.attr("_asdict")()));
  }
  options.output.hints = hints_of(arguments.hints);
  options.output.strategy = arguments.strategy.take("strategy");
  return options;
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

class PyStream final : public Held<Stream> {
 public:
  PyStream(PySession& session, const Given<std::string>& given, const StreamArguments& arguments)
      : Held("Stream", session->compute().raw()) {
    std::string name;
    StreamOptions options;
    prepare_agreed(comm(), [&] {
      name = given.take("name");
      options = options_of(arguments);
    });
    rename("Stream " + name);
    nb::gil_scoped_release released;
    hold(std::make_unique<Stream>(session->open(name, options)));
  }
  const char* write(nb::object path, const ContentsArguments& arguments) {
    auto& stream = **this;
    Contents contents;
    std::string text;
    contents.fail(fault_of([&] {
      text = path_of(path);
      contents.take(arguments, comm());
    }));
    nb::gil_scoped_release released;
    return result_name(stream.write(text, contents.get()));
  }
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

constexpr const char* session_doc =
    "The ranks of a program, split into those that compute and those that serve output.\n\n"
    "`servers`: \"none\", \"hidden\", \"thread\", \"process\", \"N\", \"N per node\" or \"auto\".\n"
    "`functions`: what the stage \"call name=NAME\" of products calls: function(step, parts) "
    "changes\n"
    "part.data[...], a NumPy array, and returns nothing. `tasks`: what \"tasks name=NAME "
    "count=N\"\n"
    "calls: function(step, task). An exception is a failure of the product. The same on all "
    "ranks.\n"
    "Collective, blocking.\n\n"
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
          [](PySession* self, nb::object comm, Given<std::string> servers,
             Given<std::string> placement, Given<std::string> transport,
             Given<std::ptrdiff_t> memory_bytes, Given<std::string> progress, Given<int> threads,
             Given<double> watchdog_s, nb::object folder, nb::object functions, nb::object tasks) {
            new (self) PySession(comm, {servers, placement, transport, progress, memory_bytes,
                                        threads, watchdog_s, folder, functions, tasks});
          },
          nb::arg("comm").none(), nb::arg("servers").none() = "auto", nb::kw_only(),
          nb::arg("placement").none() = "spread", nb::arg("transport").none() = "auto",
          nb::arg("memory_bytes").none() = std::ptrdiff_t{1} << 30,
          nb::arg("progress").none() = "calls", nb::arg("threads").none() = 1,
          nb::arg("watchdog_s").none() = 600.0, nb::arg("folder").none() = ".",
          nb::arg("functions").none() = nb::none(), nb::arg("tasks").none() = nb::none(),
          nb::sig("def __init__(self, comm: mpi4py.MPI.Intracomm, servers: str = 'auto', *, "
                  "placement: str = 'spread', transport: str = 'auto', memory_bytes: int = "
                  "1073741824, progress: str = 'calls', threads: int = 1, watchdog_s: float = "
                  "600.0, folder: str | os.PathLike[str] = '.', functions: dict[str, "
                  "collections.abc.Callable[[int, list[tailrace.worker.Part]], None]] | None = "
                  "None, tasks: dict[str, collections.abc.Callable[[int, int], float]] | None = "
                  "None) -> None"))
      .def_prop_ro(
          "computes", [](PySession& self) { return self->computes(); },
          "Whether this rank computes; else it calls `serve`.")
      .def_prop_ro("compute", &PySession::compute,
                   nb::sig("def compute(self) -> mpi4py.MPI.Intracomm"),
                   "The communicator of the ranks that compute; valid until `close`.")
      .def("serve", &PySession::serve,
           "Serves until all compute ranks have closed; 0, or 1 if output was lost. Blocking.")
      .def_prop_ro("num_servers", [](PySession& self) { return self->num_servers(); })
      .def_prop_ro("transport", [](PySession& self) { return self->transport(); })
      .def("describe", [](PySession& self) { return self->describe(); })
      .def(
          "open",
          [](PySession& self, Given<std::string> name, Given<int> priority,
             Given<std::string> when_full, Given<double> stall_budget, Given<double> wait_limit_s,
             Given<std::string> spill_folder, Given<std::string> on_failure, Given<double> retry_s,
             Given<std::string> fallback_path, Given<std::string> format, Given<bool> variables,
             nb::object products, nb::object hints, Given<std::string> strategy) {
            self.require_compute();
            return new PyStream(self, name,
                                StreamArguments{priority, when_full, stall_budget, wait_limit_s,
                                                spill_folder, on_failure, retry_s, fallback_path,
                                                format, variables, products, hints, strategy});
          },
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), nb::arg("name").none(),
          nb::kw_only(), nb::arg("priority").none() = 0, nb::arg("when_full").none() = "wait",
          nb::arg("stall_budget").none() = 0.0, nb::arg("wait_limit_s").none() = 600.0,
          nb::arg("spill_folder").none() = "", nb::arg("on_failure").none() = "stop",
          nb::arg("retry_s").none() = 0.0, nb::arg("fallback_path").none() = "",
          nb::arg("format").none() = "auto", nb::arg("variables").none() = true,
          nb::arg("products").none() = nb::make_tuple(), nb::arg("hints").none() = nb::none(),
          nb::arg("strategy").none() = "auto",
          nb::sig(
              "def open(self, name: str, *, priority: int = 0, when_full: str = 'wait', "
              "stall_budget: float = 0.0, wait_limit_s: float = 600.0, spill_folder: str = '', "
              "on_failure: str = 'stop', retry_s: float = 0.0, fallback_path: str = '', format: "
              "str = 'auto', variables: bool = True, products: "
              "collections.abc.Sequence[tailrace.product.Product] = (), hints: "
              "collections.abc.Mapping[str, object] | None = None, strategy: str = 'auto') -> "
              "Stream"),
          "Opens an output; the same calls in the same order on all compute ranks. `when_full`:\n"
          "\"wait\", \"drop\", \"thin\", \"lower\" or \"spill\"; `on_failure`: \"stop\",\n"
          "\"proceed\" or \"continue\" (the same); `products`: see docs/servers.md. Collective, "
          "blocking.");
  bind_closing(bound, "Finishes all streams and ends the servers. Collective.");
}

void bind_stream(nb::module_& module) {
  nb::class_<PyStream> bound(module, "Stream", "An output that leaves by the session's servers.");
  bound
      .def(
          "write",
          [](PyStream& self, nb::object path, nb::object variables, nb::object layout,
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
          "As `Output.write`. Returns what became of the step: \"staged\", \"written\",\n"
          "\"dropped\", \"lowered\" or \"spilled\". Collective over the compute ranks.")
      .def("progress", &without_lock<PyStream, &Stream::progress>,
           "Moves data on, where the transport needs it. Cheap.")
      .def("finish", &without_lock<PyStream, &Stream::finish>,
           "Waits until every file is complete; raises like `write`. Collective, blocking.")
      .def_prop_ro(
          "statistics", [](PyStream& self) { return statistics_of(self->statistics()); },
          nb::sig("def statistics(self) -> dict[str, float]"))
      .def(
          "describe", [](PyStream& self) { return self->statistics().describe(); },
          "What output has cost the simulation, for people.")
      .def_prop_ro("last_complete",
                   [](PyStream& self) { return text_of_path(self->last_complete()); });
  bind_closing(bound, "`finish`, and no more steps. Collective over the compute ranks.");
}

}  // namespace

void bind_sessions(nb::module_& module) {
  bind_session(module);
  bind_stream(module);
}

}  // namespace tailrace::python
