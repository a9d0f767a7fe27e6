// SPDX-License-Identifier: BSD-3-Clause
#include "electron_output.hpp"

#include <utility>

#include <fmt/format.h>

#include "checkpoint.hpp"
#include "electron_states.hpp"

namespace tailrace::helium {

namespace {

Output open_stream(Session& session, const Case& values, const std::string& folder) {
  app::make_folders(session.compute(), {folder});
  auto options = app::checkpoint_options(values.output, values.source);
  options.variables = false;
  options.products = {
      {.name = "electrons", .stages = {"results name=electrons"}, .path = "{path}.h5"}};
  return session.open("electrons", options);
}

}  // namespace

ElectronOutput::ElectronOutput(const Hamiltonian& hamiltonian, const Case& values,
                               const std::string& folder, Session& session, const Wave& ground)
    : hamiltonian_(hamiltonian),
      files_(
          fmt::format("{}/{}/{}", folder, folder_name, values.about.name), values.electrons.every,
          [&] { return open_stream(session, values, fmt::format("{}/{}", folder, folder_name)); }) {
  if (!files_.active()) return;
  Wave whole = ground;
  whole.resize(2 * ground.size());
  hand_over(whole, 0, {{"reference", std::int64_t{1}}});
  files_.go_on_from(-1);  // step 0 comes yet
}

void ElectronOutput::hand_over(const Wave& wave, std::int64_t step, Attributes attributes) {
  FileContents file;
  file.step = step;
  file.variables = wave_variables(hamiltonian_.blocks(), wave);
  file.attributes = std::move(attributes);
  files_.write(file);
}

void ElectronOutput::write(const Wave& wave, std::int64_t step, double time, bool always) {
  if (files_.due(step, always)) hand_over(wave, step, {{"step", step}, {"time", time}});
}

StageFunctions electron_functions(const Case& values) {
  const auto& electrons = values.electrons;
  StageFunctions functions;
  if (electrons.every == 0) return functions;
  functions.results["electrons"] =
      electron_states({atom_options(values), values.observables.radius,
                       static_cast<int>(electrons.energies), electrons.largest_energy});
  return functions;
}

}  // namespace tailrace::helium
