// SPDX-License-Identifier: BSD-3-Clause
#include "store/contents_check.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "core/common_path.hpp"
#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "store/attribute_values.hpp"
#include "store/item_convert.hpp"
#include "tailrace/more/axis_text.hpp"

namespace tailrace::store {
namespace {

// `name` and the groups that it is in.
void check_path(const std::string& name, const char* what) {
  bool good = name.find_first_of(std::string("\n\0", 2)) == std::string::npos;
  for (std::size_t at = 0, end = 0; end < name.size() || at == 0; at = end + 1) {
    end = std::min(name.find('/', at), name.size());
    const auto part = name.substr(at, end - at);
    good = good && !part.empty() && part != "." && part != "..";
    if (at == 0 && part == "tailrace") {
      refuse_input("\"tailrace\" is the name of the group with the checksums");
    }
  }
  if (!good) {
    refuse_input(
        "\"{}\" cannot name {} of a file: it is empty or holds a line end or a zero byte, or there "
        "is "
        "no name between its slashes",
        shown(name), what);
  }
}

void check_name(const std::string& name, std::set<std::string>& taken) {
  check_path(name, "an array");
  if (!taken.insert(name).second) refuse_input("two arrays of the file are named \"{}\"", name);
}

// Names of dimensions are names of datasets in the root group, and HDF5 keeps some for itself.
void check_dimension(const std::string& name, const std::string& array) {
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find_first_of(std::string("/\n\0", 3)) == std::string::npos;
  if (plain && name != "tailrace" && !is_reserved(name)) return;
  refuse_input(
      "{}: \"{}\" cannot name a dimension: it is empty, has a slash, a line end or a zero "
      "byte, or HDF5, netCDF or this library use it themselves",
      array, shown(name));
}

// No array may be a group, either.
void check_groups(const FileContents& contents, const std::set<std::string>& taken) {
  for (const auto& name : taken) {
    for (auto at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      if (!taken.contains(name.substr(0, at))) continue;
      refuse_input("\"{}\" is an array, so it cannot contain \"{}\"", name.substr(0, at), name);
    }
  }
  for (const auto& [name, attributes] : contents.group_attributes) {
    check_path(name, "a group");
    if (taken.contains(name)) refuse_input("\"{}\" is an array and a group", name);
  }
}

// A variable that is named as its first axis holds the coordinates along it, as in netCDF. Another
// one would be two datasets of one name.
void check_dimensions(const FileContents& contents,
                      const std::map<std::string, std::ptrdiff_t>& dims) {
  for (const auto& variable : contents.variables) {
    const bool own = !variable.dims.empty() && variable.dims.front() == variable.name;
    if (own || !dims.contains(variable.name)) continue;
    refuse_input(
        "\"{}\" is the name of a variable and of a dimension other than its first one; rename one "
        "of them",
        variable.name);
  }
  for (const auto& coordinate : contents.coordinates) {
    if (is_axis(coordinate) || !dims.contains(coordinate.name)) continue;
    if (!coordinate.dims.empty() && coordinate.dims.front() == coordinate.name) continue;
    if (coordinate.dims.empty()) {
      refuse_input("\"{}\" is a dimension, and a coordinate without one: give a list",
                   coordinate.name);
    }
    refuse_input("\"{}\" is a dimension, and a coordinate along others ({})", coordinate.name,
                 per_axis(coordinate.dims));
  }
  const auto lies_in = [&](const std::string& array, const std::string& name) {
    return array.starts_with(name) && array.size() > name.size() && array[name.size()] == '/';
  };
  for (const auto& [name, extent] : dims) {
    const bool group =
        std::ranges::any_of(contents.variables,
                            [&](const auto& one) { return lies_in(one.name, name); }) ||
        std::ranges::any_of(contents.coordinates,
                            [&](const auto& one) { return lies_in(one.name, name); }) ||
        std::ranges::any_of(contents.group_attributes, [&](const auto& one) {
          return one.first == name || lies_in(one.first, name);
        });
    if (group && contents.scales) refuse_input("\"{}\" is a dimension and a group", name);
  }
}

bool has_defaults(const Variable& variable) {
  return variable.dims.empty() || (variable.memory.boxes.empty() && variable.memory.num_items > 0);
}

std::vector<std::string> default_dims(int num_dims) {
  std::vector<std::string> dims;
  for (int d = 0; d + 3 < num_dims; ++d) dims.push_back(fmt::format("dim_{}", d));
  for (int d = std::min(num_dims, 3); d-- > 0;) dims.emplace_back(1, "xyz"[d]);
  return dims;
}

// Names for the axes of variables that leave them open. A name that a variable has, or an axis of
// another length, gets a number: x, x_2, x_3.
class DefaultDims {
 public:
  explicit DefaultDims(const FileContents& contents) {
    std::map<std::string, std::ptrdiff_t> coordinates;
    std::set<std::pair<std::string, std::ptrdiff_t>> wanted;
    for (const auto& coordinate : contents.coordinates) {
      for (std::size_t d = 0; d < coordinate.dims.size() && !is_axis(coordinate); ++d) {
        if (coordinate.extents.size() == coordinate.dims.size()) {
          coordinates[coordinate.dims[d]] = coordinate.extents[d];
        }
      }
      if (!is_axis(coordinate)) {
        taken_.insert(coordinate.name);
      } else {
        coordinates[coordinate.name] =
            coordinate.typed ? num_items(*coordinate.typed) : std::ssize(coordinate.values);
      }
    }
    for (const auto& variable : contents.variables) {
      if (variable.layout == nullptr) continue;
      const auto& extents = variable.layout->global_extents();
      const auto count = static_cast<std::size_t>(variable.layout->num_dims());
      if (variable.dims.empty()) {
        taken_.insert(variable.name);
        const auto names = default_dims(variable.layout->num_dims());
        for (std::size_t d = 0; d < count; ++d) wanted.emplace(names[d], extents[d]);
      } else {
        for (std::size_t d = 0; d < std::min(count, variable.dims.size()); ++d) {
          extents_.emplace(variable.dims[d], extents[d]);
        }
        if (variable.dims.front() != variable.name) taken_.insert(variable.name);
      }
    }
    // Coordinates that fit no variable are a mistake, which is to be refused.
    for (const auto& [name, extent] : coordinates) {
      if (wanted.contains({name, extent})) extents_.emplace(name, extent);
    }
  }

  std::vector<std::string> of(const Layout& layout) {
    auto dims = default_dims(layout.num_dims());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const auto extent = layout.global_extents()[d];
      const auto base = dims[d];
      for (int number = 2; !suits(dims[d], extent); ++number) {
        dims[d] = fmt::format("{}_{}", base, number);
      }
      extents_.emplace(dims[d], extent);
    }
    return dims;
  }

 private:
  bool suits(const std::string& name, std::ptrdiff_t extent) const {
    if (taken_.contains(name)) return false;
    const auto known = extents_.find(name);
    return known == extents_.end() || known->second == extent;
  }

  std::map<std::string, std::ptrdiff_t> extents_;
  std::set<std::string> taken_;  // names of arrays that are not along themselves
};

bool has_plain_form(const Variable& variable) {
  const auto& form = variable.form;
  return form.halo == 0 && form.halos.empty() && form.order.empty();
}

/// How the boxes of `rank` lie in its array, where the variable does not list them.
Memory memory_of(const Variable& variable, int rank) {
  const auto boxes = variable.layout->boxes(rank);
  const auto& form = variable.form;
  if (has_plain_form(variable) || boxes.size() != 1) return Memory::dense(boxes);
  const auto dims = static_cast<std::size_t>(variable.layout->num_dims());
  auto order = form.order;
  for (int d = 0; order.size() < dims && form.order.empty(); ++d) order.push_back(d);
  const std::vector<std::ptrdiff_t> all(dims, form.halo);
  return Memory::ordered(boxes.front(), order, form.halos.empty() ? all : form.halos);
}

void check_memory(const Variable& variable, int rank) {
  const auto boxes = variable.layout->boxes(rank);
  if (boxes.size() > 1 && !has_plain_form(variable)) {
    refuse_input("variable {}: rank {} holds {} boxes; halo and order apply to a single box",
                 variable.name, rank, boxes.size());
  }
  if (variable.memory.boxes.empty() && !boxes.empty() && !has_plain_form(variable)) {
    refuse_input(
        "variable {}: an array of {} items is given; with its halo, box {} of rank {} needs {} "
        "items",
        variable.name, variable.memory.num_items, boxes.front().describe(), rank,
        memory_of(variable, rank).num_items);
  }
  if (variable.memory.boxes.empty() && !boxes.empty()) {
    refuse_input("variable {}: an array of {} items is given, rank {} holds {}", variable.name,
                 variable.memory.num_items, rank, variable.layout->num_items(rank));
  }
  if (boxes.size() != variable.memory.boxes.size()) {
    refuse_input("variable {}: the layout gives this rank {} boxes, its memory describes {}",
                 variable.name, boxes.size(), variable.memory.boxes.size());
  }
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    std::ptrdiff_t first = variable.memory.boxes[b].offset;
    std::ptrdiff_t last = first;
    for (std::size_t d = 0; d < static_cast<std::size_t>(boxes[b].num_dims); ++d) {
      const auto reach = (boxes[b].extents[d] - 1) * variable.memory.boxes[b].strides[d];
      (reach < 0 ? first : last) += reach;
    }
    if (first < 0 || last >= variable.memory.num_items) {
      refuse_input("variable {}: box {} reaches items {} to {} of an array of {} items",
                   variable.name, boxes[b].describe(), first, last, variable.memory.num_items);
    }
  }
  if (!boxes.empty() && variable.data == nullptr) {
    refuse_input("variable {}: no data given", variable.name);
  }
}

using Extents = std::map<std::string, std::ptrdiff_t>;

/// Adds an axis of `array` ("variable u") to the dimensions of the file.
void add_dimension(const std::string& name, std::ptrdiff_t extent, const std::string& array,
                   Extents& dims) {
  check_dimension(name, array);
  const auto known = dims.emplace(name, extent).first->second;
  if (known == extent) return;
  refuse_input("dimension {} has {} items in {}, and {} elsewhere", name, extent, array, known);
}

void check_variable(const Variable& variable, int rank, int num_ranks, Extents& dims) {
  if (variable.layout == nullptr) refuse_input("variable {} has no layout", variable.name);
  if (variable.layout->num_ranks() != num_ranks) {
    refuse_input("variable {}: its layout is for {} ranks, the output has {}", variable.name,
                 variable.layout->num_ranks(), num_ranks);
  }
  if (static_cast<int>(variable.dims.size()) != variable.layout->num_dims()) {
    refuse_input("variable {}: {} names for {} dimensions", variable.name, variable.dims.size(),
                 variable.layout->num_dims());
  }
  for (std::size_t d = 0; d < variable.dims.size(); ++d) {
    add_dimension(variable.dims[d], variable.layout->global_extents()[d],
                  "variable " + variable.name, dims);
  }
  check_memory(variable, rank);
}

}  // namespace

const FileContents& WithDefaults::of(const FileContents& given, int rank, int num_ranks) {
  if (std::ranges::none_of(given.variables, has_defaults)) return given;
  made_ = given;
  DefaultDims names(given);
  for (auto& variable : made_.variables) {
    if (variable.layout == nullptr || variable.layout->num_ranks() != num_ranks) continue;
    if (variable.dims.empty()) variable.dims = names.of(*variable.layout);
    if (!variable.memory.boxes.empty()) continue;
    try {
      auto memory = memory_of(variable, rank);
      if (memory.num_items == variable.memory.num_items) variable.memory = std::move(memory);
    } catch (const Error&) {
      continue;  // refused with the contents, on all ranks together
    }
  }
  return made_;
}

void set_memory(Variable& variable, int rank) {
  if (has_plain_form(variable)) return;
  auto memory = memory_of(variable, rank);
  if (memory.num_items == variable.memory.num_items) variable.memory = std::move(memory);
  check_memory(variable, rank);
}

std::ptrdiff_t given_bytes(const FileContents& contents, int rank) {
  std::ptrdiff_t bytes = 0;
  for (const auto& variable : contents.variables) {
    bytes += variable.layout->num_items(rank) * item_bytes(variable.type);
  }
  return bytes;
}

std::optional<Error> check_contents(const FileContents& contents, int rank, int num_ranks) {
  if (contents.fault) return contents.fault;
  try {
    std::set<std::string> taken;
    Extents dims;
    std::vector<std::tuple<const Coordinate*, std::string, std::ptrdiff_t>> along_others;
    for (const auto& coordinate : contents.coordinates) {
      check_name(coordinate.name, taken);
      const auto array = array_of(coordinate);
      const auto of = "coordinate " + coordinate.name;
      if (is_axis(coordinate)) {
        dims[coordinate.name] = array.count;
      } else {
        for (std::size_t d = 0; d < array.dims.size(); ++d) {
          along_others.emplace_back(&coordinate, array.dims[d], array.extents[d]);
        }
      }
      check_attributes(of, coordinate.attributes, array.type);
    }
    for (const auto& variable : contents.variables) {
      check_name(variable.name, taken);
      check_variable(variable, rank, num_ranks, dims);
      check_attributes("variable " + variable.name, variable.attributes, variable.type);
    }
    for (const auto& [coordinate, name, extent] : along_others) {
      add_dimension(name, extent, "coordinate " + coordinate->name, dims);
    }
    check_dimensions(contents, dims);
    check_groups(contents, taken);
    check_attributes("the file", contents.attributes, std::nullopt);
    for (const auto& [name, attributes] : contents.group_attributes) {
      check_attributes("group " + name, attributes, std::nullopt);
    }
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

namespace {

/// Of coordinates, axes and attributes.
std::uint64_t digest_of_details(const FileContents& contents) {
  auto digest = digest_of(contents.attributes);
  for (const auto& coordinate : contents.coordinates) digest += digest_of(coordinate);
  for (const auto& variable : contents.variables) {
    digest = add_to_digest(digest, digest_of(variable.attributes));
    digest = add_to_digest(digest, std::hash<std::string>{}(variable.compress));
    for (const auto& dim : variable.dims) {
      digest = add_to_digest(digest, std::hash<std::string>{}(dim));
    }
  }
  for (const auto& [name, attributes] : contents.group_attributes) {
    digest += add_to_digest(std::hash<std::string>{}(name), digest_of(attributes));
  }
  return digest;
}

}  // namespace

std::uint64_t digest_of(const std::string& path, const FileContents& contents) {
  const std::hash<std::string> hash;
  std::uint64_t digest = hash(path);
  for (const auto& variable : contents.variables) {
    digest = add_to_digest(digest, hash(variable.name));
    digest = add_to_digest(digest, static_cast<std::uint64_t>(variable.type));
    if (variable.layout == nullptr) continue;
    for (int d = 0; d < variable.layout->num_dims(); ++d) {
      const auto extent = variable.layout->global_extents()[static_cast<std::size_t>(d)];
      digest = add_to_digest(digest, static_cast<std::uint64_t>(extent));
    }
  }
  return add_to_digest(digest, digest_of_details(contents));
}

namespace {

/// One line for each attribute and coordinate, in the order of their names.
std::map<std::string, std::string> describe_details(const FileContents& contents) {
  std::map<std::string, std::string> lines;
  const auto add = [&](const std::string& of, const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
      lines[fmt::format("attribute {} of {}", name, of)] = describe(value);
    }
  };
  for (const auto& coordinate : contents.coordinates) {
    const auto of = "coordinate " + coordinate.name;
    lines["the values of " + of] =
        coordinate.typed ? describe(*coordinate.typed) : describe(coordinate.values);
    lines["the axes of " + of] =
        fmt::format("{} ({}){}", per_axis(coordinate.dims), per_axis(coordinate.extents, " x "),
                    coordinate.characters ? " of bytes" : "");
    add(of, coordinate.attributes);
  }
  for (const auto& variable : contents.variables) {
    const auto of = "variable " + variable.name;
    lines["the axes of " + of] = per_axis(variable.dims);
    lines["the compression of " + of] = variable.compress;
    add(of, variable.attributes);
  }
  for (const auto& [name, attributes] : contents.group_attributes) add("group " + name, attributes);
  add("the file", contents.attributes);
  return lines;
}

}  // namespace

void require_alike(const Comm& comm, std::string_view who, const std::string& path,
                   const FileContents& contents) {
  std::string variables;
  for (const auto& variable : contents.variables) {
    if (!variables.empty()) variables += ", ";
    variables += fmt::format("{} {}", variable.name, type_name(variable.type));
    if (variable.layout == nullptr) continue;
    const auto dims = static_cast<std::size_t>(variable.layout->num_dims());
    const std::span extents(variable.layout->global_extents().data(), dims);
    variables += fmt::format(" [{}]", per_axis(extents, " x "));
  }
  const auto lines = describe_details(contents);
  std::string names;
  for (const auto& [name, value] : lines) names += (names.empty() ? "" : ", ") + name;
  const std::array<CommonArgument, 3> arguments{
      {{"the path", path},
       {"the list of variables", variables},
       {"the list of attributes and coordinates", names}}};
  require_same(comm, who, arguments);
  std::vector<CommonArgument> details;
  for (const auto& [name, value] : lines) details.push_back({name, value});
  require_same(comm, who, details);
  require_same_folder(comm, who, path);
  refuse_input("{}: the ranks give different contents of {}", who, path);
}

namespace {

/// The layouts with the boxes of all ranks.
std::string describe_layouts(const FileContents& contents, int num_ranks) {
  std::string text;
  for (const auto& variable : contents.variables) {
    std::uint64_t digest = 0;
    const auto add = [&](const Index& numbers) {
      for (const auto number : numbers) {
        digest = add_to_digest(digest, static_cast<std::uint64_t>(number));
      }
    };
    for (int rank = 0; rank < num_ranks; ++rank) {
      for (const auto& box : variable.layout->boxes(rank)) {
        add(box.start);
        add(box.extents);
      }
    }
    text += fmt::format("{}{}: {} (digest {:04x})", text.empty() ? "" : ", ", variable.name,
                        variable.layout->describe(), digest & 0xffff);
  }
  return text;
}

bool same_memory(const Memory& a, const Memory& b) {
  return a.num_items == b.num_items &&
         std::ranges::equal(a.boxes, b.boxes, [](const BoxMemory& x, const BoxMemory& y) {
           return x.offset == y.offset && x.strides == y.strides;
         });
}

/// Throws if another box holds an item that a box of `rank` holds.
void require_own_items(const Variable& variable, int rank) {
  const auto boxes = variable.layout->boxes(rank);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    for (const auto& other : variable.layout->overlaps(boxes[b])) {
      if (other.rank == rank && other.local_box == static_cast<int>(b)) continue;
      refuse_input(
          "variable {}: rank {} and rank {} both hold {}; each written item must be on a single "
          "rank",
          variable.name, std::min(rank, other.rank), std::max(rank, other.rank),
          other.shared.describe());
    }
  }
}

}  // namespace

void require_same_layouts(const Comm& comm, std::string_view who, const FileContents& contents) {
  const CommonArgument layouts{"the list of layouts", describe_layouts(contents, comm.num_ranks())};
  require_same(comm, who, {&layouts, 1});
  run_agreed(comm.raw(), [&] {
    for (const auto& variable : contents.variables) require_own_items(variable, comm.rank());
  });
}

std::vector<Shape> shapes_of(const FileContents& contents, int rank) {
  std::vector<Shape> shapes;
  for (const auto& variable : contents.variables) {
    shapes.push_back({variable.name, variable.type, variable.layout->global_extents(),
                      variable.layout->num_dims(), variable.layout->boxes(rank), variable.memory});
  }
  return shapes;
}

bool same_shapes(const std::vector<Shape>& shapes, const FileContents& contents, int rank) {
  return std::ranges::equal(shapes, contents.variables, [&](const Shape& a, const Variable& b) {
    return b.type == a.type && b.layout->num_dims() == a.num_dims &&
           b.layout->global_extents() == a.extents && same_memory(b.memory, a.memory) &&
           b.layout->boxes(rank) == a.boxes;
  });
}

}  // namespace tailrace::store
