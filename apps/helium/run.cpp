// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "angular.hpp"
#include "case.hpp"
#include "checkpoint.hpp"
#include "common/case_text.hpp"
#include "common/checkpoint_series.hpp"
#include "common/memory_need.hpp"
#include "common/region.hpp"
#include "common/simulation.hpp"
#include "common/table_file.hpp"
#include "density_output.hpp"
#include "electron_output.hpp"
#include "flush_tiny.hpp"
#include "krylov.hpp"
#include "observables.hpp"
#include "summary.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::helium {

using app::Region, app::RunFolder, app::RunRequest, app::RunSetting, app::StopSignal;

namespace {

constexpr const char* header =
    "step,time,field,vector_potential,norm,ground,energy,dipole,single_outside,double_outside,"
    "edge_l,edge_total_l,edge_r";

/// All that a run holds, in the order of making.
class Run final : public app::Simulation {
 public:
  Run(const Comm& comm, const Case& values, const RunSetting& setting);

  void advance() override;
  void conclude() override;

 private:
  void set_state(RunFolder& results);
  void make_absorber();
  bool ended() const;
  void take_step();
  void absorb();
  void take_observables();
  void write_fields(bool always);
  void write_checkpoint();
  double time() const { return static_cast<double>(state_.step) * steps_.length; }

  const Case& case_;
  Pulse pulse_;
  Coupling coupling_;
  Steps steps_;
  double start_s_ = now_s();
  Hamiltonian hamiltonian_;
  GroundState ground_;
  double ground_s_;
  Observer observer_;
  Propagator propagator_;
  Wave wave_;
  RunState state_;
  bool restarted_ = false;
  std::vector<double> absorber_;  ///< factor of a step at each radius; empty: none
  DensityOutput density_;
  ElectronOutput electrons_;
  app::CheckpointSeries checkpoints_;
  std::optional<app::TableFile> table_;  ///< of rank 0
  Observables first_, now_;              ///< of the ground state, of the present
  std::int64_t observed_step_ = -1;
  double worst_error_ = 0;
  int most_order_ = 0;
};

Run::Run(const Comm& comm, const Case& values, const RunSetting& setting)
    : Simulation(comm, setting, steps_of(values).end(), values.time.max_steps),
      case_(values),
      pulse_(pulse_of(values)),
      coupling_(app::value_of(gauges, values.pulse.gauge)),
      steps_(steps_of(values)),
      hamiltonian_(comm, atom_options(values)),
      ground_(find_ground_state(hamiltonian_, values.ground.tolerance,
                                static_cast<int>(values.ground.applications))),
      ground_s_(now_s() - start_s_),
      observer_(hamiltonian_, ground_.wave, values.observables.radius),
      propagator_(hamiltonian_, {static_cast<int>(values.time.order), values.time.tolerance}),
      density_(hamiltonian_, values, folder_, setting.session),
      electrons_(hamiltonian_, values, folder_, setting.session, ground_.wave),
      checkpoints_(setting.session, app::checkpoint_options(values.output, values.source),
                   folder_) {
  wave_ = ground_.wave;
  wave_.resize(2 * ground_.wave.size());
  first_ = observer_.measure(wave_);
  set_state(setting.results);
  make_absorber();
  run_agreed(comm.raw(), [&] {
    if (comm.rank() != 0) return;
    table_.emplace(folder_ + "/observables.csv", header, restarted_ ? state_.step : -1);
  });
}

/// The checkpoint, if there is one, in place of the ground state.
void Run::set_state(RunFolder& results) {
  const std::string& path = results.checkpoint();
  if (path.empty()) return;
  state_ = read_checkpoint(hamiltonian_, case_, path, wave_);
  propagator_.set_norm(state_.norm_squared);
  results.go_on_from(state_.step);
  restarted_ = true;
  log_.info(fmt::format("restart from {} at step {}, time {:.6g}", path, state_.step, time()));
}

/// cos^(2 dt) from `grid.absorber` to the end of the box.
void Run::make_absorber() {
  const double from = case_.grid.absorber;
  if (from <= 0) return;
  const auto& radial = hamiltonian_.radial();
  const double end = radial.r(radial.num_points());
  for (std::ptrdiff_t i = 0; i < radial.num_points(); ++i) {
    const double x = std::max(0.0, (radial.r(i) - from) / (end - from));
    absorber_.push_back(std::pow(std::cos(M_PI / 2 * x), 2 * steps_.length));
  }
}

bool Run::ended() const {
  if (signal_ != 0 || state_.step >= steps_.count) return true;
  return case_.time.max_steps > 0 && state_.step >= case_.time.max_steps;
}

void Run::absorb() {
  if (absorber_.empty()) return;
  const auto& blocks = hamiltonian_.blocks();
  for (const auto& block : blocks.blocks()) {
    for (int part = 0; part < 2; ++part) {
      double* f = wave_.data() + part * blocks.packed_size() + block.packed;
      for (int c = 0; c < blocks.num_channels(); ++c) {
        for (std::ptrdiff_t i = 0; i < block.rows.count; ++i) {
          const double* factor = absorber_.data() + block.columns.start;
          const double here = absorber_[static_cast<std::size_t>(block.rows.start + i)];
          for (auto j = block.first_column(i); j < block.columns.count; ++j) {
            *f++ *= here * factor[j];
          }
        }
      }
    }
  }
  propagator_.set_norm(-1);
}

void Run::take_step() {
  const Region region("step");
  stop_.start(!std::isfinite(state_.norm_squared));
  output_cost_.begin_step({density_.files().statistics(), electrons_.files().statistics()},
                          {checkpoints_.statistics()});
  const double start = now_s();
  const double middle = time() + steps_.length / 2;
  const double field = coupling_ == Coupling::length
                           ? pulse_.field_of_step(middle, steps_.length)
                           : pulse_.potential_of_step(middle, steps_.length);
  {
    const Span span(&trace_, Activity::compute, "step");  // with the messages between
    state_.norm_squared = propagator_.step(wave_, steps_.length, coupling_, field);
  }
  absorb();
  ++state_.step;
  if (!absorber_.empty()) state_.norm_squared = -1;  // measured when it is wanted
  note_step(now_s() - start);
  output_cost_.end_step(propagator_.last_order());
  worst_error_ = std::max(worst_error_, propagator_.last_error());
  most_order_ = std::max(most_order_, propagator_.last_order());
  signal_ = stop_.finish();
  if (signal_ == StopSignal::trouble) {
    throw Error(Errc::internal, fmt::format("the wave is not finite at step {}", state_.step));
  }
  output_cost_.output([&] {
    density_.files().progress();
    electrons_.files().progress();
  });
  checkpoints_.progress();
}

void Run::take_observables() {
  if (observed_step_ == state_.step) return;
  observed_step_ = state_.step;
  const Region region("observables");
  const Span span(&trace_, Activity::compute, "observables");
  now_ = observer_.measure(wave_);
  const double field = pulse_.electric_field(time()), potential = pulse_.vector_potential(time());
  run_agreed(comm_.raw(), [&] {
    if (comm_.rank() != 0 || state_.step <= table_->last_step()) return;
    table_->append(
        state_.step,
        fmt::format("{},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},"
                    "{:.17g},{:.17g},{:.17g}\n",
                    state_.step, time(), field, potential, now_.norm, now_.ground, now_.energy,
                    now_.dipole, now_.single_outside, now_.double_outside, now_.edge_l,
                    now_.edge_total_l, now_.edge_r));
  });
  if (!progress_.shows_table()) return;
  progress_.table(
      "    step       time      field       norm     ground     energy     dipole  order   s/step",
      fmt::format("{:8d} {:10.5g} {:10.3g} {:10.8f} {:10.8f} {:10.6f} {:10.3g} {:6d} {:8.2g}",
                  state_.step, time(), field, now_.norm, now_.ground, now_.energy, now_.dipole,
                  propagator_.last_order(), mean_step_s())
          .c_str());
}

void Run::write_fields(bool always) {
  output_cost_.output([&] {
    density_.write(observer_, wave_, state_.step, time(), always);
    electrons_.write(wave_, state_.step, time(), always);
  });
}

void Run::write_checkpoint() {
  if (checkpoints_.has(state_.step)) return;
  const Region region("checkpoint");
  const Span span(&trace_, Activity::write, "checkpoint");
  checkpoints_.write(checkpoint_contents(hamiltonian_, case_, wave_, state_));
}

void Run::advance() {
  const auto said = fmt::format(
      "ground state {:.10f} in {} applications of H, {:.2f} s; {} partial waves of {} x {} points, "
      "{} steps of {:.5g}; kernel {}; busiest / mean {:.3f}",
      ground_.energy, ground_.applications, ground_s_, hamiltonian_.channels().size(),
      case_.grid.points, case_.grid.points, steps_.count, steps_.length, hamiltonian_.kernel(),
      hamiltonian_.blocks().imbalance());
  progress_.say(said.c_str());
  const double start = now_s();
  take_observables();
  write_fields(false);
  while (!ended()) {
    take_step();
    const bool last = ended();
    const bool line = last || state_.step % case_.observables.every == 0;
    if (line) output_cost_.other([&] { take_observables(); });
    progress_.step({state_.step, time(), steps_.length, mean_step_s(),
                    told_hidden_s(case_.output, density_.files().statistics().hidden_s() +
                                                    checkpoints_.statistics().hidden_s())},
                   now_.energy, line);
    write_fields(last && signal_ == 0);
    const auto every = case_.checkpoint.every;
    if (every > 0 && state_.step % every == 0) output_cost_.other([&] { write_checkpoint(); });
  }
  if (signal_ != 0 || case_.checkpoint.at_end) write_checkpoint();
  output_cost_.output([&] {
    density_.files().finish();
    electrons_.files().finish();
  });
  checkpoints_.finish();
  wall_s_ = now_s() - start;
}

void Run::conclude() {
  Summary summary{case_, hamiltonian_, ground_, now_, pulse_, first_};
  summary.ionisation = observer_.ionisation(wave_);
  summary.ground_s = ground_s_;
  summary.steps = state_.step;
  summary.time = time();
  summary.whole = state_.step >= steps_.count;
  summary.wall_s = wall_s_;
  summary.step_s = step_s_;
  summary.applications = propagator_.applications();
  summary.most_order = most_order_;
  summary.worst_error = worst_error_;
  std::tie(summary.output_mode, summary.servers) = app::kind_of_output(case_.output, session_);
  summary.density = density_.files().statistics();
  summary.electrons = electrons_.files().statistics();
  summary.checkpoints = checkpoints_.statistics();
  summary.output_cost = output_cost_.cost({summary.density, summary.electrons}, wall_s_);
  summary.last_checkpoint = checkpoints_.last();
  summary.stopped_by = stopped_by(summary.steps, "end");
  write_summary(comm_, folder_, summary);
  for (const auto& line : lines_of(summary)) progress_.say(line.c_str());
  say_end(summary.steps, fmt::format("{:.6g}", summary.time), summary.last_checkpoint);
}

/// Bytes that a rank's share of a run holds, about: in functions of one part, the Krylov space of
/// a step, the frames of x and H x, the wave, and the ground state. Local.
double needed_bytes(const Case& values, std::size_t num_channels, int num_ranks) {
  const auto n = static_cast<double>(values.grid.points);
  const double functions = 2 * static_cast<double>(values.time.order) + 7;
  const double items = static_cast<double>(num_channels) * n * (n + 1) / 2;
  return functions * items * sizeof(double) / num_ranks;
}

void require_memory(const Comm& comm, const Case& values) {
  const auto num_channels =
      make_channels(static_cast<int>(values.atom.lmax), static_cast<int>(values.atom.total_lmax))
          .size();
  app::require_memory(
      comm.raw(), needed_bytes(values, num_channels, comm.num_ranks()),
      fmt::format("{}: {} partial waves of {} x {} points, time.order = {},", values.source,
                  num_channels, values.grid.points, values.grid.points, values.time.order),
      "use fewer points, a smaller atom.lmax or time.order, or more nodes");
}

}  // namespace

int run_case(const Comm& comm, const RunRequest& request) {
  const auto values = app::read_case<Case>(comm.raw(), request.case_path, request.settings);
  const auto check = [&](const Comm& ranks) { require_memory(ranks, values); };
  const auto make = [&](const Comm& ranks, const RunSetting& setting) {
    const auto warning = warning_of(values);
    if (ranks.rank() == 0 && !warning.empty()) setting.log.warning(warning);
    return std::make_unique<Run>(ranks, values, setting);
  };
  auto about = app::case_of_run(program_name, values, {"observables.csv"});
  about.functions = electron_functions(values);
  about.folders = {ElectronOutput::folder_name};
  return app::run_simulation(comm, request, about, check, make);
}

StageFunctions functions_of(const RunRequest& request) {
  const auto text = app::read_case_text(request.case_path);
  return electron_functions(app::parse_case<Case>(text, request.case_path, request.settings));
}

}  // namespace tailrace::helium
