// SPDX-License-Identifier: BSD-3-Clause
#include "store/contents_check.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/refuse_input.hpp"
#include "core/same_on_all.hpp"
#include "store/item_convert.hpp"

namespace tailrace::store {
namespace {

// `name` and the groups that it is in.
void check_path(const std::string& name, const char* what) {
  bool good = name.find('\n') == std::string::npos;
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
        "\"{}\" cannot name {} of a file: it is empty or holds a line end, or there is no name "
        "between its slashes",
        name, what);
  }
}

void check_name(const std::string& name, std::set<std::string>& taken) {
  check_path(name, "an array");
  if (!taken.insert(name).second) refuse_input("two arrays of the file are named \"{}\"", name);
}

// No array may be a group, either.
void check_groups(const FileContents& contents, const std::set<std::string>& taken) {
  for (const auto& name : taken) {
    for (auto at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      if (!taken.contains(name.substr(0, at))) continue;
      refuse_input("\"{}\" is an array, so that \"{}\" cannot lie in it", name.substr(0, at), name);
    }
  }
  for (const auto& [name, attributes] : contents.group_attributes) {
    check_path(name, "a group");
    if (taken.contains(name)) refuse_input("\"{}\" is an array and a group", name);
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

void check_memory(const Variable& variable, int rank) {
  const auto boxes = variable.layout->boxes(rank);
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

void check_variable(const Variable& variable, int rank, int num_ranks,
                    std::map<std::string, std::ptrdiff_t>& dims) {
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
    const auto extent = variable.layout->global_extents()[d];
    const auto known = dims.emplace(variable.dims[d], extent).first->second;
    if (known != extent) {
      refuse_input("dimension {} has {} items in variable {}, and {} elsewhere", variable.dims[d],
                   extent, variable.name, known);
    }
  }
  check_memory(variable, rank);
}

}  // namespace

WithDefaults::WithDefaults(const FileContents& given, int rank, int num_ranks) : given_(given) {
  if (std::ranges::none_of(given.variables, has_defaults)) return;
  for (auto& variable : made_.emplace(given).variables) {
    if (variable.layout == nullptr || variable.layout->num_ranks() != num_ranks) continue;
    if (variable.dims.empty()) variable.dims = default_dims(variable.layout->num_dims());
    if (!variable.memory.boxes.empty()) continue;
    auto dense = Memory::dense(variable.layout->boxes(rank));
    if (dense.num_items == variable.memory.num_items) variable.memory = std::move(dense);
  }
}

std::ptrdiff_t given_bytes(const FileContents& contents, int rank) {
  std::ptrdiff_t bytes = 0;
  for (const auto& variable : contents.variables) {
    bytes += variable.layout->num_items(rank) * item_bytes(variable.type);
  }
  return bytes;
}

std::optional<Error> check_contents(const FileContents& contents, int rank, int num_ranks) {
  try {
    std::set<std::string> taken;
    std::map<std::string, std::ptrdiff_t> dims;
    for (const auto& coordinate : contents.coordinates) {
      check_name(coordinate.name, taken);
      dims[coordinate.name] = static_cast<std::ptrdiff_t>(coordinate.values.size());
    }
    for (const auto& variable : contents.variables) {
      check_name(variable.name, taken);
      check_variable(variable, rank, num_ranks, dims);
    }
    for (const auto& variable : contents.variables) {
      if (dims.contains(variable.name)) {
        refuse_input("\"{}\" is a variable and a dimension", variable.name);
      }
    }
    check_groups(contents, taken);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

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
  return digest;
}

void require_alike(const Comm& comm, std::string_view who, const std::string& path,
                   const FileContents& contents) {
  std::string variables;
  for (const auto& variable : contents.variables) {
    if (!variables.empty()) variables += ", ";
    variables += fmt::format("{} {}", variable.name, type_name(variable.type));
    if (variable.layout == nullptr) continue;
    const auto dims = static_cast<std::size_t>(variable.layout->num_dims());
    const std::span extents(variable.layout->global_extents().data(), dims);
    variables += fmt::format(" [{}]", fmt::join(extents, " x "));
  }
  const std::array<CommonArgument, 2> arguments{
      {{"the path", path}, {"the list of variables", variables}}};
  require_same(comm, who, arguments);
}

namespace {

bool same_memory(const Memory& a, const Memory& b) {
  return a.num_items == b.num_items &&
         std::ranges::equal(a.boxes, b.boxes, [](const BoxMemory& x, const BoxMemory& y) {
           return x.offset == y.offset && x.strides == y.strides;
         });
}

}  // namespace

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
