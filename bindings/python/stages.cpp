// SPDX-License-Identifier: BSD-3-Clause
// Python functions as stages of products, on servers that are ranks or threads.
#include "stages.hpp"

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

void call_python(nb::handle function, std::int64_t step, std::span<StagePart> parts) {
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

/// Calls `add(name, function)` for each of a dict, and puts it into `kept`.
template <class Add>
void for_functions(const char* what, nb::handle given, nb::list& kept, Add add) {
  if (given.is_none()) return;
  if (!nb::isinstance<nb::dict>(given)) refuse(fmt::format("{}: needs a dict", what));
  for (const auto [key, function] : nb::cast<nb::dict>(given)) {
    const auto name = text_of(key);
    if (PyCallable_Check(function.ptr()) == 0) {
      refuse(fmt::format("{}[{}]: {} cannot be called", what, name, repr_of(function)));
    }
    kept.append(function);
    add(name, function);
  }
}

}  // namespace

std::map<std::string, StageFunction> stages_of(nb::handle given, nb::list& kept) {
  std::map<std::string, StageFunction> stages;
  for_functions("functions", given, kept, [&](const std::string& name, nb::handle function) {
    stages[name] = [function](std::int64_t step, std::span<StagePart> parts) {
      with_python([&] { call_python(function, step, parts); });
    };
  });
  return stages;
}

std::map<std::string, TaskFunction> tasks_of(nb::handle given, nb::list& kept) {
  std::map<std::string, TaskFunction> tasks;
  for_functions("tasks", given, kept, [&](const std::string& name, nb::handle function) {
    tasks[name] = [function](std::int64_t step, std::int64_t task) {
      return with_python([&] {
        const nb::object result = function(step, task);
        double number = 0;
        if (!nb::try_cast(result, number)) {
          refuse("a task returns a number, not " + repr_of(result));
        }
        return number;
      });
    };
  });
  return tasks;
}

}  // namespace tailrace::python
