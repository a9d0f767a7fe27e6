// SPDX-License-Identifier: BSD-3-Clause
// Trace, and the tables of methods.
#include "contents.hpp"
#include "tailrace/exchange.hpp"
#include "tailrace/fft.hpp"
#include "tailrace/more/file.hpp"
#include "tailrace/more/hints.hpp"
#include "tailrace/reduction.hpp"
#include "tailrace/trace.hpp"

#include <set>

namespace tailrace::python {

namespace {

Activity activity_of(std::string_view activity) {
  return pick<Activity>("activity", activity,
                        {{"compute", Activity::compute},
                         {"transfer", Activity::transfer},
                         {"write", Activity::write},
                         {"wait", Activity::wait}});
}

void bind_trace(nb::module_& module) {
  nb::class_<Trace>(module, "Trace", "The time spans of one rank, for a timeline of all ranks.")
      .def(nb::init<std::size_t>(), nb::arg("capacity") = std::size_t{1} << 16)
      .def(
          "record",
          [](Trace& self, const std::string& activity, const std::string& name, double start_s,
             double end_s) {
            static std::set<std::string> names;  // a trace keeps addresses
            self.record(activity_of(activity), names.insert(name).first->c_str(), start_s, end_s);
          },
          nb::arg("activity"), nb::arg("name"), nb::arg("start_s"), nb::arg("end_s"),
          "Keeps a span of \"compute\", \"transfer\", \"write\" or \"wait\"; times of `now_s`.")
      .def(
          "total_s",
          [](const Trace& self, const std::string& activity) {
            return self.total_s(activity_of(activity));
          },
          nb::arg("activity"), "Seconds recorded for this activity.")
      .def(
          "write",
          [](const Trace& self, nb::object comm, nb::object path) {
            const auto raw = communicator(comm);
            std::optional<Comm> ours;
            {
              nb::gil_scoped_release released;
              ours.emplace(raw);
            }
            std::string text;
            prepare_agreed(*ours, [&] { text = path_of(path); });
            nb::gil_scoped_release released;
            self.write(*ours, text);
            ours.reset();
          },
          nb::arg("comm").none(), nb::arg("path").none(),
          nb::sig("def write(self, comm: mpi4py.MPI.Intracomm, path: str | os.PathLike[str]) -> "
                  "None"),
          "Writes the spans of all ranks to one Chrome/Perfetto file. Collective, blocking.");
  module.def("now_s", &now_s, "Time in seconds on the clock of the library (MPI_Wtime).");
}

template <class Info>
nb::dict table_of(std::span<const Info> table) {
  nb::dict dict;
  for (const auto& info : table) {
    const std::string name(info.name);
    dict[name.c_str()] = std::string(info.summary);
  }
  return dict;
}

#define TABLE "() -> dict[str, str]"

void bind_tables(nb::module_& module) {
  module.def(
      "move_methods", [] { return table_of(move_methods()); }, nb::sig("def move_methods" TABLE),
      "The methods of `Exchange`, each with a summary.");
  module.def(
      "reduction_methods", [] { return table_of(reduction_methods()); },
      nb::sig("def reduction_methods" TABLE), "The methods of `Reduction`, each with a summary.");
  module.def(
      "fft_kernels",
      [] {
        nb::dict dict;
        for (const auto& kernel : fft::kernels()) {
          if (kernel.available) {
            dict[std::string(kernel.name).c_str()] = std::string(kernel.summary);
          }
        }
        return dict;
      },
      nb::sig("def fft_kernels" TABLE), "The libraries for 1D transforms in this build.");
  module.def(
      "file_strategies", [] { return table_of(file_strategies()); },
      nb::sig("def file_strategies" TABLE),
      "The strategies for shared files, each with a summary.");
  module.def(
      "hint_table", [] { return table_of(hint_table()); }, nb::sig("def hint_table" TABLE),
      "The hints that `Output` and `Input` take.");
}

}  // namespace

void bind_facts(nb::module_& module) {
  bind_trace(module);
  bind_tables(module);
}

}  // namespace tailrace::python
