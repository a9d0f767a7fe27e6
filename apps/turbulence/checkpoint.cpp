// SPDX-License-Identifier: BSD-3-Clause
#include "checkpoint.hpp"

#include <array>
#include <type_traits>

#include <fmt/format.h>

#include "common/output_case.hpp"

namespace tailrace::turbulence {

namespace {

/// `memory` of complex items as memory of their real or imaginary parts.
Memory as_parts(Memory memory) {
  for (auto& box : memory.boxes) {
    box.offset *= 2;
    for (auto& stride : box.strides) stride *= 2;
  }
  memory.num_items *= 2;
  return memory;
}

/// Wave numbers of a whole axis of modes, in the order of the file.
Coordinate wave_numbers(const char* name, std::ptrdiff_t extent, double length, bool half_axis) {
  Coordinate out;
  out.name = name;
  for (std::ptrdiff_t i = 0; i < extent; ++i) {
    const auto number = half_axis || i < (extent + 1) / 2 ? i : i - extent;
    out.values.push_back(2 * M_PI / length * static_cast<double>(number));
  }
  return out;
}

template <class Real>
Attributes attributes_of(const NavierStokes<Real>& flow, const RunState& state) {
  const auto& options = flow.options();
  const auto& n = options.extents;
  return {{"kind", std::string("tailrace turbulence checkpoint")},
          {"step", static_cast<std::int64_t>(flow.step_number())},
          {"time", flow.time()},
          {"extents", std::vector<double>{static_cast<double>(n[0]), static_cast<double>(n[1]),
                                          static_cast<double>(n[2])}},
          {"lengths", std::vector<double>(options.lengths.begin(), options.lengths.end())},
          {"viscosity", options.viscosity},
          {"dealias",
           std::string(options.dealias == Dealias::two_thirds ? "two_thirds" : "phase_shift")},
          {"num_scalars", static_cast<std::int64_t>(options.scalars.size())},
          {"courant_rate", state.courant_rate},
          {"forcing_type", state.forcing_type},
          {"forcing_numbers", static_cast<std::int64_t>(state.forcing.size())}};
}

}  // namespace

template <class Real>
CheckpointWriter<Real>::CheckpointWriter(Session& session, const Case& values,
                                         NavierStokes<Real>& flow, const std::string& folder)
    : files_(session, app::checkpoint_options(values.output, values.source), folder),
      layout_(flow.transform().spectral_layout()),
      memory_(as_parts(flow.transform().spectral_memory())) {}

template <class Real>
FileContents CheckpointWriter<Real>::contents(NavierStokes<Real>& flow,
                                              const RunState& state) const {
  const auto& options = flow.options();
  FileContents file;
  file.step = flow.step_number();
  const auto extents = flow.transform().spectral_extents();
  file.coordinates = {wave_numbers("kx", extents[2], options.lengths[2], true),
                      wave_numbers("ky", extents[1], options.lengths[1], false),
                      wave_numbers("kz", extents[0], options.lengths[0], false)};
  if (!state.forcing.empty()) {
    file.coordinates.push_back({"forcing_state", state.forcing, {}});
  }
  const auto add = [&](const std::string& name, std::span<std::complex<Real>> modes) {
    const Real* parts = reinterpret_cast<const Real*>(modes.data());
    for (int part = 0; part < 2; ++part) {
      Variable variable;
      variable.name = name + (part == 0 ? "_re" : "_im");
      variable.type = std::is_same_v<Real, float> ? ItemType::float32 : ItemType::float64;
      variable.dims = {"kz", "ky", "kx"};
      variable.layout = &layout_;
      variable.memory = memory_;
      variable.data = parts + part;
      file.variables.push_back(std::move(variable));
    }
  };
  for (int c = 0; c < 3; ++c) {
    add(component_names[static_cast<std::size_t>(c)], flow.velocity(c));
  }
  for (int s = 0; s < static_cast<int>(options.scalars.size()); ++s) {
    add(fmt::format("scalar_{}", s), flow.scalar(s));
  }
  file.attributes = attributes_of(flow, state);
  return file;
}

template <class Real>
void CheckpointWriter<Real>::write(NavierStokes<Real>& flow, const RunState& state) {
  if (!files_.has(flow.step_number())) files_.write(contents(flow, state));
}

template class CheckpointWriter<float>;
template class CheckpointWriter<double>;

}  // namespace tailrace::turbulence
