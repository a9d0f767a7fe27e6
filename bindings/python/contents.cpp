// SPDX-License-Identifier: BSD-3-Clause
#include "contents.hpp"

namespace tailrace::python {

namespace {

std::vector<double> doubles_of(nb::handle values, const std::string& what) {
  const auto numpy = nb::module_::import_("numpy");
  nb::object made;
  const auto fault = fault_of([&] { made = numpy.attr("ascontiguousarray")(values, "float64"); });
  if (fault) refuse(fmt::format("{}: needs numbers: {}", what, fault->what()));
  const Array items(made, Use::read, what);
  if (items.shape.size() > 1) refuse(fmt::format("{}: needs a list of numbers", what));
  const auto* first = reinterpret_cast<const double*>(items.data);
  return {first, first + items.num_items()};
}

AttributeValue attribute_of(nb::handle value, const std::string& what) {
  if (value.is_none()) refuse(what + ": is None; needs a number, text, or a list of numbers");
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (PyBool_Check(value.ptr())) return std::int64_t{nb::cast<bool>(value) ? 1 : 0};
  if (PyIndex_Check(value.ptr()) != 0) {
    const auto whole = nb::steal(PyNumber_Index(value.ptr()));
    if (whole.is_valid()) {
      std::int64_t number = 0;
      if (nb::try_cast(whole, number)) return number;
      refuse(fmt::format("{}: does not fit 64 bits", what));
    }
    PyErr_Clear();
  }
  const double number = PyFloat_AsDouble(value.ptr());
  if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  return doubles_of(value, what + " (an attribute: a number, text, or a list of numbers)");
}

/// The pairs of a dict, or of what has `items` as one has.
nb::object items_of(nb::handle dict, const std::string& what, const char* values) {
  if (!nb::hasattr(dict, "items")) {
    refuse(fmt::format("{}: needs a dict of {} by their names, not {}", what, values,
                       text_of(dict.type())));
  }
  return dict.attr("items")();
}

Attributes attributes_of(nb::handle attributes, const std::string& what) {
  Attributes list;
  if (attributes.is_none()) return list;
  for (const auto item : nb::iter(items_of(attributes, what + "s", "values"))) {
    const auto name = text_of(item[0]);
    list.emplace_back(name, attribute_of(item[1], fmt::format("{} '{}'", what, name)));
  }
  return list;
}

}  // namespace

std::string path_of(nb::handle path) {
  const auto text = nb::module_::import_("os").attr("fspath")(path);
  if (!nb::isinstance<nb::str>(text)) refuse("path: needs text or a pathlib.Path");
  auto path_text = nb::cast<std::string>(text);
  if (path_text.find('\0') != std::string::npos) refuse("path: has a null character");
  return path_text;
}

Hints hints_of(nb::handle hints) {
  Hints made;
  if (hints.is_none()) return made;
  for (const auto item : nb::iter(items_of(hints, "hints", "values"))) {
    made.set(text_of(item[0]), text_of(item[1]));
  }
  return made;
}

void Contents::add(const std::string& name, nb::handle value, nb::handle layout, const Comm& comm) {
  const auto what = fmt::format("variable '{}'", name);
  const auto* detailed =
      nb::isinstance<PyVariable>(value) ? nb::cast<const PyVariable*>(value) : nullptr;
  const nb::handle its_layout =
      detailed != nullptr && !detailed->layout.is_none() ? nb::handle(detailed->layout) : layout;
  if (!nb::isinstance<Layout>(its_layout)) {
    refuse(fmt::format("{}: has no layout; give `layout=`, or Variable(array, layout)", what));
  }
  layouts_.push_back(nb::cast<Layout>(its_layout));
  const auto& kept = layouts_.back();
  if (kept.num_ranks() != comm.num_ranks()) {
    refuse(fmt::format("{}: its layout is for {} ranks, the communicator has {}", what,
                       kept.num_ranks(), comm.num_ranks()));
  }
  arrays_.emplace_back(detailed != nullptr ? nb::handle(detailed->array) : value, Use::read, what);
  const auto& array = arrays_.back();
  const auto boxes = kept.boxes(comm.rank());
  std::vector<std::string> dims;
  Attributes attributes;
  if (detailed != nullptr) {
    if (!detailed->dims.is_none() && !nb::try_cast(detailed->dims, dims)) {
      refuse(fmt::format("{}: dims needs a list of names", what));
    }
    attributes = attributes_of(detailed->attributes, what + ", attribute");
  }
  contents_.variables.push_back({name, array.type, std::move(dims), &kept,
                                 memory_of(array, boxes, what), array.data, std::move(attributes)});
}

void Contents::take(const ContentsArguments& arguments, const Comm& comm) {
  contents_.step = Given<std::int64_t>(arguments.step).take("step");
  contents_.attributes = attributes_of(arguments.attributes, "attribute");
  for (const auto item : nb::iter(items_of(arguments.variables, "variables", "arrays"))) {
    add(text_of(item[0]), item[1], arguments.layout, comm);
  }
  if (arguments.coordinates.is_none()) return;
  for (const auto item : nb::iter(items_of(arguments.coordinates, "coordinates", "values"))) {
    const auto name = text_of(item[0]);
    const auto what = fmt::format("coordinate '{}'", name);
    const nb::object value = item[1];
    const bool pair = nb::isinstance<nb::tuple>(value) && nb::len(value) == 2 &&
                      nb::isinstance<nb::dict>(value[1]);
    Coordinate coordinate{name, doubles_of(pair ? nb::object(value[0]) : value, what), {}};
    if (pair) coordinate.attributes = attributes_of(value[1], what + ", attribute");
    contents_.coordinates.push_back(std::move(coordinate));
  }
}

}  // namespace tailrace::python
