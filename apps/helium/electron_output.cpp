// SPDX-License-Identifier: BSD-3-Clause
#include "electron_output.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "checkpoint.hpp"
#include "electron_states.hpp"

namespace tailrace::helium {

ElectronOutput::ElectronOutput(const Hamiltonian& hamiltonian, const Case& values,
                               const std::string& folder, Session& session, const Wave& ground)
    : hamiltonian_(hamiltonian),
      prefix_(fmt::format("{}/{}/{}", folder, folder_name, values.about.name)),
      every_(values.electrons.every) {
  if (every_ == 0) return;
  app::make_folders(hamiltonian.blocks().comm(), {fmt::format("{}/{}", folder, folder_name)});
  auto options = app::checkpoint_options(values.output, values.source);
  options.variables = false;
  options.products = {
      {.name = "electrons", .stages = {"results name=electrons"}, .path = "{path}.h5"}};
  stream_.emplace(session.open("electrons", options));
  Wave whole = ground;
  whole.resize(2 * ground.size());
  hand_over(whole, 0, {{"reference", std::int64_t{1}}});
}

void ElectronOutput::hand_over(const Wave& wave, std::int64_t step, Attributes attributes) {
  FileContents file;
  file.step = step;
  file.variables = wave_variables(hamiltonian_.blocks(), wave);
  file.attributes = std::move(attributes);
  stream_->write(fmt::format("{}_{:06d}.h5", prefix_, step), file);
}

void ElectronOutput::write(const Wave& wave, std::int64_t step, double time, bool always) {
  if (!stream_ || step == last_step_ || (!always && step % every_ != 0)) return;
  last_step_ = step;
  hand_over(wave, step, {{"step", step}, {"time", time}});
}

void ElectronOutput::progress() {
  if (stream_) stream_->progress();
}

void ElectronOutput::finish() {
  if (stream_) stream_->finish();
}

OutputStatistics ElectronOutput::statistics() const {
  return stream_ ? stream_->statistics() : OutputStatistics{};
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
