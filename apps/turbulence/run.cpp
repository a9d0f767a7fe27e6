// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "checkpoint.hpp"
#include "common/case_text.hpp"
#include "common/region.hpp"
#include "common/simulation.hpp"
#include "field_output.hpp"
#include "forcing.hpp"
#include "grid_check.hpp"
#include "initial.hpp"
#include "memory_need.hpp"
#include "statistics_file.hpp"
#include "summary.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::turbulence {

using app::Region, app::RunFolder, app::RunRequest, app::RunSetting, app::StopSignal;

namespace {

/// All that a run holds, in the order of making.
template <class Real>
class Run final : public app::Simulation {
 public:
  Run(const Comm& comm, const Case& values, const RunSetting& setting);

  void advance() override;
  void conclude() override;

 private:
  NavierStokesOptions options_with_trace(const Comm& comm);
  std::int64_t set_state(RunFolder& results);
  void restore_forcing();
  bool ended();
  double next_step();
  void take_step(double dt);
  void take_statistics(double dt);
  void show(const Statistics& now);
  [[noreturn]] void refuse_blown_up() const;
  void write_checkpoint();
  void finish_output(int signal);
  bool is_beyond_caches() const;

  const Case& case_;
  NavierStokes<Real> flow_;
  RunState restored_;
  std::int64_t first_step_;  ///< of this run; -1 if it is not a restart
  Forcing<Real> forcing_;
  StatisticsKernel<Real> kernel_;
  StatisticsFiles files_;
  FieldOutput<Real> fields_;
  CheckpointWriter<Real> checkpoints_;
  double courant_rate_ = 0, energy_ = 0;
  std::int64_t statistics_step_ = -1;
};

template <class Real>
Run<Real>::Run(const Comm& comm, const Case& values, const RunSetting& setting)
    : Simulation(comm, setting, values.time.end, values.time.max_steps),
      case_(values),
      flow_(comm, options_with_trace(comm)),
      first_step_(set_state(setting.results)),
      forcing_(comm, values, flow_),
      kernel_(comm, flow_),
      files_(comm, folder_, static_cast<int>(values.scalars.schmidt.size()), first_step_),
      fields_(setting.session, values, flow_, folder_),
      checkpoints_(setting.session, values, flow_, folder_) {
  if (first_step_ >= 0) {
    fields_.find_earlier(first_step_);
    restore_forcing();
  }
  step_s_.reserve(4096);
}

template <class Real>
NavierStokesOptions Run<Real>::options_with_trace(const Comm& comm) {
  auto options = solver_options(case_, comm.num_ranks());
  options.fft.trace = &trace_;
  return options;
}

/// Initial fields, or the checkpoint; its step, or -1.
template <class Real>
std::int64_t Run<Real>::set_state(RunFolder& results) {
  const std::string& path = results.checkpoint();
  if (path.empty()) {
    set_initial(comm_, case_, flow_);
    return -1;
  }
  restored_ = read_checkpoint(comm_, case_, path, flow_);
  results.go_on_from(flow_.step_number());
  log_.info(fmt::format("restart from {} at step {}, time {:.6g}", path, flow_.step_number(),
                        flow_.time()));
  return flow_.step_number();
}

/// Another kind of forcing, or other forced modes, start afresh.
template <class Real>
void Run<Real>::restore_forcing() {
  const auto& type = case_.forcing.type;
  if (restored_.forcing_type == type && forcing_.set_state(restored_.forcing)) return;
  if (type == "none") return;
  log_.info(fmt::format(
      "the force starts from its initial state: the checkpoint is of a run with {} forcing{}",
      restored_.forcing_type, restored_.forcing_type == type ? " of other modes" : ""));
}

template <class Real>
bool Run<Real>::ended() {
  const auto& time = case_.time;
  if (signal_ != 0) return true;
  if (time.max_steps > 0 && flow_.step_number() >= time.max_steps) return true;
  return flow_.time() >= time.end * (1 - 1e-12);
}

/// The next time step; the last one ends at the end.
template <class Real>
double Run<Real>::next_step() {
  double dt = case_.time.step;
  if (case_.time.courant > 0) {
    // A flow at rest has no Courant limit.
    dt = courant_rate_ > 0 ? case_.time.courant / courant_rate_ : case_.time.end / 100;
  }
  const double left = case_.time.end - flow_.time();
  // A fixed step that fits but for round-off stays as it is, so that runs in parts agree.
  return left < dt * (1 - 1e-9) ? left : dt;
}

template <class Real>
void Run<Real>::take_step(double dt) {
  const Region region("step");
  fields_.before_step(flow_);
  stop_.start(!flow_.was_finite());  // of the step before: the answer takes no time of its own
  output_cost_.begin_step({fields_.statistics()}, {checkpoints_.statistics()});
  const double start = now_s();
  forcing_.before_step(flow_, dt);
  flow_.step(dt);
  forcing_.after_step(flow_, dt);
  note_step(now_s() - start);
  output_cost_.end_step(0, fields_.has_caught());
  signal_ = stop_.finish();
  if (signal_ == StopSignal::trouble) refuse_blown_up();
  output_cost_.output([&] {
    // Nothing that is not finite goes to a file.
    if (fields_.has_caught() && !flow_.was_finite_everywhere()) refuse_blown_up();
    fields_.after_step(flow_);
  });
  checkpoints_.progress();
  if (case_.time.courant > 0) courant_rate_ = flow_.courant_rate();
}

template <class Real>
void Run<Real>::take_statistics(double dt) {
  if (flow_.step_number() == statistics_step_) return;
  statistics_step_ = flow_.step_number();
  const Region region("statistics");
  const Span span(&trace_, Activity::compute, "statistics");
  if (case_.time.courant <= 0 && dt > 0) courant_rate_ = flow_.courant_rate();
  Statistics& now = kernel_.measure(flow_);
  now.dt = dt;
  now.courant = dt * courant_rate_;
  now.power = forcing_.power();
  files_.append(now);
  show(now);
  double sum = now.energy;
  for (const double variance : now.scalar_variance) sum += variance;
  if (!std::isfinite(sum)) refuse_blown_up();
}

/// A line for people.
template <class Real>
void Run<Real>::show(const Statistics& now) {
  energy_ = now.energy;
  if (!progress_.shows_table()) return;
  const auto line = fmt::format(
      "{:8d} {:11.5g} {:11.6g} {:11.5g} {:10.5g} {:10.4g} {:8.3g} {:9.3g}", now.step, now.time,
      now.energy, now.dissipation, now.enstrophy, now.re_lambda, now.courant, mean_step_s());
  progress_.table(
      "    step        time      energy dissipation  enstrophy  Re_lambda  Courant    s/step",
      line.c_str());
}

template <class Real>
void Run<Real>::refuse_blown_up() const {
  throw Error(Errc::invalid_input,
              fmt::format("the flow blew up: it is not finite at step {}, time {:.6g}; use a "
                          "smaller time.step, or time.courant below 1",
                          flow_.step_number(), flow_.time()));
}

template <class Real>
void Run<Real>::write_checkpoint() {
  const Region region("checkpoint");
  const Span span(&trace_, Activity::write, "checkpoint");
  if (!flow_.is_finite()) refuse_blown_up();
  const auto state = forcing_.state();
  checkpoints_.write(flow_, {courant_rate_, case_.forcing.type, {state.begin(), state.end()}});
}

template <class Real>
void Run<Real>::finish_output(int signal) {
  const Region region("last output");
  if (signal != 0 || case_.checkpoint.at_end) write_checkpoint();
  output_cost_.output([&] {
    fields_.write_last(flow_, signal == 0);
    fields_.finish();
  });
  checkpoints_.finish();
}

template <class Real>
void Run<Real>::advance() {
  if (comm_.num_ranks() > 1) {
    const auto& transform = flow_.transform();
    const auto text =
        fmt::format("ranks {}; exchange {}", transform.grid_why(), transform.method());
    progress_.say(text.c_str());
  }
  const double start = now_s();
  courant_rate_ =
      restored_.courant_rate > 0 ? restored_.courant_rate : flow_.measure_courant_rate();
  double dt = 0;
  take_statistics(dt);
  while (!ended()) {
    dt = next_step();
    take_step(dt);
    const auto step = flow_.step_number();
    const bool last = ended();
    const bool line = last || step % case_.statistics.every == 0;
    if (line) output_cost_.other([&] { take_statistics(dt); });
    progress_.step({step, flow_.time(), dt, mean_step_s(),
                    told_hidden_s(case_.output, fields_.statistics().hidden_s())},
                   energy_, line);
    const auto every = case_.checkpoint.every;
    if (every > 0 && step % every == 0) output_cost_.other([&] { write_checkpoint(); });
  }
  finish_output(signal_);
  wall_s_ = now_s() - start;
}

/// The same on all ranks. What lies in caches costs less than a model of memory says.
template <class Real>
bool Run<Real>::is_beyond_caches() const {
  constexpr std::ptrdiff_t least_bytes = 8 << 20;
  const auto& n = flow_.options().extents;
  const auto bytes = n[0] * n[1] * n[2] * static_cast<std::ptrdiff_t>(sizeof(Real));
  return bytes / comm_.num_ranks() >= least_bytes;
}

template <class Real>
void Run<Real>::conclude() {
  Summary summary;
  summary.case_name = case_.about.name;
  summary.case_file = case_.source;
  summary.precision = case_.grid.precision;
  summary.scheme = case_.time.scheme;
  summary.dealias = case_.dealias.method;
  summary.kernel = flow_.transform().kernel();
  summary.method = flow_.transform().method();
  summary.extents = flow_.options().extents;
  summary.grid = flow_.transform().problem().grid;
  summary.grid_why = flow_.transform().grid_why();
  summary.threads = static_cast<int>(case_.fft.threads);
  summary.steps = flow_.step_number();
  summary.time = flow_.time();
  summary.wall_s = wall_s_;
  summary.step_s = step_s_;
  std::tie(summary.output_mode, summary.servers) = app::kind_of_output(case_.output, session_);
  summary.output = fields_.statistics();
  summary.output_cost = output_cost_.cost({summary.output}, wall_s_);
  summary.memory_bytes = flow_.memory_bytes() + kernel_.memory_bytes() + fields_.memory_bytes();
  summary.field_bytes =
      flow_.transform().physical_box().num_items() * static_cast<std::ptrdiff_t>(sizeof(Real));
  if (case_.trace.spans > 0 && signal_ == 0 && is_beyond_caches()) {
    summary.costs = flow_.measure_costs();
  }
  summary.stopped_by = stopped_by(summary.steps, "end");
  summary.last_checkpoint = checkpoints_.last();
  write_summary(comm_, folder_, summary);
  say_end(summary.steps, fmt::format("{:.6g}", summary.time), summary.last_checkpoint);
}

}  // namespace

int run_case(const Comm& comm, const RunRequest& request) {
  const auto values = app::read_case<Case>(comm.raw(), request.case_path, request.settings);
  const auto check = [&](const Comm& ranks) {
    const auto options = solver_options(values, ranks.num_ranks());
    require_flow_on_grid(values, options);
    require_memory(ranks.raw(), values, options);
  };
  const auto make = [&](const Comm& ranks,
                        const RunSetting& setting) -> std::unique_ptr<app::Simulation> {
    if (values.grid.precision == "single") {
      return std::make_unique<Run<float>>(ranks, values, setting);
    }
    return std::make_unique<Run<double>>(ranks, values, setting);
  };
  return app::run_simulation(
      comm, request,
      app::case_of_run(program_name, values, {"statistics.csv", "spectrum.csv", "fields.xdmf"}),
      check, make);
}

}  // namespace tailrace::turbulence
