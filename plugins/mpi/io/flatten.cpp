// SPDX-License-Identifier: BSD-3-Clause
#include "io/flatten.hpp"

#include <algorithm>
#include <utility>

namespace tailrace::plugins {
namespace {

// What a type was made of. Frees the types that MPI hands out.
struct Contents {
  explicit Contents(MPI_Datatype type) {
    int num_integers = 0;
    int num_addresses = 0;
    int num_types = 0;
    if (PMPI_Type_get_envelope(type, &num_integers, &num_addresses, &num_types, &combiner) !=
        MPI_SUCCESS) {
      combiner = MPI_UNDEFINED;
      return;
    }
    if (combiner == MPI_COMBINER_NAMED) return;
    integers.resize(static_cast<std::size_t>(num_integers) + 1);
    addresses.resize(static_cast<std::size_t>(num_addresses) + 1);
    types.resize(static_cast<std::size_t>(num_types), MPI_DATATYPE_NULL);
    if (num_types == 0 ||
        PMPI_Type_get_contents(type, num_integers, num_addresses, num_types, integers.data(),
                               addresses.data(), types.data()) != MPI_SUCCESS) {
      combiner = MPI_UNDEFINED;
      types.clear();
    }
  }
  ~Contents() {
    for (MPI_Datatype& type : types) {
      int numbers[3] = {};
      int made_by = MPI_COMBINER_NAMED;
      PMPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &made_by);
      if (made_by != MPI_COMBINER_NAMED) PMPI_Type_free(&type);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  int combiner = MPI_UNDEFINED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
};

// Puts runs together.
class Builder {
 public:
  bool push(std::int64_t offset, std::int64_t bytes) {
    if (bytes == 0) return true;
    made_.bytes += bytes;
    if (!made_.runs.empty() && made_.runs.back().end() == offset) {
      made_.runs.back().bytes += bytes;
      return true;
    }
    made_.runs.push_back({offset, bytes});
    return made_.runs.size() <= most_runs;
  }
  // `count` items of `inner`, one after another, from `offset` on.
  bool push_items(const TypeRuns& inner, std::int64_t offset, std::int64_t count) {
    if (count <= 0 || inner.bytes == 0) return count >= 0;
    if (inner.is_dense()) return push(offset, count * inner.bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      for (const FileRun& run : inner.runs) {
        if (!push(offset + i * inner.extent + run.offset, run.bytes)) return false;
      }
    }
    return true;
  }
  TypeRuns take(std::int64_t extent) {
    made_.extent = extent;
    return std::move(made_);
  }

 private:
  TypeRuns made_;
};

// Indices of an axis that are in the type: runs of them, ascending.
struct Axis {
  std::int64_t extent = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;  // first, count
};

// Items of the array whose axes are given slowest first, as far as they are in the runs of all.
bool push_axes(Builder& out, const TypeRuns& inner, const std::vector<Axis>& axes, std::size_t d,
               std::int64_t before) {
  for (const auto& [first, count] : axes[d].runs) {
    const std::int64_t begin = before * axes[d].extent + first;
    if (d + 1 == axes.size()) {
      if (!out.push_items(inner, begin * inner.extent, count)) return false;
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (!push_axes(out, inner, axes, d + 1, begin + i)) return false;
    }
  }
  return true;
}

bool push_array(Builder& out, const TypeRuns& inner, std::vector<Axis> axes, int order) {
  if (axes.empty()) return false;
  if (order == MPI_ORDER_FORTRAN) std::reverse(axes.begin(), axes.end());
  return push_axes(out, inner, axes, 0, 0);
}

bool push_subarray(Builder& out, const TypeRuns& inner, const std::vector<int>& numbers) {
  const auto n = static_cast<std::size_t>(numbers[0]);
  std::vector<Axis> axes(n);
  for (std::size_t d = 0; d < n; ++d) {
    axes[d] = {numbers[1 + d], {{numbers[1 + 2 * n + d], numbers[1 + n + d]}}};
  }
  return push_array(out, inner, std::move(axes), numbers[1 + 3 * n]);
}

// MPI 4.1, 5.1.4: which indices of an axis belong to process `at` of `processes`.
std::optional<Axis> axis_of_process(int extent, int distribution, int argument, int processes,
                                    int at) {
  Axis axis{extent, {}};
  std::int64_t block = argument;
  switch (distribution) {
    case MPI_DISTRIBUTE_NONE:
      axis.runs.push_back({0, extent});
      return axis;
    case MPI_DISTRIBUTE_BLOCK:
      if (argument == MPI_DISTRIBUTE_DFLT_DARG) block = (extent + processes - 1) / processes;
      break;
    case MPI_DISTRIBUTE_CYCLIC:
      if (argument == MPI_DISTRIBUTE_DFLT_DARG) block = 1;
      break;
    default:
      return std::nullopt;
  }
  if (block <= 0) return std::nullopt;
  const std::int64_t step = distribution == MPI_DISTRIBUTE_BLOCK ? extent : block * processes;
  for (std::int64_t first = block * at; first < extent; first += step) {
    axis.runs.push_back({first, std::min<std::int64_t>(block, extent - first)});
  }
  return axis;
}

bool push_distributed(Builder& out, const TypeRuns& inner, const std::vector<int>& numbers) {
  int rank = numbers[1];
  const auto n = static_cast<std::size_t>(numbers[2]);
  const int* const extents = &numbers[3];
  const int* const distributions = extents + n;
  const int* const arguments = distributions + n;
  const int* const processes = arguments + n;
  std::vector<Axis> axes(n);
  // The grid of processes is row-major.
  for (std::size_t d = n; d-- > 0; rank /= processes[d]) {
    auto axis = axis_of_process(extents[d], distributions[d], arguments[d], processes[d],
                                rank % processes[d]);
    if (!axis) return false;
    axes[d] = std::move(*axis);
  }
  return push_array(out, inner, std::move(axes), numbers[3 + 4 * n]);
}

// Blocks of items of one type: their lengths, and where they start.
template <class Length, class Start>
bool push_blocks(Builder& out, const TypeRuns& inner, int count, Length length, Start start) {
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!out.push_items(inner, start(at), length(at))) return false;
  }
  return true;
}

bool push_struct(Builder& out, const Contents& of) {
  for (std::size_t i = 0; i < of.types.size(); ++i) {
    const auto inner = runs_of(of.types[i]);
    if (!inner || !out.push_items(*inner, of.addresses[i], of.integers[1 + i])) return false;
  }
  return true;
}

bool push_made(Builder& out, const Contents& of) {
  if (of.combiner == MPI_COMBINER_STRUCT) return push_struct(out, of);
  const auto inner = runs_of(of.types[0]);
  if (!inner) return false;
  const auto& numbers = of.integers;
  const auto& addresses = of.addresses;
  const int count = numbers[0];
  const auto n = static_cast<std::size_t>(count);
  const auto same = [&](std::size_t) { return numbers[1]; };
  const auto each = [&](std::size_t i) { return numbers[1 + i]; };
  const auto address = [&](std::size_t i) { return std::int64_t{addresses[i]}; };
  switch (of.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return out.push_items(*inner, 0, 1);
    case MPI_COMBINER_CONTIGUOUS:
      return out.push_items(*inner, 0, count);
    case MPI_COMBINER_VECTOR:
      return push_blocks(out, *inner, count, same, [&](std::size_t i) {
        return static_cast<std::int64_t>(i) * numbers[2] * inner->extent;
      });
    case MPI_COMBINER_HVECTOR:
      return push_blocks(out, *inner, count, same, [&](std::size_t i) {
        return static_cast<std::int64_t>(i) * addresses[0];
      });
    case MPI_COMBINER_INDEXED:
      return push_blocks(out, *inner, count, each,
                         [&](std::size_t i) { return numbers[1 + n + i] * inner->extent; });
    case MPI_COMBINER_INDEXED_BLOCK:
      return push_blocks(out, *inner, count, same,
                         [&](std::size_t i) { return numbers[2 + i] * inner->extent; });
    case MPI_COMBINER_HINDEXED:
      return push_blocks(out, *inner, count, each, address);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return push_blocks(out, *inner, count, same, address);
    case MPI_COMBINER_SUBARRAY:
      return push_subarray(out, *inner, numbers);
    case MPI_COMBINER_DARRAY:
      return push_distributed(out, *inner, numbers);
    default:
      return false;
  }
}

}  // namespace

std::optional<TypeRuns> runs_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return std::nullopt;
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  if (PMPI_Type_get_extent(type, &low, &extent) != MPI_SUCCESS || extent < 0) return std::nullopt;
  const Contents contents(type);
  Builder out;
  if (contents.combiner == MPI_COMBINER_NAMED) {
    int size = 0;
    PMPI_Type_size(type, &size);
    if (low != 0 || size != extent || !out.push(0, size)) return std::nullopt;
  } else if (contents.combiner == MPI_UNDEFINED || !push_made(out, contents)) {
    return std::nullopt;
  }
  return out.take(extent);
}

View::View() {
  type_.runs.push_back({0, 1});
  type_.bytes = type_.extent = 1;
  begins_.push_back(0);
}

View::View(std::int64_t start, MPI_Datatype type, bool has_order) : start_(start) {
  auto found = runs_of(type);
  usable_ = found.has_value() && found->bytes > 0;
  if (!usable_) return;
  type_ = std::move(*found);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < type_.runs.size(); ++i) {
    begins_.push_back(before);
    before += type_.runs[i].bytes;
    if (has_order && i > 0 && type_.runs[i].offset < type_.runs[i - 1].end()) usable_ = false;
  }
  if (!has_order) return;
  const auto& first = type_.runs.front();
  if (first.offset + start < 0 || type_.runs.back().end() > first.offset + type_.extent) {
    usable_ = false;
  }
}

bool View::find(std::int64_t first, std::int64_t bytes, std::vector<FileRun>& found) const {
  if (bytes == 0) return true;
  if (type_.is_dense()) {
    found.push_back({start_ + first, bytes});
    return true;
  }
  std::int64_t item = first / type_.bytes;
  const std::int64_t inside = first % type_.bytes;
  auto at = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), inside) -
                                     begins_.begin() - 1);
  std::int64_t skipped = inside - begins_[at];
  while (bytes > 0) {
    const FileRun& run = type_.runs[at];
    const std::int64_t offset = start_ + item * type_.extent + run.offset + skipped;
    const std::int64_t part = std::min(bytes, run.bytes - skipped);
    if (!found.empty() && found.back().end() == offset) {
      found.back().bytes += part;
    } else {
      if (found.size() == most_runs) return false;
      found.push_back({offset, part});
    }
    bytes -= part;
    skipped = 0;
    if (++at == type_.runs.size()) {
      at = 0;
      ++item;
    }
  }
  return true;
}

}  // namespace tailrace::plugins
