// SPDX-License-Identifier: BSD-3-Clause
// The module tailrace._core: one file for each part of the library.
#include "array_transforms.hpp"
#include "bind.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::python {

namespace {

const char* error_name(Errc code) {
  switch (code) {
    case Errc::invalid_input:
      return "invalid_input";
    case Errc::io:
      return "io";
    case Errc::mpi:
      return "mpi";
    case Errc::corrupt:
      return "corrupt";
    case Errc::internal:
      return "internal";
  }
  return "internal";
}

/// Texts may quote what a file holds, or a path in another encoding.
nb::object readable(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const auto* placed = dynamic_cast<const PlacedError*>(&error);
    const auto place = placed != nullptr ? placed->place() : ErrorPlace{};
    const auto make = nb::module_::import_("tailrace.errors").attr("error_of");
    const nb::object made =
        make(error_name(error.code()), error.sys_errno(), readable(error.what()), place.rank,
             readable(place.path), place.step);
    PyErr_SetObject(made.type().ptr(), made.ptr());
  }
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "Tailrace's library: the compiled part of the package tailrace.";
  nb::register_exception_translator(translate);
  // Objects of a script's globals outlive the interpreter's exit handlers.
  nb::set_leak_warnings(false);
  bind_layouts(module);
  bind_facts(module);
  bind_tuner(module);
  bind_exchanges(module);
  bind_reductions(module);
  bind_array_transforms(module);
  bind_transforms(module);
  bind_outputs(module);
  bind_inputs(module);
  bind_shared_files(module);
#if TAILRACE_WITH_SPARSE
  bind_sparse(module);
#endif
  module.def("_close_all", &close_all, nb::arg("failing"),
             "Closes all objects that are still open. Called at exit, before MPI_Finalize.");
}

}  // namespace tailrace::python
