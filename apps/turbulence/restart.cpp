// SPDX-License-Identifier: BSD-3-Clause
// Reading a checkpoint on any number of ranks and onto any grid.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "checkpoint.hpp"
#include "initial.hpp"
#include "tailrace/input.hpp"

namespace tailrace::turbulence {

namespace {

using Extents = std::array<std::ptrdiff_t, 3>;

/// The boxes of the file that hold modes of `box` (global order kz, ky, kx of the new grid), and
/// where each lies in `memory`, the complex memory of that box.
void add_boxes(const Box& box, const BoxMemory& memory, const Extents& new_extents,
               const Extents& file_extents, std::vector<Box>& boxes, Memory& parts) {
  std::array<std::vector<AxisRun>, 3> runs;
  for (std::size_t d = 0; d < 3; ++d) {
    runs[d] = match_modes(box.start[d], box.extents[d], new_extents[d], file_extents[d], d == 2);
  }
  for (const auto& z : runs[0]) {
    for (const auto& y : runs[1]) {
      for (const auto& x : runs[2]) {
        Box part;
        part.num_dims = 3;
        part.start = {z.file_start, y.file_start, x.file_start};
        part.extents = {z.count, y.count, x.count};
        BoxMemory at = memory;
        at.offset += z.offset * memory.strides[0] + y.offset * memory.strides[1] +
                     x.offset * memory.strides[2];
        at.offset *= 2;
        for (auto& stride : at.strides) stride *= 2;
        boxes.push_back(part);
        parts.boxes.push_back(at);
      }
    }
  }
}

/// Layout of all ranks over the file's extents, and this rank's memory of the real parts.
struct FileView {
  Layout layout;
  Memory memory;
};

template <class Real>
FileView view_of_file(NavierStokes<Real>& flow, const Comm& comm, const Extents& file_extents) {
  auto& transform = flow.transform();
  const Layout& layout = transform.spectral_layout();
  const Memory own = transform.spectral_memory();
  std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(comm.num_ranks()));
  Memory memory;
  for (int r = 0; r < comm.num_ranks(); ++r) {
    Memory parts;
    const auto held = layout.boxes(r);
    for (std::size_t b = 0; b < held.size(); ++b) {
      const BoxMemory at = r == comm.rank() ? own.boxes[b] : BoxMemory{};
      add_boxes(held[b], at, transform.spectral_extents(), file_extents,
                boxes[static_cast<std::size_t>(r)], parts);
    }
    if (r == comm.rank()) memory = std::move(parts);
  }
  memory.num_items = 2 * own.num_items;
  return {from_boxes(file_extents, std::move(boxes)), std::move(memory)};
}

Extents file_extents_of(const Input& input) {
  const auto extents = input.extents("u_re");
  return {extents[0], extents[1], extents[2]};
}

/// Throws unless `input` is a checkpoint of the same box. The same on all ranks.
void require_checkpoint(const Comm& comm, const Input& input, const std::string& path,
                        const NavierStokesOptions& options) {
  if (!input.has_attribute("kind") ||
      input.attribute_string("kind") != "tailrace turbulence checkpoint") {
    throw Error(
        Errc::invalid_input,
        fmt::format("{} is not a checkpoint of this program; give a checkpoint_NNNNNN.h5", path));
  }
  app::require_whole(comm, path);
  const auto lengths = input.attribute_doubles("lengths");
  for (std::size_t d = 0; d < 3; ++d) {
    if (std::abs(lengths.at(d) - options.lengths[d]) <= 1e-12 * options.lengths[d]) continue;
    throw Error(
        Errc::invalid_input,
        fmt::format("{} is of a box of lengths {} x {} x {} (z, y, x), the case has {} x {} "
                    "x {}; only grids may differ",
                    path, lengths[0], lengths[1], lengths[2], options.lengths[0],
                    options.lengths[1], options.lengths[2]));
  }
}

template <class Real>
void read_modes(const Input& input, const std::string& name, const FileView& view,
                std::span<std::complex<Real>> modes) {
  std::fill(modes.begin(), modes.end(), std::complex<Real>(0));
  Real* parts = reinterpret_cast<Real*>(modes.data());
  const auto type = std::is_same_v<Real, float> ? ItemType::float32 : ItemType::float64;
  input.read(name + "_re", type, view.layout, view.memory, parts);
  input.read(name + "_im", type, view.layout, view.memory, parts + 1);
}

bool same_modes(const Input& input, const NavierStokesOptions& options) {
  const auto extents = input.attribute_doubles("extents");
  const std::string dealias = options.dealias == Dealias::two_thirds ? "two_thirds" : "phase_shift";
  bool same = input.attribute_string("dealias") == dealias;
  for (std::size_t d = 0; d < 3; ++d) {
    same = same && static_cast<std::ptrdiff_t>(extents.at(d)) == options.extents[d];
  }
  return same;
}

}  // namespace

std::vector<AxisRun> match_modes(std::ptrdiff_t start, std::ptrdiff_t count,
                                 std::ptrdiff_t new_extent, std::ptrdiff_t file_extent,
                                 bool half_axis) {
  std::vector<AxisRun> runs;
  const auto add = [&](std::ptrdiff_t first, std::ptrdiff_t end, std::ptrdiff_t shift) {
    // Indices first, ..., end - 1 of the new axis; the file's index is `shift` higher.
    first = std::max(first, start);
    end = std::min(end, start + count);
    if (first < end) runs.push_back({first + shift, end - first, first - start});
  };
  if (half_axis) {
    add(0, std::min(new_extent, file_extent), 0);
    return runs;
  }
  add(0, std::min((new_extent + 1) / 2, (file_extent + 1) / 2), 0);
  const auto negative = std::min(new_extent / 2, file_extent / 2);
  add(new_extent - negative, new_extent, file_extent - new_extent);
  return runs;
}

template <class Real>
RunState read_checkpoint(const Comm& comm, const Case& values, const std::string& path,
                         NavierStokes<Real>& flow) {
  const Input input(comm, path);
  const auto& options = flow.options();
  require_checkpoint(comm, input, path, options);
  const FileView view = view_of_file(flow, comm, file_extents_of(input));
  const std::array<const char*, 3> names{"u", "v", "w"};
  for (int c = 0; c < 3; ++c) {
    read_modes(input, names[static_cast<std::size_t>(c)], view, flow.velocity(c));
  }
  const auto in_file = input.attribute_int("num_scalars");
  for (int s = 0; s < static_cast<int>(options.scalars.size()); ++s) {
    if (s < in_file) {
      read_modes(input, fmt::format("scalar_{}", s), view, flow.scalar(s));
    } else {
      set_initial_scalar(comm, values, flow, s);
    }
  }
  // On the same grid the modes are taken as they are, so that the run goes on bit by bit.
  if (!same_modes(input, options)) flow.project();
  flow.set_time(input.attribute_double("time"),
                static_cast<std::ptrdiff_t>(input.attribute_int("step")));
  RunState state;
  state.courant_rate = same_modes(input, options) ? input.attribute_double("courant_rate") : 0;
  state.forcing_type = input.attribute_string("forcing_type");
  if (input.attribute_int("forcing_numbers") > 0) state.forcing = input.coordinate("forcing_state");
  return state;
}

template RunState read_checkpoint<float>(const Comm&, const Case&, const std::string&,
                                         NavierStokes<float>&);
template RunState read_checkpoint<double>(const Comm&, const Case&, const std::string&,
                                          NavierStokes<double>&);

}  // namespace tailrace::turbulence
