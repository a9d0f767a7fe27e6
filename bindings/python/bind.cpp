// SPDX-License-Identifier: BSD-3-Clause
#include "bind.hpp"

#include <algorithm>
#include <array>

#include "tailrace/log.hpp"
#include "tailrace/more/agreed_error.hpp"

namespace tailrace::python {

namespace {

std::vector<Closable*>& open_things() {
  static std::vector<Closable*> things;
  return things;
}

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Once: handles of another MPI library would be read as garbage.
void require_same_library() {
  static bool same = false;
  if (same) return;
  const auto module = nb::module_::import_("mpi4py.MPI");
  const auto theirs = nb::cast<std::string>(module.attr("Get_library_version")());
  const auto trimmed = [](std::string text) {
    while (!text.empty() &&
           (text.back() == '\0' || std::isspace(static_cast<unsigned char>(text.back()))))
      text.pop_back();
    return text;
  };
  if (trimmed(theirs) != trimmed(library_version())) {
    refuse(
        fmt::format("mpi4py uses another MPI library ({}) than Tailrace was built with ({}); "
                    "install mpi4py for the same one",
                    trimmed(theirs), trimmed(library_version())));
  }
  same = true;
}

}  // namespace

std::string text_of(nb::handle object) {
  const auto text = nb::steal(PyObject_Str(object.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

std::string repr_of(nb::handle object) {
  const auto text = nb::steal(PyObject_Repr(object.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

void refuse(const std::string& fault) { throw Error(Errc::invalid_input, fault); }

MPI_Comm communicator(nb::handle comm) {
  if (!nb::hasattr(comm, "py2f") || !nb::hasattr(comm, "Get_topology")) {
    refuse(fmt::format("comm: needs a communicator of mpi4py, not {}", text_of(comm.type())));
  }
  require_same_library();
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    refuse(initialized == 0 ? "comm: MPI is not initialized yet" : "comm: MPI is finalized");
  }
#ifdef MPI_ABI  // whose mpi4py is at least 4.1
  const MPI_Comm raw = MPI_Comm_fromint(nb::cast<int>(comm.attr("toint")()));
#else
  const MPI_Comm raw = MPI_Comm_f2c(nb::cast<MPI_Fint>(comm.attr("py2f")()));
#endif
  if (raw == MPI_COMM_NULL) refuse("comm: is MPI.COMM_NULL; was it freed?");
  int joins_two = 0;
  check_mpi(MPI_Comm_test_inter(raw, &joins_two));
  if (joins_two != 0) refuse("comm: is an intercommunicator; needs an intracommunicator");
  return raw;
}

std::optional<Error> fault_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  } catch (nb::python_error& error) {
    std::string text = text_of(error.value());
    return Error(Errc::invalid_input,
                 fmt::format("{}: {}", text_of(error.type().attr("__name__")), text));
  } catch (const std::exception& error) {
    return Error(Errc::invalid_input, error.what());
  }
  return std::nullopt;
}

void prepare_agreed(const Comm& comm, const std::function<void()>& prepare) {
  const auto fault = fault_of(prepare);
  nb::gil_scoped_release released;
  agree(comm.raw(), fault ? &*fault : nullptr);
}

void prepare_or_refuse(const Comm& comm, const std::string& what,
                       const std::function<void()>& prepare) {
  const auto fault = fault_of(prepare);
  if (fault) refuse_in_loop(comm, Error(fault->code(), what + ": " + fault->what()));
}

void refuse_in_loop(const Comm& comm, const Error& fault) {
  nb::gil_scoped_release released;
  refuse_call(comm, fault);
}

nb::tuple tuple_of(const std::ptrdiff_t* values, std::ptrdiff_t count) {
  nb::list list;
  for (std::ptrdiff_t i = 0; i < count; ++i) list.append(values[i]);
  return nb::tuple(list);
}

Closable::Closable() { open_things().push_back(this); }
Closable::~Closable() { std::erase(open_things(), this); }

void close_all(bool failing) {
  const auto things = open_things();
  for (auto* thing : things) {
    if (failing || detail::mpi_is_finalized()) thing->abandon();
  }
  if (failing || detail::mpi_is_finalized()) return;
  for (auto thing = things.rbegin(); thing != things.rend(); ++thing) {
    const auto failure = fault_of([&] { (*thing)->close(); });
    if (failure) say(LogLevel::error, failure->what());
  }
}

void meet_after_exception(const Comm& comm, const std::string& what, nb::handle value,
                          nb::handle traceback) {
  const auto ours = nb::module_::import_("tailrace.errors").attr("Error");
  if (PyObject_IsInstance(value.ptr(), ours.ptr()) == 1) return;  // all ranks have it
  auto text =
      fmt::format("{} ({}: {}", what, text_of(value.type().attr("__name__")), text_of(value));
  const auto frames = nb::module_::import_("traceback").attr("extract_tb")(traceback);
  if (nb::len(frames) > 0) {
    const nb::object last = frames[nb::len(frames) - 1];
    text += fmt::format("; {}:{}", text_of(last.attr("filename")), text_of(last.attr("lineno")));
  }
  text += ")";
  nb::gil_scoped_release released;
  meet_to_free(comm, text);
}

}  // namespace tailrace::python
