// SPDX-License-Identifier: BSD-3-Clause
#include "contents.hpp"

#include <algorithm>

#include "attribute.hpp"

namespace tailrace::python {

namespace {

/// The pairs of a dict, or of what has `items` as one has.
nb::object items_of(nb::handle dict, const std::string& what, const char* values) {
  if (!nb::hasattr(dict, "items")) {
    refuse(fmt::format("{}: needs a dict of {} by their names, not {}", what, values,
                       text_of(dict.type())));
  }
  return dict.attr("items")();
}

/// `type`: of the array that the attributes are of, if of one.
Attributes attributes_of(nb::handle attributes, const std::string& what,
                         std::optional<ItemType> type = std::nullopt) {
  Attributes list;
  if (attributes.is_none()) return list;
  for (const auto item : nb::iter(items_of(attributes, what + "s", "values"))) {
    const auto name = text_of(item[0]);
    list.emplace_back(name, attribute_of(item[1], name, fmt::format("{} '{}'", what, name), type));
  }
  return list;
}

/// One number becomes a list if it is that of an axis.
Coordinate coordinate_of(const std::string& name, nb::handle values, const std::string& what,
                         bool of_axis) {
  auto value = attribute_of(values, name, what, std::nullopt);
  if (!type_of_numbers(value)) refuse(what + ": holds texts or truth values; it needs numbers");
  if (of_axis && !is_list(value)) {
    value = std::visit(
        [](const auto& held) -> AttributeValue {
          if constexpr (is_attribute_list<decltype(held)>) {
            return held;
          } else {
            return std::vector{held};
          }
        },
        value);
  }
  Coordinate coordinate{.name = name};
  if (auto* doubles = std::get_if<std::vector<double>>(&value)) {
    coordinate.values = std::move(*doubles);
  } else {
    coordinate.typed = std::move(value);
  }
  return coordinate;
}

}  // namespace

std::string path_of(nb::handle path) {
  const auto text = nb::module_::import_("os").attr("fspath")(path);
  if (!nb::isinstance<nb::str>(text)) refuse("path: needs text or a pathlib.Path");
  // The bytes of the name, which need not be UTF-8: Python has them as surrogates.
  const auto bytes = nb::cast<nb::bytes>(nb::module_::import_("os").attr("fsencode")(text));
  std::string name(bytes.c_str(), bytes.size());
  if (name.find('\0') != std::string::npos) refuse("path: has a null character");
  return name;
}

nb::str text_of_path(const std::string& path) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
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
    attributes = attributes_of(detailed->attributes, what + ", attribute", array.type);
  }
  contents_.variables.push_back({name, array.type, std::move(dims), &kept,
                                 memory_of(array, boxes, what), array.data, std::move(attributes)});
  if (detailed == nullptr) return;
  contents_.variables.back().compress =
      Given<std::string>(detailed->compress).take(what + ", compress");
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
    const bool of_axis = std::ranges::any_of(contents_.variables, [&](const Variable& variable) {
      return std::ranges::find(variable.dims, name) != variable.dims.end();
    });
    auto coordinate = coordinate_of(name, pair ? nb::object(value[0]) : value, what, of_axis);
    if (pair) {
      coordinate.attributes = attributes_of(value[1], what + ", attribute", type_of(coordinate));
    }
    contents_.coordinates.push_back(std::move(coordinate));
  }
}

}  // namespace tailrace::python
