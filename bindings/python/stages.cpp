// SPDX-License-Identifier: BSD-3-Clause
// Python functions as stages of products, on servers that are ranks or threads.
#include "tailrace/more/stage.hpp"

#include <cstring>

#include "arrays.hpp"

namespace tailrace::python {

namespace {

/// A part's items as a NumPy array of its own: a function may keep it.
nb::object array_of(const StagePart& part) {
  const auto shape =
      std::span(part.box.extents.data(), static_cast<std::size_t>(part.box.num_dims));
  auto made = empty_array(shape, part.type);
  const Array array(made, Use::write, part.variable);
  std::memcpy(array.data, part.data.data(), part.data.size());
  return made;
}

void call_python(const nb::object& function, std::int64_t step, std::span<StagePart> parts) {
  const auto make = nb::module_::import_("tailrace.worker").attr("Part");
  nb::list list;
  for (const auto& part : parts) {
    list.append(make(part.variable, array_of(part),
                     tuple_of(part.box.start.data(), part.box.num_dims),
                     tuple_of(part.extents.data(), std::ssize(part.extents))));
  }
  const nb::object result = function(step, list);
  if (!result.is_none()) {
    refuse("a stage function returns nothing: it changes part.data (a table: stage python)");
  }
  std::size_t p = 0;
  for (auto& part : parts) {
    const Array array(list[p++].attr("data"), Use::read, part.variable);
    if (array.type != part.type || !array.contiguous() ||
        array.num_items() != part.box.num_items()) {
      refuse(
          fmt::format("{}: part.data has become another kind of array; change its items: "
                      "part.data[...] = ...",
                      part.variable));
    }
    std::memcpy(part.data.data(), array.data, part.data.size());
  }
}

/// An exception of Python's, as one that needs no Python.
template <class Call>
auto with_python(Call&& call) {
  nb::gil_scoped_acquire held;
  std::optional<std::string> failure;
  try {
    return call();
  } catch (nb::python_error& error) {
    failure = fmt::format("{}: {}", text_of(error.type().attr("__name__")), text_of(error.value()));
  }
  throw std::runtime_error(*failure);
}

/// Kept for good: the library's table outlives the interpreter.
const nb::object& keep(nb::object function) {
  if (PyCallable_Check(function.ptr()) == 0) refuse("function: cannot be called");
  return *new nb::object(std::move(function));
}

}  // namespace

void bind_stages(nb::module_& module) {
  module.def(
      "add_stage_function",
      [](const std::string& name, nb::object function) {
        const auto& kept = keep(std::move(function));
        add_stage_function(name, [&kept](std::int64_t step, std::span<StagePart> parts) {
          with_python([&] { call_python(kept, step, parts); });
        });
      },
      nb::arg("name"), nb::arg("function").none(),
      nb::sig("def add_stage_function(name: str, function: collections.abc.Callable[[int, "
              "list[tailrace.worker.Part]], None]) -> None"),
      "Makes function(step, parts) the stage \"call name=NAME\" of products: it changes\n"
      "part.data[...], a NumPy array, and returns nothing. Call it on every rank before the\n"
      "`Session` is made. An exception is a failure of the product.");
  module.def(
      "add_task_function",
      [](const std::string& name, nb::object function) {
        const auto& kept = keep(std::move(function));
        add_task_function(name, [&kept](std::int64_t step, std::int64_t task) {
          return with_python([&] { return nb::cast<double>(kept(step, task)); });
        });
      },
      nb::arg("name"), nb::arg("function").none(),
      nb::sig("def add_task_function(name: str, function: collections.abc.Callable[[int, int], "
              "float]) -> None"),
      "Makes function(step, task) the stage \"tasks name=NAME count=N\" of products.");
}

}  // namespace tailrace::python
