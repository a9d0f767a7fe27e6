// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "balance.hpp"
#include "breakthrough.hpp"
#include "case.hpp"
#include "common/case_text.hpp"
#include "common/memory_need.hpp"
#include "common/region.hpp"
#include "common/simulation.hpp"
#include "common/summary_json.hpp"
#include "flow_solver.hpp"
#include "pflotran_files.hpp"
#include "reactive.hpp"
#include "run_summary.hpp"
#include "state_files.hpp"
#include "tailrace/trace.hpp"

namespace tailrace::groundwater {

using app::Region, app::RunFolder, app::RunRequest, app::RunSetting;

namespace {

/// All that a run holds, in the order of making.
class Run final : public app::Simulation {
 public:
  Run(const Comm& comm, const Case& values, const RunSetting& setting);
  void advance() override;
  void conclude() override;

 private:
  std::int64_t set_state(RunFolder& results);
  std::vector<NamedField> state() const;
  double next_step() const;
  bool ended() const;
  StepOutcome try_step(double dt);
  void take_step();
  void find_steady();
  void require_steady();
  std::vector<FlowTerm> most_ponding() const;
  void leave_step();
  void after_step(const StepOutcome& outcome);
  void write_fields(bool last);
  void write_state();
  std::string keep_state();
  [[noreturn]] void give_up(const StepOutcome& outcome, double dt);

  ReductionTally reductions_;  ///< of all that follows
  Grid grid_;
  CellData cells_;
  Case case_;
  Ground ground_;
  FlowEquations equations_;
  FlowSolver solver_;
  std::vector<double> h_;                  ///< pressure heads of own cells [m]
  std::vector<double> old_water_, water_;  ///< of own cells [m3]
  std::optional<ReactiveTransport> species_;
  RunClock clock_;
  std::int64_t first_step_;  ///< of this run; -1 if it is not a restart
  BalanceFile balance_;
  std::optional<SpeciesFile> species_file_;
  std::optional<BreakthroughFile> breakthrough_;
  app::FileSeries fields_;           ///< files of the layout "cf", products
  app::FileSeries pflotran_fields_;  ///< files of the layout "pflotran"
  app::CheckpointSeries checkpoints_;
  std::vector<double> ponding_;  ///< deepest so far at own cells, by boundary [m]
  bool steady_found_ = false;
  int iterations_ = 0;  ///< of Newton's method in the last step
};

/// Files of one of the layouts. Products are made of what the layout "cf" holds, whichever the
/// files have.
app::FileSeries field_series(const Case& values, const RunSetting& setting, const char* layout) {
  Case asked = values;
  auto& output = asked.output;
  const bool chosen = output.layout == layout;
  output.whole_fields = output.whole_fields && chosen;
  if (layout != std::string("cf")) {
    output.products.clear();
    output.series = "";  // each step has names of its own
  }
  if (!output.whole_fields && output.products.empty()) output.every = 0;
  return app::field_series(setting.session, chosen ? "fields" : "products", asked, setting.folder);
}

/// Of two outputs of one run, on this rank.
OutputStatistics together(const OutputStatistics& a, const OutputStatistics& b) {
  const auto& slower = a.slowest_s >= b.slowest_s ? a : b;
  return {.steps = a.steps + b.steps,
          .complete = a.complete + b.complete,
          .dropped = a.dropped + b.dropped,
          .thinned = a.thinned + b.thinned,
          .lowered = a.lowered + b.lowered,
          .spilled = a.spilled + b.spilled,
          .failed = a.failed + b.failed,
          .bytes = a.bytes + b.bytes,
          .run_s = std::max(a.run_s, b.run_s),
          .call_s = a.call_s + b.call_s,
          .agree_s = a.agree_s + b.agree_s,
          .copy_s = a.copy_s + b.copy_s,
          .room_s = a.room_s + b.room_s,
          .end_s = a.end_s + b.end_s,
          .write_s = a.write_s + b.write_s,
          .writer_cpu_s = a.writer_cpu_s + b.writer_cpu_s,
          .written_bytes = a.written_bytes + b.written_bytes,
          .writes = a.writes + b.writes,
          .opens = a.opens + b.opens,
          .slowest_s = slower.slowest_s,
          .slowest_step = slower.slowest_step};
}

Run::Run(const Comm& comm, const Case& values, const RunSetting& setting)
    : Simulation(comm, setting, values.time.end, values.time.max_steps),
      grid_(comm, axes_of(values), rank_grid(values, comm.num_ranks())),
      cells_(read_cells(values, grid_)),
      case_(with_regions(values, cells_)),
      ground_(make_ground(case_, grid_, cells_)),
      equations_(case_, grid_, ground_),
      solver_(case_, equations_),
      h_(static_cast<std::size_t>(grid_.num_own())),
      old_water_(h_.size()),
      water_(h_.size()),
      first_step_(set_state(setting.results)),
      balance_(comm, folder_, equations_.terms(), first_step_),
      fields_(field_series(case_, setting, "cf")),
      pflotran_fields_(field_series(case_, setting, "pflotran")),
      checkpoints_(setting.session, app::checkpoint_options(values.output, values.source), folder_),
      ponding_(case_.flow.boundaries.items.size()) {
  if (!species_) return;
  species_file_.emplace(comm, folder_, species_->chemistry(), first_step_);
  if (!case_.transport.observe.empty()) {
    breakthrough_.emplace(case_, grid_, species_->chemistry(), folder_, first_step_);
  }
  equations_.contents(h_, water_);
  species_file_->set_amounts(species_->amounts(water_));
}

std::vector<NamedField> Run::state() const {
  std::vector<NamedField> fields{{"pressure_head", "pressure head", "m", h_}};
  if (species_) {
    for (auto& field : species_->state()) fields.push_back(std::move(field));
  }
  return fields;
}

/// The initial heads, or the checkpoint; its step, or -1.
std::int64_t Run::set_state(RunFolder& results) {
  clock_.dt = case_.time.step;
  if (!case_.chemistry.file.empty()) species_.emplace(case_, equations_);
  const std::string& path = results.checkpoint();
  if (path.empty()) {
    const bool is_head = case_.flow.initial == "head";
    for (std::ptrdiff_t own = 0; own < grid_.num_own(); ++own) {
      h_[static_cast<std::size_t>(own)] =
          case_.flow.initial_value - (is_head ? equations_.height(grid_.own_cell(own)) : 0);
    }
    return -1;
  }
  auto fields = state();
  clock_ = read_checkpoint(grid_, path, fields);
  h_ = fields[0].values;
  if (species_) species_->set_state({fields.begin() + 1, fields.end()});
  results.go_on_from(clock_.step);
  log_.info(fmt::format("restart from {} at step {}, time {:.6g}", path, clock_.step, clock_.time));
  return clock_.step;
}

/// Steps in time towards the steady flow, each four times as long, before the search ends.
constexpr std::int64_t most_steps_to_steady = 1000;

bool Run::ended() const {
  const auto& time = case_.time;
  if (signal_ != 0 || (steady_found_ && !species_)) return true;
  if (case_.flow.steady && !steady_found_) {
    if (step_s_.empty()) return false;  // after a restart, too, the flow must be found
    if (std::ssize(step_s_) >= most_steps_to_steady) return true;
  }
  if (time.max_steps > 0 && clock_.step >= time.max_steps) return true;
  return clock_.time >= time.end * (1 - 1e-12);
}

/// The step to try: ends at the end, and where a boundary value or a rate changes.
double Run::next_step() const {
  const double dt = std::min(clock_.dt, case_.time.max_step);
  const double left = std::min(case_.time.end, equations_.next_change(clock_.time)) - clock_.time;
  if (left <= dt * (1 + 1e-9)) return left;
  return left < 2 * dt ? left / 2 : dt;  // no sliver at the end
}

/// Flow, then species. If a part does not converge, all is as it was.
StepOutcome Run::try_step(double dt) {
  const auto start = h_;
  StepOutcome outcome;
  outcome.converged = true;
  equations_.contents(h_, old_water_);
  if (!steady_found_) {
    const Span span(&trace_, Activity::compute, "flow");  // with the messages between
    outcome = solver_.step(h_, dt);
  }
  if (!outcome.converged || !species_) return outcome;
  const Span span(&trace_, Activity::compute, "species");
  equations_.contents(h_, water_);
  outcome.converged = species_->step(dt, old_water_, water_, outcome.why);
  if (!outcome.converged) h_ = start;
  return outcome;
}

void Run::take_step() {
  const Region region("step");
  stop_.start(false);
  if (!steady_found_) equations_.set_time(clock_.time);
  double dt = next_step();
  StepOutcome outcome = try_step(dt);
  while (!outcome.converged) {
    if (outcome.stopped) return leave_step();
    const double shorter = dt * case_.time.cut;
    if (shorter < case_.time.min_step) give_up(outcome, dt);
    clock_.dt = dt = shorter;
    outcome = try_step(dt);
  }
  clock_.time += dt;
  ++clock_.step;
  const RunClock now{clock_.step, clock_.time, dt};
  if (outcome.iterations <= case_.newton.easy_iterations) {
    clock_.dt = std::max(clock_.dt, std::min(dt * case_.time.growth, case_.time.max_step));
  }
  balance_.append(now, outcome, equations_.terms());
  equations_.add_ponding(ponding_);
  if (species_) species_file_->append(now, species_->amounts(water_));
  if (breakthrough_) breakthrough_->append(now, species_->totals(), water_);
  after_step(outcome);
  signal_ = stop_.finish();
}

/// Newton's method for the steady flow; where it fails, steps in time bring the heads nearer.
void Run::find_steady() {
  const Region region("step");
  stop_.start(false);
  equations_.set_time(case_.time.end);
  std::optional<Span> span(std::in_place, &trace_, Activity::compute, "steady flow");
  StepOutcome outcome = solver_.step(h_, 0);
  if (outcome.stopped) return leave_step();
  steady_found_ = outcome.converged;
  if (!steady_found_) {
    outcome = solver_.step(h_, clock_.dt);
    while (!outcome.converged) {
      if (outcome.stopped) return leave_step();
      clock_.dt *= case_.time.cut;
      if (clock_.dt < case_.time.min_step) give_up(outcome, clock_.dt);
      outcome = solver_.step(h_, clock_.dt);
    }
  }
  span.reset();
  // The restart is from the steady flow, not from a step on the way to it.
  const bool had_been_found = clock_.time > 0 || outcome.iterations <= 1;
  if (steady_found_ && first_step_ > 0 && had_been_found) {
    signal_ = stop_.finish();
    return;
  }
  ++clock_.step;
  balance_.append({clock_.step, clock_.time, steady_found_ ? 0 : clock_.dt}, outcome,
                  equations_.terms());
  equations_.add_ponding(ponding_);
  if (!steady_found_) clock_.dt *= 4;
  after_step(outcome);
  signal_ = stop_.finish();
}

/// The heads are as they were before the step, which all ranks left for a signal on one.
void Run::leave_step() {
  stop_.finish();
  stop_.start(false);
  signal_ = stop_.finish();
}

void Run::after_step(const StepOutcome& outcome) {
  iterations_ = outcome.iterations;
  const auto line = fmt::format("{:8d} {:12.6g} {:11.5g} {:12.5g} {:9.2g} {:6d} {:6d}", clock_.step,
                                clock_.time, clock_.dt, outcome.storage, outcome.relative_error(),
                                outcome.iterations, outcome.linear_iterations);
  progress_.table("    step         time     next dt      storage   balance Newton linear",
                  line.c_str());
  output_cost_.output([&] {
    write_fields(false);
    fields_.progress();
    pflotran_fields_.progress();
  });
  const auto every = case_.checkpoint.every;
  if (every > 0 && clock_.step % every == 0) output_cost_.other([&] { write_state(); });
  checkpoints_.progress();
}

void Run::write_fields(bool last) {
  const bool ours = fields_.due(clock_.step, last);
  const bool others = pflotran_fields_.due(clock_.step, last);
  if (!ours && !others) return;
  const Region region("fields");
  auto fields = output_fields(case_, equations_, h_);
  if (species_) {
    for (auto& field : species_->fields()) fields.push_back(std::move(field));
  }
  if (ours) write_field_file(fields_, grid_, case_.about.name, clock_, fields);
  if (others) write_pflotran_file(pflotran_fields_, grid_, case_, clock_, std::move(fields));
}

void Run::write_state() {
  const Region region("checkpoint");
  const Span span(&trace_, Activity::write, "checkpoint");
  write_checkpoint(checkpoints_, grid_, clock_, state());
}

/// Writes the state; the end of a message that says where it is, and how dry and how full the
/// ground is. Collective, blocking.
std::string Run::keep_state() {
  std::array<double, 2> most{-std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
  for (const double h : h_) most = {std::max(most[0], -h), std::max(most[1], h)};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most.data(), 2, MPI_DOUBLE, MPI_MAX, comm_.raw()));
  auto text = fmt::format("; pressure heads are {:.4g} to {:.4g} m", -most[0], most[1]);
  if (clock_.step == 0) return text;
  write_state();
  checkpoints_.finish();
  return text + fmt::format("; the state at step {} is in {}", clock_.step, checkpoints_.last());
}

/// The state before the step is kept, and the message says where.
void Run::give_up(const StepOutcome& outcome, double dt) {
  const auto kept = keep_state();
  throw Error(
      Errc::invalid_input,
      fmt::format("{}: the step after time {:.6g} s does not converge at dt = {:.3g} s, and "
                  "time.min_step is {:.3g} s ({}){}",
                  case_.source, clock_.time, dt, case_.time.min_step, outcome.why, kept));
}

/// Throws if the steady flow was asked for and has not been found.
void Run::require_steady() {
  if (!case_.flow.steady || steady_found_ || signal_ != 0) return;
  const auto limit = std::ssize(step_s_) >= most_steps_to_steady
                         ? std::string("there may be no steady flow")
                         : fmt::format("time.max_steps is {}; raise it", case_.time.max_steps);
  throw Error(Errc::invalid_input,
              fmt::format("{}: {} time steps have not reached the steady flow ({}){}", case_.source,
                          clock_.step, limit, keep_state()));
}

/// The boundaries whose water ponds on the ground, with the pressure head there [m]. Collective,
/// blocking.
std::vector<FlowTerm> Run::most_ponding() const {
  auto deepest = ponding_;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, deepest.data(), static_cast<int>(deepest.size()),
                          MPI_DOUBLE, MPI_MAX, comm_.raw()));
  constexpr double noticed = 0.01;
  std::vector<FlowTerm> out;
  for (std::size_t b = 0; b < deepest.size(); ++b) {
    if (deepest[b] < noticed) continue;
    out.push_back({case_.flow.boundaries.items[b].name, deepest[b]});
  }
  return out;
}

void Run::advance() {
  const double start = now_s();
  if (first_step_ < 0 && !case_.flow.steady) output_cost_.output([&] { write_fields(true); });
  while (!ended()) {
    const double before = now_s();
    output_cost_.begin_step({fields_.statistics(), pflotran_fields_.statistics()},
                            {checkpoints_.statistics()});
    if (case_.flow.steady && !steady_found_) {
      find_steady();
    } else {
      take_step();
    }
    note_step(now_s() - before);
    output_cost_.end_step(iterations_);
    const double hidden_s =
        fields_.statistics().hidden_s() + pflotran_fields_.statistics().hidden_s();
    progress_.step({clock_.step, clock_.time, ended() ? 0 : clock_.dt, mean_step_s(),
                    told_hidden_s(case_.output, hidden_s), case_.time.growth, case_.time.max_step},
                   NAN, ended());
  }
  require_steady();
  if (signal_ != 0 || case_.checkpoint.at_end) write_state();
  output_cost_.output([&] {
    if (signal_ == 0) write_fields(true);
    fields_.finish();
    pflotran_fields_.finish();
  });
  checkpoints_.finish();
  wall_s_ = now_s() - start;
}

void Run::conclude() {
  RunSummary summary;
  summary.case_name = case_.about.name;
  summary.case_file = case_.source;
  summary.extents = grid_.extents();
  summary.ranks = grid_.ranks();
  summary.steps = clock_.step;
  summary.time = clock_.time;
  summary.wall_s = wall_s_;
  summary.step_s = step_s_;
  summary.counts = solver_.counts();
  summary.reductions = reductions_.counts();
  summary.solver = solver_.describe();
  summary.rates = balance_.last();
  summary.worst_balance = balance_.worst();
  if (species_) summary.species = species_->counts();
  if (species_file_) summary.worst_species_balance = species_file_->worst();
  std::tie(summary.output_mode, summary.servers) = app::kind_of_output(case_.output, session_);
  summary.cell_pattern = case_.cells.pattern;
  summary.cell_group_size = cells_.group_size;
  summary.cell_counts = cells_.counts;
  summary.cell_read_s = cells_.read_s;
  summary.output = together(fields_.statistics(), pflotran_fields_.statistics());
  summary.output_cost = output_cost_.cost({summary.output}, wall_s_);
  summary.ponding = most_ponding();
  if (comm_.rank() == 0) {
    for (const auto& [name, depth] : summary.ponding) {
      log_.warning(
          fmt::format("boundary `{}` supplies more water than infiltrates: the water ponds, with a "
                      "pressure head of {:.4g} m at the surface; with a second boundary of type "
                      "seepage on the same face, it runs off",
                      name, depth));
    }
  }
  summary.last_checkpoint = checkpoints_.last();
  summary.stopped_by = stopped_by(summary.steps, "");
  write_summary(comm_, folder_, summary);
  say_end(summary.steps, fmt::format("{:.6g} s", summary.time), summary.last_checkpoint);
}

/// What a steady flow without chemistry holds a cell (measured); nothing takes less.
constexpr double bytes_of_cell = 1100;

void require_memory(const Comm& comm, const Case& values) {
  const auto& grid = values.grid;
  const auto cells = [](std::int64_t n, const std::vector<double>& widths) {
    return widths.empty() ? n : std::ssize(widths);
  };
  const auto nx = cells(grid.nx, grid.dx), ny = cells(grid.ny, grid.dy),
             nz = cells(grid.nz, grid.dz);
  const double all = static_cast<double>(nx) * static_cast<double>(ny) * static_cast<double>(nz);
  app::require_memory(comm.raw(), bytes_of_cell * all / comm.num_ranks(),
                      fmt::format("{}: {} x {} x {} cells (x, y, z)", values.source, nx, ny, nz),
                      "take fewer cells, or more nodes");
}

}  // namespace

int run_case(const Comm& comm, const RunRequest& request) {
  const auto values = app::read_case<Case>(comm.raw(), request.case_path, request.settings);
  const auto check = [&](const Comm& ranks) {
    rank_grid(values, ranks.num_ranks());
    require_memory(ranks, values);
  };
  const auto make = [&](const Comm& ranks, const RunSetting& setting) {
    return std::make_unique<Run>(ranks, values, setting);
  };
  return app::run_simulation(comm, request, app::case_of_run(program_name, values, {"balance.csv"}),
                             check, make);
}

}  // namespace tailrace::groundwater
