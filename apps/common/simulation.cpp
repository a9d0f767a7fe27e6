// SPDX-License-Identifier: BSD-3-Clause
#include "common/simulation.hpp"

#include <cmath>
#include <exception>

#include <fmt/format.h>

#include "common/run_main.hpp"
#include "tailrace/more/whole_file.hpp"

namespace tailrace::app {

namespace {

using Compute = std::function<void(const Comm&, Session&)>;

int compute_or_serve(const Comm& comm, const OutputOptions& options, const Compute& compute) {
  Session session(comm.raw(), options);
  if (!session.computes()) {
    const StopSignal ignored;  // the ranks that compute end the run
    return session.serve();
  }
  compute(session.compute(), session);
  session.close();
  return 0;
}

int run_session(const Comm& comm, const OutputOptions& options, const Compute& compute) {
  std::exception_ptr failure;
  int outcome = 0;
  try {
    outcome = compute_or_serve(comm, options, compute);
  } catch (...) {
    failure = std::current_exception();
    outcome = 2;
  }
  int worst = outcome;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, comm.raw()));
  if (failure) std::rethrow_exception(failure);
  if (worst == 2) throw Error(Errc::internal, "the computation has failed");
  return worst;
}

void run_to_end(const Comm& comm, const char* program, Simulation& simulation) {
  const Comm quiet(comm.raw());
  try {
    simulation.advance();
    simulation.conclude();
  } catch (const std::exception& error) {
    // Here, while the simulation still lives: its end is collective, and other ranks may be in a
    // step.
    fail_together(quiet, program, error);
    throw;
  }
}

}  // namespace

Simulation::Simulation(const Comm& comm, const RunSetting& setting, double end,
                       std::int64_t max_steps)
    : comm_(comm),
      session_(setting.session),
      log_(setting.log),
      folder_(setting.folder),
      trace_(setting.trace),
      stop_(comm),
      progress_(comm.rank() == 0, setting.log, setting.request.progress, end, max_steps),
      max_steps_(max_steps) {}

void Simulation::note_step(double spent_s) {
  constexpr std::size_t most_kept = 1 << 18;
  if (step_s_.size() < most_kept) step_s_.push_back(spent_s);
  all_steps_s_ += spent_s;
  ++num_steps_;
}

double Simulation::mean_step_s() const {
  return num_steps_ == 0 ? 0 : all_steps_s_ / static_cast<double>(num_steps_);
}

double Simulation::told_hidden_s(const OutputCase& output, double hidden_s) const {
  const bool hides = session_.hides() || session_.num_servers() > 0;
  return hides && output.every > 0 ? hidden_s : NAN;
}

std::string Simulation::stopped_by(std::int64_t step, std::string otherwise) const {
  if (signal_ != 0) return StopSignal::name(signal_);
  return max_steps_ > 0 && step >= max_steps_ ? "max_steps" : std::move(otherwise);
}

void Simulation::say_end(std::int64_t step, const std::string& time,
                         const std::string& last_checkpoint) {
  const auto text =
      signal_ != 0 ? fmt::format("stopped by {} at step {}; restart with --set restart.file={}",
                                 StopSignal::name(signal_), step, last_checkpoint)
                   : fmt::format("done: step {}, time {}, {:.3f} s; results in {}", step, time,
                                 wall_s_, folder_);
  progress_.say(text.c_str());
}

int run_simulation(
    const Comm& comm, const RunRequest& request, const CaseOfRun& values,
    const std::function<void(const Comm&)>& check,
    const std::function<std::unique_ptr<Simulation>(const Comm&, const RunSetting&)>& make) {
  const std::string folder = request.folder.empty() ? values.name : request.folder;
  Trace trace(static_cast<std::size_t>(values.spans));
  const auto compute = [&](const Comm& ranks, Session& session) {
    Log log(ranks);
    check(ranks);
    auto folders = output_folders(values.output, values.source, folder);
    for (const auto& name : values.folders) folders.insert(folder + "/" + name);
    RunFolder results(ranks.raw(), {folder, values.name, values.restart, request.overwrite,
                                    values.results, folders});
    run_agreed(ranks.raw(), [&] {
      if (ranks.rank() == 0) write_whole_file(folder + "/case.toml", values.text);
    });
    const auto simulation = make(ranks, {request, folder, results, session, log, trace});
    run_to_end(ranks, values.program, *simulation);
  };
  auto options = session_options(values.output, folder, &trace);
  options.functions = values.functions;
  if (!values.functions.results.empty()) options.server_program = words_of_server(request);
  const int code = run_session(comm, options, compute);
  if (values.spans > 0) trace.write(comm, folder + "/trace.json");
  return code;
}

}  // namespace tailrace::app
