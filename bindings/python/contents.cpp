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

nb::object numpy_array(nb::handle values) {
  return nb::module_::import_("numpy").attr("asarray")(values);
}

/// How xarray and netCDF keep truth values: as int8, with an attribute that says so.
void note_truth(Attributes& attributes) {
  const bool given =
      std::ranges::any_of(attributes, [](const auto& one) { return one.first == "dtype"; });
  if (!given) attributes.emplace_back("dtype", std::string("bool"));
}

/// The array of a variable as files hold it: truth values as int8, which `is_truth` notes; numbers
/// in this machine's byte order, copied if they were not. Others are returned as they are.
nb::object as_stored(nb::handle value, bool& is_truth) {
  is_truth = false;
  const auto array_type = nb::module_::import_("numpy").attr("ndarray");
  if (!value.type().is(array_type)) return nb::borrow(value);
  const nb::object dtype = value.attr("dtype");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  is_truth = kind == "b";
  if (is_truth) return value.attr("view")("int8");
  const bool numbers = std::string("iufc").find(kind) != std::string::npos;
  if (!numbers || nb::cast<bool>(dtype.attr("isnative"))) return nb::borrow(value);
  return value.attr("astype")(dtype.attr("newbyteorder")("="));
}

/// What a coordinate was given as: values; (values, attributes); (dims, values) or (dims, values,
/// attributes), where `dims` is a name or a list of names.
struct GivenCoordinate {
  nb::object values;
  nb::object dims;  ///< None: not given
  nb::object attributes;

  explicit GivenCoordinate(nb::handle value) : values(nb::borrow(value)), dims(nb::none()) {
    attributes = nb::none();
    if (!nb::isinstance<nb::tuple>(value)) return;
    const auto parts = nb::borrow<nb::tuple>(value);
    const auto count = nb::len(parts);
    if (count == 2 && nb::isinstance<nb::dict>(parts[1])) {
      values = parts[0];
      attributes = parts[1];
    } else if ((count == 2 || (count == 3 && nb::isinstance<nb::dict>(parts[2]))) &&
               names_axes(parts[0]) && !nb::isinstance<nb::str>(parts[1])) {
      dims = parts[0];
      values = parts[1];
      if (count == 3) attributes = parts[2];
    }
  }

 private:
  static bool names_axes(nb::handle given) {
    if (nb::isinstance<nb::str>(given)) return true;
    if (!nb::isinstance<nb::tuple>(given) && !nb::isinstance<nb::list>(given)) return false;
    for (const auto name : nb::iter(given)) {
      if (!nb::isinstance<nb::str>(name)) return false;
    }
    return true;
  }
};

/// `value` with truth values as numbers; whether it had any.
bool make_numbers(AttributeValue& value) {
  if (const auto* one = std::get_if<bool>(&value)) {
    value = static_cast<std::int8_t>(*one);
  } else if (const auto* list = std::get_if<std::vector<bool>>(&value)) {
    value = std::vector<std::int8_t>(list->begin(), list->end());
  } else {
    return false;
  }
  return true;
}

/// Puts the axes of `given` into `coordinate`, and returns its values as a list.
nb::object with_axes(const GivenCoordinate& given, Coordinate& coordinate,
                     const std::string& what) {
  const bool one = nb::isinstance<nb::str>(given.dims);
  if (one) {
    coordinate.dims = {nb::cast<std::string>(given.dims)};
  } else {
    coordinate.dims = nb::cast<std::vector<std::string>>(given.dims);
  }
  const auto array = numpy_array(given.values);
  coordinate.extents = nb::cast<std::vector<std::ptrdiff_t>>(array.attr("shape"));
  if (coordinate.extents.size() != coordinate.dims.size()) {
    refuse(fmt::format("{}: {} names for {} axes", what, coordinate.dims.size(),
                       coordinate.extents.size()));
  }
  return coordinate.dims.empty() ? array : array.attr("reshape")(-1);
}

/// One number becomes a list if it is that of an axis.
Coordinate coordinate_of(const std::string& name, const GivenCoordinate& given,
                         const std::string& what, bool of_axis) {
  Coordinate coordinate{.name = name};
  const auto values = given.dims.is_none() ? given.values : with_axes(given, coordinate, what);
  auto value = attribute_of(values, name, what, std::nullopt);
  // NumPy's arrays of single bytes (S1).
  coordinate.characters = nb::hasattr(values, "dtype") && text_of(values.attr("dtype")) == "|S1" &&
                          !type_of_numbers(value);
  const bool truth = make_numbers(value);
  if (of_axis && given.dims.is_none() && !is_list(value)) {
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
  const auto type = type_of_numbers(value);
  coordinate.attributes = attributes_of(given.attributes, what + ", attribute", type);
  if (truth) note_truth(coordinate.attributes);
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
  bool is_truth = false;
  const auto stored =
      as_stored(detailed != nullptr ? nb::handle(detailed->array) : value, is_truth);
  arrays_.emplace_back(stored, Use::read, what, Where::anywhere);
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
  if (is_truth) note_truth(attributes);
  contents_.variables.push_back({name, array.type, std::move(dims), &kept,
                                 memory_of(array, boxes, what), array.data, std::move(attributes)});
  if (detailed == nullptr) return;
  contents_.variables.back().compress =
      Given<std::string>(detailed->compress).take(what + ", compress");
}

// The stream that all arrays in device memory name; if they name several, or any of them none, all
// work of the device is waited for.
std::uintptr_t Contents::stream_of_all() const {
  std::optional<std::uintptr_t> common;
  for (const auto& array : arrays_) {
    if (!array.stream) continue;
    if (common && common != array.stream) return 0;
    common = array.stream;
  }
  return common.value_or(0);
}

void Contents::take(const ContentsArguments& arguments, const Comm& comm) {
  contents_.step = Given<std::int64_t>(arguments.step).take("step");
  contents_.attributes = attributes_of(arguments.attributes, "attribute");
  for (const auto item : nb::iter(items_of(arguments.variables, "variables", "arrays"))) {
    add(text_of(item[0]), item[1], arguments.layout, comm);
  }
  contents_.stream = stream_of_all();
  if (arguments.coordinates.is_none()) return;
  for (const auto item : nb::iter(items_of(arguments.coordinates, "coordinates", "values"))) {
    const auto name = text_of(item[0]);
    const auto what = fmt::format("coordinate '{}'", name);
    const bool of_axis = std::ranges::any_of(contents_.variables, [&](const Variable& variable) {
      return std::ranges::find(variable.dims, name) != variable.dims.end();
    });
    contents_.coordinates.push_back(coordinate_of(name, GivenCoordinate(item[1]), what, of_axis));
  }
}

}  // namespace tailrace::python
