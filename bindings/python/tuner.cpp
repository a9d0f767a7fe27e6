// SPDX-License-Identifier: BSD-3-Clause
// The tuner: alternatives of a program's own, and what has been measured here.
#include "contents.hpp"
#include "tailrace/more/tune.hpp"

#include <algorithm>

namespace tailrace::python {

namespace {

/// A Python function, run by the tuner. The mapping that `choose` was given keeps it.
class PyTrial final : public tune::Trial {
 public:
  PyTrial(std::string name, nb::handle function) : name_(std::move(name)), function_(function) {}
  void run() override {
    nb::gil_scoped_acquire held;
    try {
      const auto result = function_();
      checksum_ = 0;
      if (!result.is_none()) {
        checksum_ = PyLong_AsUnsignedLongLongMask(result.ptr());
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
      }
    } catch (nb::python_error& error) {
      throw Error(Errc::invalid_input, fmt::format("candidate {}: {}", name_, error.what()));
    }
  }
  std::uint64_t checksum() override { return checksum_; }

 private:
  std::string name_;
  nb::handle function_;
  std::uint64_t checksum_ = 0;
};

std::vector<tune::Candidate> candidates_of(const nb::dict& given) {
  std::vector<tune::Candidate> all;
  for (const auto [key, function] : given) {
    const auto name = text_of(key);
    if (PyCallable_Check(function.ptr()) == 0) refuse("choose: " + name + " is no function");
    const nb::handle handle = function;
    all.push_back({name, [name, handle] { return std::make_unique<PyTrial>(name, handle); }});
  }
  if (all.empty()) refuse("choose: candidates is empty");
  return all;
}

std::pair<std::string, std::string> choose(nb::handle user, const Given<std::string>& operation,
                                           const Given<std::string>& key, nb::handle candidates,
                                           nb::handle fallback, nb::handle mode,
                                           const Given<std::ptrdiff_t>& memory_bytes) {
  const auto raw = communicator(user);
  const auto comm = [&] {
    nb::gil_scoped_release released;
    return Comm(raw);
  }();
  tune::Problem problem;
  problem.fallback_why = "named by the program";
  tune::Settings settings;
  nb::dict functions;
  std::vector<tune::Candidate> all;
  prepare_agreed(comm, [&] {
    problem.operation = operation.take("operation");
    problem.key = key.take("key");
    problem.memory_bytes = memory_bytes.take("memory_bytes");
    if (problem.memory_bytes < 0) refuse("choose: memory_bytes is negative");
    functions =
        nb::cast<nb::dict>(nb::handle(reinterpret_cast<PyObject*>(&PyDict_Type))(candidates));
    all = candidates_of(functions);
    problem.fallback = fallback.is_none() ? all.front().name : text_of(fallback);
    const auto is_fallback = [&](const auto& one) { return one.name == problem.fallback; };
    if (std::ranges::none_of(all, is_fallback)) {
      refuse("choose: fallback '" + problem.fallback + "' is no candidate");
    }
    settings = tune::Settings::from_environment();
    if (!mode.is_none()) {
      settings.mode = pick<tune::Mode>("mode", text_of(mode),
                                       {{"off", tune::Mode::off},
                                        {"remembered", tune::Mode::remembered},
                                        {"first_use", tune::Mode::first_use}});
    }
  });
  nb::gil_scoped_release released;
  const auto choice = tune::choose(comm, problem, all, settings);
  return {choice.name, choice.why};
}

nb::dict dict_of(const tune::Remembered& winner) {
  nb::dict dict;
  dict["operation"] = winner.operation;
  dict["key"] = winner.key;
  dict["places"] = winner.places;
  dict["winner"] = winner.winner;
  dict["why"] = winner.why;
  dict["date"] = winner.date;
  dict["null_spread"] = winner.null_spread;
  nb::dict timings;
  for (const auto& timing : winner.timings) timings[timing.name.c_str()] = timing.median_s;
  dict["median_s"] = timings;
  return dict;
}

constexpr const char* choose_doc =
    "The name of the fastest function on this machine, and the reason. It is measured now, or\n"
    "remembered from an earlier run. Without measuring (TAILRACE_TUNE, or `mode`: \"off\",\n"
    "\"remembered\", \"first_use\"), it is the `fallback`, otherwise the first function. Functions "
    "may\n"
    "be collective, and are called repeatedly. A function that raises (on all ranks), or returns\n"
    "another int than the first one, is excluded. `key` names the problem: everything besides the\n"
    "machine on which the choice depends. Collective, blocking.\n"
    "\n"
    ">>> import numpy as np, tailrace\n"
    ">>> from mpi4py import MPI\n"
    ">>> a = np.ones((64, 64))\n"
    ">>> def columns(): a.sum(axis=0)\n"
    ">>> def rows(): a.sum(axis=1)\n"
    ">>> name, why = tailrace.choose(MPI.COMM_WORLD, \"sums\", \"64 x 64\",\n"
    "...     {\"columns\": columns, \"rows\": rows}, mode=\"off\")\n"
    ">>> name\n"
    "'columns'";

}  // namespace

void bind_tuner(nb::module_& module) {
  module.def(
      "choose", &choose, nb::arg("comm").none(), nb::arg("operation").none(), nb::arg("key").none(),
      nb::arg("candidates").none(), nb::kw_only(), nb::arg("fallback").none() = nb::none(),
      nb::arg("mode").none() = nb::none(), nb::arg("memory_bytes").none() = 0,
      nb::sig("def choose(comm: mpi4py.MPI.Intracomm, operation: str, key: str, candidates: "
              "collections.abc.Mapping[str, collections.abc.Callable[[], int | None]], *, "
              "fallback: str | None = None, mode: str | None = None, memory_bytes: int = 0) -> "
              "tuple[str, str]"),
      choose_doc);
  module.def(
      "remembered",
      [](nb::object file) {
        const auto path = file.is_none() ? tune::Settings::from_environment().file : path_of(file);
        nb::list list;
        for (const auto& winner : tune::list_remembered(path)) list.append(dict_of(winner));
        return list;
      },
      nb::arg("file").none() = nb::none(),
      nb::sig("def remembered(file: str | os.PathLike[str] | None = None) -> list[dict[str, "
              "typing.Any]]"),
      "The stored results of the tuner, from its file or from another one. Local.");
  module.def(
      "this_machine",
      [] {
        const auto machine = tune::this_machine();
        nb::dict dict;
        dict["processor"] = machine.processor;
        dict["cores"] = machine.cores;
        dict["memory_domains"] = machine.memory_domains;
        dict["kernel"] = machine.kernel;
        dict["mpi"] = machine.mpi;
        dict["tailrace"] = machine.tailrace;
        return dict;
      },
      nb::sig("def this_machine() -> dict[str, typing.Any]"),
      "The properties of this machine that must match for a stored winner to be used. Local.");
}

}  // namespace tailrace::python
