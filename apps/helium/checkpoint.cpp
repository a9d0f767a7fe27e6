// SPDX-License-Identifier: BSD-3-Clause
#include "checkpoint.hpp"

#include <array>

#include <fmt/format.h>

#include "common/checkpoint_series.hpp"
#include "tailrace/error.hpp"
#include "tailrace/input.hpp"

namespace tailrace::helium {

namespace {

constexpr const char* kind = "tailrace helium checkpoint";
constexpr std::array parts{"f_re", "f_im"};

std::vector<double> numbers_of(const std::vector<Channel>& channels, int Channel::*member) {
  std::vector<double> numbers;
  for (const auto& channel : channels) numbers.push_back(channel.*member);
  return numbers;
}

/// What must be the same in a run and in the checkpoint that it goes on from.
std::vector<std::pair<const char*, double>> identity_of(const Case& values) {
  return {{"grid.points", static_cast<double>(values.grid.points)},
          {"grid.step", values.grid.step},
          {"atom.charge", values.atom.charge},
          {"atom.lmax", static_cast<double>(values.atom.lmax)},
          {"atom.total_lmax", static_cast<double>(values.atom.total_lmax)},
          {"time.step", steps_of(values).length}};
}

void require_same(const Input& input, const std::string& path, const Case& values) {
  for (const auto& [name, value] : identity_of(values)) {
    const double there = input.attribute_double(name);
    if (there == value) continue;
    throw Error(Errc::invalid_input,
                fmt::format("{} is of a run with {} = {}, the case has {}; they must be the same",
                            path, name, there, value));
  }
  for (const auto& [name, value] : {std::pair("atom.symmetry", values.atom.symmetry),
                                    std::pair("pulse.gauge", values.pulse.gauge)}) {
    const auto there = input.attribute_string(name);
    if (there == value) continue;
    throw Error(
        Errc::invalid_input,
        fmt::format("{} is of a run with {} = \"{}\", the case has \"{}\"; they must be the same",
                    path, name, there, value));
  }
}

}  // namespace

std::vector<Variable> wave_variables(const Blocks& blocks, const Wave& wave) {
  std::vector<Variable> variables;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    variables.emplace_back(parts[part], ItemType::float64,
                           std::vector<std::string>{"channel", "packed"}, &blocks.file_layout(),
                           blocks.file_memory(),
                           wave.data() + static_cast<std::ptrdiff_t>(part) * blocks.packed_size());
  }
  return variables;
}

FileContents checkpoint_contents(const Hamiltonian& hamiltonian, const Case& values,
                                 const Wave& wave, const RunState& state) {
  const auto& channels = hamiltonian.channels();
  FileContents file;
  file.step = state.step;
  file.coordinates = {{"channel_L", numbers_of(channels, &Channel::big_l), {}},
                      {"channel_l1", numbers_of(channels, &Channel::l1), {}},
                      {"channel_l2", numbers_of(channels, &Channel::l2), {}}};
  file.variables = wave_variables(hamiltonian.blocks(), wave);
  file.attributes = {
      {"kind", std::string(kind)},
      {"step", state.step},
      {"time", static_cast<double>(state.step) * steps_of(values).length},
      {"norm_squared", state.norm_squared},
      {"atom.symmetry", values.atom.symmetry},
      {"pulse.gauge", values.pulse.gauge},
      {"packed", std::string("i n - i (i - 1) / 2 + j - i for i <= j < n; r = (i + 1) step; the "
                             "other half is that of the channel with l1 and l2 exchanged")}};
  for (const auto& [name, value] : identity_of(values)) file.attributes.emplace_back(name, value);
  return file;
}

RunState read_checkpoint(const Hamiltonian& hamiltonian, const Case& values,
                         const std::string& path, Wave& wave) {
  const auto& blocks = hamiltonian.blocks();
  const Input input(blocks.comm(), path);
  if (!input.has_attribute("kind") || input.attribute_string("kind") != kind) {
    throw Error(
        Errc::invalid_input,
        fmt::format("{} is not a checkpoint of this program; give a checkpoint_NNNNNN.h5", path));
  }
  app::require_whole(blocks.comm(), path);
  require_same(input, path, values);
  wave.assign(static_cast<std::size_t>(2 * blocks.packed_size()), 0.0);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    input.read(parts[part], ItemType::float64, blocks.file_layout(), blocks.file_memory(),
               wave.data() + static_cast<std::ptrdiff_t>(part) * blocks.packed_size());
  }
  return {input.attribute_int("step"), input.attribute_double("norm_squared")};
}

}  // namespace tailrace::helium
