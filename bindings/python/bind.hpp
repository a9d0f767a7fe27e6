// SPDX-License-Identifier: BSD-3-Clause
// What all parts of the Python face have in common: communicators, errors, lifetimes.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "tailrace/comm.hpp"
#include "tailrace/error.hpp"

namespace tailrace::python {

namespace nb = nanobind;

/// The communicator of an mpi4py object. Throws `Errc::invalid_input` for another object, one that
/// was freed or joins two groups, or if mpi4py uses another MPI library. Needs the GIL. Local.
MPI_Comm communicator(nb::handle comm);

/// str(object), repr(object)
std::string text_of(nb::handle object);
std::string repr_of(nb::handle object);

[[noreturn]] void refuse(const std::string& fault);

/// `action` with whatever it throws as an `Error`. Needs the GIL.
std::optional<Error> fault_of(const std::function<void()>& action);

/// Runs `prepare` on this rank (no MPI calls), and throws on all ranks if it did on one.
/// Collective, blocking; takes the GIL and lets it go while waiting.
void prepare_agreed(const Comm& comm, const std::function<void()>& prepare);

/// For calls of the time loop: throws where all ranks have a fault, else the job ends with a line.
void prepare_or_refuse(const Comm& comm, const std::string& what,
                       const std::function<void()>& prepare);

/// An argument of any type until `take`, so that one of a wrong type on one rank is an error of all
/// ranks and not nanobind's TypeError on that one. Bound with `.none()`.
template <class T>
class Given {
 public:
  Given() = default;
  explicit Given(nb::handle object) : object_(nb::borrow(object)) {}
  /// Throws `Errc::invalid_input`. Needs the GIL. Local.
  T take(std::string_view name) const {
    nb::object found = object_;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      found = nb::steal(PyNumber_Index(object_.ptr()));  // else a text of digits would be one
      if (!found.is_valid()) PyErr_Clear();
    }
    T value{};
    if (!found.is_valid() || !nb::try_cast(found, value)) {
      refuse(fmt::format("{}: needs {}, not {}", name, wanted(), repr_of(object_)));
    }
    const auto refuse_null = [&](const std::string& text) {
      if (text.find('\0') != std::string::npos) refuse(fmt::format("{}: has a null", name));
    };
    if constexpr (std::is_same_v<T, std::string>) refuse_null(value);
    if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      std::ranges::for_each(value, refuse_null);
    }
    return value;
  }

 private:
  static constexpr std::string_view wanted() {
    if constexpr (std::is_same_v<T, std::string>) return "a text";
    if constexpr (std::is_same_v<T, bool>) return "True or False";
    if constexpr (std::is_same_v<T, int>) return "a whole number of 32 bits";
    if constexpr (std::is_integral_v<T>) return "a whole number";
    if constexpr (std::is_floating_point_v<T>) return "a number";
    return "a list of texts";
  }
  nb::object object_;
};

/// The same of a bound class.
template <class T>
std::optional<T> taken(nb::handle object, std::string_view name, std::string_view wanted) {
  std::optional<T> value;
  if (!nb::try_cast(object, value)) {
    refuse(fmt::format("{}: needs {}, not {}", name, wanted, repr_of(object)));
  }
  return value;
}

/// One of several words, by name.
template <class T>
T pick(std::string_view name, std::string_view value,
       std::span<const std::pair<const char*, T>> words) {
  std::string known;
  for (const auto& [word, meaning] : words) {
    if (word == value) return meaning;
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", word);
  }
  refuse(fmt::format("{}: '{}' is none of {}", name, value, known));
}
template <class T>
T pick(std::string_view name, std::string_view value,
       std::initializer_list<std::pair<const char*, T>> words) {
  return pick<T>(name, value, std::span(words.begin(), words.size()));
}

nb::tuple tuple_of(const std::ptrdiff_t* values, std::ptrdiff_t count);

/// Things with a collective end, closed at Python's exit if the program did not.
class Closable {
 public:
  Closable();
  virtual ~Closable();
  Closable(const Closable&) = delete;
  Closable& operator=(const Closable&) = delete;
  /// Collective, with the GIL.
  virtual void close() = 0;
  /// Lets go without telling other ranks, which may not come. Local.
  virtual void abandon() noexcept = 0;
};

/// Closes what is open, newest first; abandons it if an exception ends the program.
void close_all(bool failing);

/// A C++ object, with its communicator, until `close`. Calls after that are refused.
template <class T>
class Held : public Closable {
 public:
  Held(std::string name, nb::handle user) : Held(std::move(name), communicator(user)) {}
  Held(std::string name, MPI_Comm raw) : name_(std::move(name)) {
    nb::gil_scoped_release released;
    comm_ = std::make_unique<Comm>(raw);
  }
  ~Held() override { end(); }

  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }
  bool closed() const { return held_ == nullptr; }
  const Comm& comm() const {
    if (comm_ == nullptr) get();
    return *comm_;
  }
  const std::string& name() const { return name_; }
  void close() override { end(); }
  void abandon() noexcept override {
    static_cast<void>(held_.release());
    static_cast<void>(comm_.release());
  }

 protected:
  void hold(std::unique_ptr<T> made) { held_ = std::move(made); }
  void rename(std::string name) { name_ = std::move(name); }
  /// `close` of what ends by a call that may throw, which is the last one in any case.
  template <class Last>
  void close_after(Last last) {
    if (closed()) return;
    std::exception_ptr failure;
    try {
      nb::gil_scoped_release released;
      last(*held_);
    } catch (const Error&) {
      failure = std::current_exception();
    }
    end();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  T* get() const {
    if (held_ == nullptr) refuse(name_ + " is closed");
    return held_.get();
  }
  void end() {
    if (comm_ == nullptr) return;
    nb::gil_scoped_release released;
    held_.reset();
    comm_.reset();
  }
  std::string name_;
  std::unique_ptr<Comm> comm_;
  std::unique_ptr<T> held_;
};

/// A method of what a class holds that may wait: the interpreter's lock is released meanwhile.
template <class Class, auto method>
auto without_lock(Class& self) {
  auto& held = *self;
  nb::gil_scoped_release released;
  return (held.*method)();
}

/// For `with`: waits for the other ranks before what follows, as they may have no exception; ends
/// the job if they do not come. Collective.
void meet_after_exception(const Comm& comm, const std::string& what, nb::handle value,
                          nb::handle traceback);

/// Throws where all ranks refuse a call of the time loop, else the job ends with a line.
[[noreturn]] void refuse_in_loop(const Comm& comm, const Error& fault);

/// `close`, `closed`, and `with` for a class that derives from `Held`.
template <class Class>
void bind_closing(nb::class_<Class>& bound, const char* doc) {
  bound
      .def(
          "close", [](Class& self) { self.close(); }, doc)
      .def_prop_ro(
          "closed", [](const Class& self) { return self.closed(); },
          "Whether `close` has been called.")
      .def(  // for the modules that are written in Python
          "_refuse",
          [](Class& self, const std::string& fault) {
            refuse_in_loop(self.comm(), Error(Errc::invalid_input, fault));
          },
          nb::arg("fault"))
      .def(
          "__enter__", [](nb::object self) { return self; },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__",
          [](Class& self, nb::object type, nb::object value, nb::object traceback) {
            if (self.closed()) return;
            if (!type.is_none()) meet_after_exception(self.comm(), self.name(), value, traceback);
            self.close();
          },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, type: object, value: object, traceback: object) -> None"));
}

void bind_layouts(nb::module_& module);
void bind_exchanges(nb::module_& module);
void bind_reductions(nb::module_& module);
void bind_transforms(nb::module_& module);
void bind_tuner(nb::module_& module);
void bind_outputs(nb::module_& module);
void bind_inputs(nb::module_& module);
void bind_shared_files(nb::module_& module);
void bind_facts(nb::module_& module);
void bind_sparse(nb::module_& module);

}  // namespace tailrace::python

template <class T>
struct nanobind::detail::type_caster<tailrace::python::Given<T>> {
  NB_TYPE_CASTER(tailrace::python::Given<T>, make_caster<T>::Name)
  bool from_python(handle source, unsigned, cleanup_list*) noexcept {
    value = tailrace::python::Given<T>(source);
    return true;
  }
};
